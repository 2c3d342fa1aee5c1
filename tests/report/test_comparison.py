"""A comparison of systems as a person reads it: in the terminal, and in every kind of file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from medassay.engine.score_table import Labels, ScoreTable
from medassay.metrics.base import Floats
from medassay.report import comparison_text, print_comparison, write_comparison
from medassay.study.significance import Comparison, compare

HOSTILE = "[red]x[/red]\x1b[2J\x07\u202e\nnext\ud800"
MARKUP = "<script>alert(1)</script>|\\input{x}&$"


def comparison_of(names: Sequence[str], items: int = 40, primary: str | None = None) -> Comparison:
    generator = np.random.default_rng(0)
    count = len(names)
    scores = np.concatenate([generator.random(items) * 0.1 + k for k in range(count)])
    ids = np.tile(np.arange(items), count)
    columns: dict[str, Floats | Labels] = {
        "id": Labels(ids, tuple(map(str, range(items)))),
        "system": Labels(np.repeat(np.arange(count), items), tuple(names)),
        "m": scores,
        "noise": generator.random(items * count),
    }
    table = ScoreTable("t", ids, columns, ("m", "noise"), {"m": True, "noise": False})
    return compare(table, resamples=200, primary=primary)


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


def test_text_is_what_the_terminal_shows(tmp_path: Path) -> None:
    comparison = comparison_of(("base", "new", "newer"))
    write_comparison(tmp_path / "c.txt", comparison)
    assert (tmp_path / "c.txt").read_text(encoding="utf-8") == comparison_text(comparison) + "\n"


def test_markdown_and_latex_hold_leaderboard_and_pairs_and_run_nothing(tmp_path: Path) -> None:
    comparison = comparison_of(("base", MARKUP))
    for name in ("c.md", "c.tex"):
        write_comparison(tmp_path / name, comparison)
    markdown = (tmp_path / "c.md").read_text(encoding="utf-8")
    assert "<script" not in markdown and "&lt;script>alert(1)&lt;/script>\\|" in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("| ") and "base" in line]
    assert len(rows) == 1 + 2  # of the leaderboard, and a pair for each of two metrics
    assert "40 items have a row from both systems" in markdown
    latex = (tmp_path / "c.tex").read_text(encoding="utf-8")
    assert r"\input" not in latex and r"\textbackslash{}input\{x\}\&\$" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 2


def test_csv_has_a_row_per_pair_in_full(tmp_path: Path) -> None:
    comparison = comparison_of(("base", "=new()", "newer"), primary="noise")
    write_comparison(tmp_path / "c.csv", comparison)
    with (tmp_path / "c.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 6 and [row["primary"] for row in rows] == ["true"] * 3 + ["false"] * 3
    assert rows[0]["second"] == "'=new()"
    assert float(rows[3]["difference"]) == comparison.pairs[3].difference
    assert float(rows[3]["value_first"]) == comparison.values["m"]["base"].value


def test_the_page_is_escaped_and_has_no_script(tmp_path: Path) -> None:
    write_comparison(tmp_path / "c.html", comparison_of(("base", MARKUP, "third")))
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "40 items have a row from all 3 systems" in page and "Leaderboard" in page
