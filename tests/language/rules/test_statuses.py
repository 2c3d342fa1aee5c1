"""Margins and lymph nodes."""

from __future__ import annotations

import pytest
from tests.language.readings import label

from medassay.language.rules import CONTRADICTS, ENTAILS
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
