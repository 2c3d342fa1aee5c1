"""Results of markers."""

from __future__ import annotations

import pytest
from tests.language.readings import label, reading

from medassay.language.rules import CONTRADICTS, ENTAILS, Kind
from medassay.language.rules.markers import MarkerRule

RULE = MarkerRule()


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("Tumor cells are positive for chromogranin.", "Chromogranin A is negative.", CONTRADICTS),
        ("CD117 is positive.", "c-kit positive.", ENTAILS),
        ("HER2 2+.", "HER2 positive.", CONTRADICTS),
        ("CK7 equivocal.", "CK7 positive.", None),
        ("Ki-67 does not exceed 2 %.", "Ki-67 in 60 % of cells.", CONTRADICTS),
        ("Ki-67 in 12 % of cells.", "Ki-67 in 15 % of cells.", ENTAILS),
        ("p53 wild type.", "p53 mutant pattern.", CONTRADICTS),
        ("CD3 is negative.", "CD5 is positive.", None),
    ],
)
def test_results_of_one_marker(premise: str, hypothesis: str, expected: str | None) -> None:
    assert label(RULE, premise, hypothesis) == expected


def test_the_spans_are_the_markers_with_their_results() -> None:
    premise, hypothesis = reading("Sections: CK7 is positive."), reading("CK7 is negative.")
    (verdict,) = RULE.compare(premise, hypothesis)
    assert verdict.kind is Kind.MARKER and 0.0 < verdict.weight <= 1.0
    assert premise.text[slice(*verdict.premise)] == "CK7 is positive"
    assert hypothesis.text[slice(*verdict.hypothesis)] == "CK7 is negative"
