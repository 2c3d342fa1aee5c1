"""Grades, and scores with the grade that they add up to."""

from __future__ import annotations

import pytest
from tests.language.readings import contradicts_inside_a_report, label, reading

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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<grade Gleason score 3+4=7>, <grade grade group 3>", [CONTRADICTS]),
        ("<grade Gleason score 3+4=7>, <grade grade group 2>", [ENTAILS]),
        ("Tubules 3, nuclei 2, mitoses 1: Nottingham grade 3", [CONTRADICTS]),
        ("Tubules 3, nuclei 2, mitoses 1: Nottingham grade 2", [ENTAILS]),
        ("<grade Gleason score 3+4=7>", []),
    ],
)
def test_within_one_statement(text: str, expected: list[str]) -> None:
    assert [verdict.label for verdict in RULE.within(reading(text))] == expected


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("Carcinoma, <grade grade 2>.", "<grade Grade 3> carcinoma.", True),
        ("DCIS, <grade grade 2>.", "<grade Grade 3> carcinoma.", False),
        ("The remaining carcinoma is <grade grade 2>.", "<grade Grade 3> carcinoma.", False),
    ],
)
def test_inside_one_report(premise: str, hypothesis: str, expected: bool) -> None:
    assert contradicts_inside_a_report(RULE, premise, hypothesis) == expected
