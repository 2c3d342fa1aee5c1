"""The report page of a study."""

from __future__ import annotations

from tests.human.sample import FACTS, UNITS, rate

from medassay.human.ratings import Ratings
from medassay.human.report_page import agreement_html, human_result, write_page
from medassay.human.tables import agreement, system_table


def test_the_page_shows_agreement_and_escapes_names(ratings, tmp_path):
    rows, systems = agreement(ratings, resamples=20), system_table(ratings)
    page = tmp_path / "people.html"
    write_page(ratings, rows, systems, page, title="<b>study</b>", units=UNITS)
    write_page(ratings, rows, systems, tmp_path / "no-texts.html", title="table")
    assert human_result(ratings, UNITS).mean["coherence"] == 0.625
    text = page.read_text(encoding="utf-8")
    assert "Means by system" in text and "<b>study</b>" not in text
    assert "&lt;b&gt;" in agreement_html(
        Ratings(FACTS, [rate("1", "<b>", "x", R=1, G=1, RG=1, C=1)]),
        [],
        [*system_table(Ratings(FACTS, [rate("1", "<b>", "x", R=1, G=1, RG=1, C=1)]))],
    )
