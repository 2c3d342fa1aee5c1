"""Grades of one system, and of systems that translate into each other."""

from __future__ import annotations

import pytest
from tests.language.readings import label

from medassay.language.rules import CONTRADICTS, ENTAILS
from medassay.language.rules.grades import GradeRule

RULE = GradeRule()


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("Carcinoma, <grade grade 2>.", "<grade Grade 3> carcinoma.", CONTRADICTS),
        ("Carcinoma, <grade poorly differentiated>.", "<grade Grade 3> carcinoma.", ENTAILS),
        ("Adenocarcinoma, <grade Gleason score 3+3=6>.", "<grade Grade group 4>.", CONTRADICTS),
        ("Carcinoma, <grade grade 2>.", "<grade Nuclear grade 3>.", None),
        ("Neuroendocrine tumour, <grade grade 2>.", "<grade Grade 3> tumour.", None),
        ("<grade Mild> inflammation.", "<grade Severe> inflammation.", None),
    ],
)
def test_two_grades(premise: str, hypothesis: str, expected: str | None) -> None:
    assert label(RULE, premise, hypothesis) == expected
