"""Margins and lymph nodes."""

from __future__ import annotations

import pytest
from tests.language.readings import contradicts_inside_a_report, label, reading

from medassay.language.rules import CONTRADICTS, ENTAILS, Kind
from medassay.language.rules.statuses import StatusRule

RULE = StatusRule()


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("Margins are negative.", "Tumor is present at the bronchial resection margin.", CONTRADICTS),
        ("The lateral edge is transected by tumor.", "The lateral margin is involved.", ENTAILS),
        ("The posterior margin is negative.", "The anterior margin is negative.", None),
        ("0/6 nodes.", "Two of six lymph nodes contain metastases.", CONTRADICTS),
    ],
)
def test_involved_and_free(premise: str, hypothesis: str, expected: str | None) -> None:
    assert label(RULE, premise, hypothesis) == expected


def test_within_one_statement() -> None:
    (verdict,) = RULE.within(reading("All margins are free; the deep margin is involved."))
    assert (verdict.label, verdict.kind) == (CONTRADICTS, Kind.MARGIN)
    assert list(RULE.within(reading("All margins are free."))) == []


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("The deep margin is negative.", "The deep margin is involved.", True),
        ("Margins are negative for invasive carcinoma.", "DCIS is present at the deep margin.", False),
    ],
)
def test_inside_one_report(premise: str, hypothesis: str, expected: bool) -> None:
    assert contradicts_inside_a_report(RULE, premise, hypothesis) == expected
