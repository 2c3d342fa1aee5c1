"""A comparison of systems as a person reads it: in the terminal, and in every kind of file."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console
from tests.report.studies import comparison_of

from medassay.engine.score_table import Labels, ScoreTable
from medassay.metrics.base import Floats
from medassay.report import comparison_text, print_comparison
from medassay.study.significance import compare

HOSTILE = "[red]x[/red]\x1b[2J\x07\u202e\nnext\ud800"


@pytest.mark.parametrize("width", [40, 80, 160])
@pytest.mark.parametrize("names", [("base", "new"), ("base", "new", "newer", HOSTILE)])
def test_hostile_names_neither_steer_the_terminal_nor_are_read_as_markup(width: int, names: tuple[str, ...]) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, color_system=None, width=width, legacy_windows=False)
    print_comparison(console, comparison_of(names))
    text = stream.getvalue()
    assert not set(text) & {"\x1b", "\x07", "\u202e", "\ud800"}
    text.encode("utf-8")
    if width == 160 and HOSTILE in names:
        assert "[red]x[/red]\\x1b[2J\\x07\\u202e\\nnext\\ud800" in text


def test_what_pairs_the_rows_comes_first() -> None:
    assert comparison_text(comparison_of(("base", "new"))).splitlines()[0] == (
        "40 items have a row from both systems, paired by column 'id'."
    )


def test_two_systems_get_a_row_per_metric() -> None:
    lines = comparison_text(comparison_of(("base", "new"))).splitlines()
    assert lines[4].split()[0] == "m" and lines[4].split()[-1] == "new"
    assert any("base − new" in line for line in lines)


def test_several_systems_get_a_leaderboard_and_a_matrix_best_first() -> None:
    lines = comparison_text(comparison_of(("base", "new", "newer"))).splitlines()
    assert [line.split()[1] for line in lines[4:7]] == ["newer", "new", "base"]
    assert ["*" in line.split()[2] for line in lines[4:7]] == [True, False, False]
    matrix = next(i for i, line in enumerate(lines) if "▲" in line)
    assert [line.split()[-2:] for line in lines[matrix : matrix + 3]] == [["▲", "▲"], ["▼", "▲"], ["▼", "▼"]]


def test_the_primary_metric_has_its_verdict_at_the_top() -> None:
    line = comparison_text(comparison_of(("base", "new"), primary="m")).splitlines()[1]
    assert line.startswith("Primary metric m: new is better (base − new: -")


def test_a_pair_without_items_is_drawn_with_dashes() -> None:
    columns: dict[str, Floats | Labels] = {
        "id": Labels(np.array([0, 0, 1]), ("1", "2")),
        "system": Labels(np.array([0, 1, 1]), ("a", "b")),
        "m": np.array([np.nan, 0.5, 0.25]),
    }
    text = comparison_text(compare(ScoreTable("t", np.arange(3), columns, ("m",), {"m": True})))
    assert "a − b" in text and "not tested" in text and "nan" not in text.lower().replace("nance", "")
