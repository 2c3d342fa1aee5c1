"""Entities that are present in one statement and absent in the other."""

from __future__ import annotations

import pytest
from tests.language.readings import label, reading

from medassay.language.rules import CONTRADICTS, ENTAILS
from medassay.language.rules.assertions import AssertionRule

RULE = AssertionRule()


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("No <finding dysplasia> is seen.", "<finding Dysplasia> is present.", CONTRADICTS),
        ("<finding Necrosis> is seen.", "<finding Necrosis> is present.", ENTAILS),
        ("No <diagnosis malignancy>.", "Invasive <diagnosis adenocarcinoma>.", CONTRADICTS),
        ("No <diagnosis metastasis>.", "Invasive <diagnosis adenocarcinoma>.", None),
        ("No <diagnosis carcinoma>.", "A <diagnosis leiomyoma>.", None),
        ("Suspicious for <diagnosis lymphoma>.", "No <diagnosis lymphoma>.", CONTRADICTS),
        ("It is not without <finding necrosis>.", "No <finding necrosis>.", CONTRADICTS),
        ("No capsular <finding invasion>.", "Vascular <finding invasion of vessels>.", None),
        ("The <site liver> shows no <finding fibrosis>.", "The <site lung> shows <finding fibrosis>.", None),
        ("The <finding deep margin> is free.", "The <finding deep margin> is involved.", None),
    ],
)
def test_one_entity_twice(premise: str, hypothesis: str, expected: str | None) -> None:
    assert label(RULE, premise, hypothesis) == expected


def test_a_broader_denial_is_less_sure() -> None:
    exact, broader = (
        next(RULE.compare(reading(premise), reading("A <diagnosis renal cell carcinoma>."))).weight
        for premise in ("No <diagnosis renal cell carcinoma>.", "No <diagnosis malignancy>.")
    )
    assert 0.0 < broader < exact
