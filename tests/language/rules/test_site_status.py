"""Named structures, free of tumour or infiltrated."""

from __future__ import annotations

import pytest
from tests.language.readings import label, reading

from medassay.language.rules import CONTRADICTS
from medassay.language.rules.site_status import SiteStatusRule, site_statuses

RULE = SiteStatusRule()


def test_both_sides_are_two_sites() -> None:
    statuses = site_statuses(reading("Both <site ovaries> are normal."))
    assert [(site.split()[1], involved) for site, involved, _ in statuses] == [("left", False), ("right", False)]


def test_a_plain_statement_only() -> None:
    assert site_statuses(reading("The <site liver> is normal, the <site spleen> is invaded.")) == []
    assert site_statuses(reading("The <site liver> is not invaded by tumour.")) == []


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("The <site left ovary> is unremarkable.", "The <site left ovary> is infiltrated.", CONTRADICTS),
        ("The <site left ovary> is unremarkable.", "The <site right ovary> is infiltrated.", None),
        ("The <site proximal ureter> is free of tumour.", "The <site distal ureter> is invaded.", None),
        ("The <site spleen> is normal.", "The <site spleen> is unremarkable.", None),
    ],
)
def test_compared(premise: str, hypothesis: str, expected: str | None) -> None:
    assert label(RULE, premise, hypothesis) == expected
