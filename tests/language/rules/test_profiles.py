"""Descriptions against the profiles of diagnoses."""

from __future__ import annotations

import pytest
from tests.language.readings import label, reading

from medassay.language.rules import CONTRADICTS, ENTAILS
from medassay.language.rules.profiles import ProfileRule

RULE = ProfileRule()
STROMAL = "Jejunal tumour: CD117 and DOG1 strong, desmin and S100 negative."


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        (STROMAL, "Gastrointestinal stromal tumour.", ENTAILS),
        (STROMAL, "No <diagnosis gastrointestinal stromal tumour>.", CONTRADICTS),
        ("Lymphoma: CD20+, PAX5+, CD3−, CD5−.", "Peripheral T-cell lymphoma.", CONTRADICTS),
        ("Kidney: plant-like membranes, raisinoid nuclei, perinuclear haloes.", "Renal oncocytoma.", CONTRADICTS),
        ("The specimen was received fresh.", "Renal oncocytoma.", None),
        (STROMAL, "The margins are free.", None),
    ],
)
def test_fits(premise: str, hypothesis: str, expected: str | None) -> None:
    assert label(RULE, premise, hypothesis) == expected


def test_doubt_and_additions_halve_the_weight() -> None:
    def weight(premise: str, hypothesis: str) -> float:
        (verdict,) = RULE.compare(reading(premise), reading(hypothesis))
        return verdict.weight

    sure = weight(STROMAL, "Gastrointestinal stromal tumour.")
    assert weight(f"{STROMAL} Molecular results pending.", "Gastrointestinal stromal tumour.") == sure / 2
    assert weight(STROMAL, "Another gastrointestinal stromal tumour.") == sure / 2
