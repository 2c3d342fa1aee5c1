"""A validation study on a page."""

from __future__ import annotations

from tests.report.studies import study_page


def test_what_is_not_assessed_is_said_and_plots_are_drawn() -> None:
    page = study_page()
    assert "not assessed" in page
    assert page.count('<svg class="scatter"') == 2
    assert page.count('class="dot') == 80
    assert all(f'id="{name}"' in page for name in ("heat", "levels", "rivals", "scatter", "made"))
