"""Tables for people: readable, narrow where the terminal is, and deaf to what hostile names say."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from medassay.cases import Case
from medassay.metrics.base import Metric
from medassay.report.terminal import (
    number,
    print_metric_card,
    print_metric_list,
    print_summary,
    printable,
    summary_text,
)
from medassay.scores import Score
from medassay.study.summary import Aggregate

HOSTILE = "[red]x[/red]\x1b[2J\x07\u202e\nnext\ud800"


def aggregate(metric: str = "rouge1", group: str | None = None, **changes: object) -> Aggregate:
    values: dict[str, object] = {
        "n": 100, "unscored": 0, "value": 0.51234, "median": 0.5, "sd": 0.1, "low": 0.4, "high": 0.6,
        "higher_is_better": True,
    } | changes  # fmt: skip
    return Aggregate(metric=metric, group=group, **values)  # type: ignore[arg-type]


def drawn(width: int, show: object, *arguments: object) -> str:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, color_system=None, width=width, legacy_windows=False)
    show(console, *arguments)  # type: ignore[operator]
    return stream.getvalue()


def test_summary_says_value_interval_spread_and_direction() -> None:
    text = summary_text([aggregate(), aggregate("ter", higher_is_better=False, n=98, unscored=2)])
    header, _, first, second, legend = text.splitlines()
    assert header.split() == ["metric", "value", "95", "%", "interval", "median", "sd", "n", "unscored"]
    assert first.split() == ["rouge1", "↑", "0.5123", "[0.4000,", "0.6000]", "0.5000", "0.1000", "100", "0"]
    assert second.split()[:2] == ["ter", "↓"] and second.split()[-2:] == ["98", "2"]
    assert legend == "↑ higher is better, ↓ lower is better."


def test_no_unscored_no_column_and_one_group_no_column() -> None:
    text = summary_text([aggregate(group="only")])
    assert "unscored" not in text and "group" not in text


def test_groups_stand_below_their_metric() -> None:
    rows = [aggregate(metric, group) for metric in ("rouge1", "bleu") for group in ("base", "new", None)]
    lines = [line.split() for line in summary_text(rows).splitlines()]
    starts = [line[0] for line in lines if line and "0.5123" in line]
    assert starts == ["rouge1", "new", "–", "bleu", "new", "–"]


def test_what_is_not_there_is_a_dash() -> None:
    text = summary_text([aggregate(n=0, unscored=3, value=math.nan, median=math.nan, sd=math.nan, low=None, high=None)])
    assert text.splitlines()[2].split() == ["rouge1", "↑", "–", "–", "–", "–", "0", "3"]
    assert "nan" not in text
    assert summary_text([]) == "Nothing to summarise."


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
def test_narrow_terminals_lose_columns_not_numbers(width: int) -> None:
    rows = [aggregate("a-metric-with-a-long-name", group) for group in ("a system with a long name", "b")]
    text = drawn(width, print_summary, rows)
    assert all(cell_len(line) <= max(width, 29) for line in text.splitlines())
    if width >= 40:
        assert text.count("0.5123") == 2
    assert ("Too narrow" in text) == (width < 80)


@pytest.mark.parametrize("width", [40, 80, 160])
@pytest.mark.parametrize("names", [("base", "new"), ("base", "new", "newer", HOSTILE)])
def test_hostile_names_neither_steer_the_terminal_nor_are_read_as_markup(width: int, names: tuple[str, ...]) -> None:
    rows = [aggregate(HOSTILE, name) for name in (*names, HOSTILE)]
    text = drawn(width, print_summary, rows)
    assert not set(text) & {"\x1b", "\x07", "\u202e", "\ud800"}
    text.encode("utf-8")
    if width == 160:
        assert "[red]x[/red]\\x1b[2J\\x07\\u202e\\nnext\\ud800" in text


@given(st.text(st.characters(codec=None), max_size=80))
def test_printable_is_always_printable(text: str) -> None:
    safe = printable(text)
    assert safe.isprintable() and len(safe.encode("utf-8")) >= 0
    assert safe == text or "\\" in safe or safe.endswith("…")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.0000"), (-0.12345, "-0.1235"), (34.5678, "34.57"), (123456.0, "1.235e+05"), (math.inf, "–"), (None, "–")],
)
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text


def test_numbers_of_one_row_have_the_same_decimals() -> None:
    row = summary_text([aggregate("bleu", value=13.86, median=21.0, sd=4.46154, low=8.3333, high=15.9)]).splitlines()[2]
    assert row.split()[2:] == ["13.86", "[8.33,", "15.90]", "21.00", "4.46", "100"]


class Card(Metric):
    """What it is, at length.

    A sentence of the docstring that goes on beyond the width which lines of source code have in this project, is
    broken there.
    A line of its own stays one.

    >>> 'never' + ' printable'
    'never printable'
    """

    summary = "counts [bold]errors[/bold]"
    defined = "Someone, 2024, section 3"
    parts = ("rate",)
    bounds = (0.0, None)
    higher_is_better = False

    def __init__(self, *, stem: bool = False, **common: object) -> None:
        super().__init__(**common)  # type: ignore[arg-type]

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return []


def test_metric_list_and_card() -> None:
    listed = drawn(140, print_metric_list, [("errors", Card)])
    assert "errors" in listed and "↓" in listed and "0 … ∞" in listed and "candidate, reference" in listed
    assert "[bold]errors[/bold]" in listed and "Someone, 2024" in listed
    card = drawn(100, print_metric_card, "errors", Card)
    for part in ("0 … ∞", "lower", "errors.rate", "stem=False, references=best", "Someone, 2024", "at length"):
        assert part in card
    assert "never printable" not in card
    assert "in this project, is broken there.\nA line of its own stays one." in drawn(
        200, print_metric_card, "errors", Card
    )
