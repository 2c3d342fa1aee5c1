"""A stress test on a page."""

from __future__ import annotations

from tests.report.studies import stress_page


def test_the_page_has_the_ladder_the_drops_and_an_example_of_each_change() -> None:
    page = stress_page()
    assert all(f'id="{name}"' in page for name in ("ladder", "drops", "kinds", "examples", "made"))
    assert "paraphrase &gt; error" in page
