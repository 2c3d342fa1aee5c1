"""A comparison of systems on a page."""

from __future__ import annotations

from pathlib import Path

from tests.report.studies import comparison_of

from medassay.report import write_comparison

MARKUP = "<script>alert(1)</script>|\\input{x}&$"


def test_the_page_is_escaped_and_has_no_script(tmp_path: Path) -> None:
    write_comparison(tmp_path / "c.html", comparison_of(("base", MARKUP, "third")))
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "40 items have a row from all 3 systems" in page and "Leaderboard" in page
