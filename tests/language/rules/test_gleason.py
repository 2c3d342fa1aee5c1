"""Gleason patterns that exclude one another."""

from __future__ import annotations

import pytest
from tests.language.readings import label

from medassay.language.rules import CONTRADICTS
from medassay.language.rules.gleason import GleasonRule, gleason_patterns

RULE = GleasonRule()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Gleason score 7 (4+3).", {3: "present", 4: "present"}),
        ("No pattern 4.", {4: "absent"}),
        ("Gleason pattern 4: 0 %.", {4: "absent"}),
        ("Consists exclusively of Gleason pattern 3.", {3: "only"}),
        ("A sum of 3+4 apples.", {}),
    ],
)
def test_patterns(text: str, expected: dict[int, str]) -> None:
    assert dict(gleason_patterns(text)) == expected


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("Gleason score 7 (4+3).", "Gleason pattern 4 is not identified.", CONTRADICTS),
        ("The tumour is entirely Gleason pattern 3.", "Gleason score 7 (3+4).", CONTRADICTS),
        ("Gleason score 7 (4+3).", "Gleason pattern 5 is not identified.", None),
    ],
)
def test_compared(premise: str, hypothesis: str, expected: str | None) -> None:
    assert label(RULE, premise, hypothesis) == expected
