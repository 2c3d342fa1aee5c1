"""A comparison of systems in every kind of file."""

from __future__ import annotations

import csv
from pathlib import Path

from tests.report.studies import comparison_of

from medassay.report import comparison_text, write_comparison

MARKUP = "<script>alert(1)</script>|\\input{x}&$"


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
