"""Numbers that measure one thing."""

from __future__ import annotations

import pytest
from tests.language.readings import label

from medassay.language.rules import CONTRADICTS, ENTAILS
from medassay.language.rules.numbers import NumberRule

RULE = NumberRule()


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("Spleen weighs 1,450 g.", "Spleen weight 1.45 kg.", ENTAILS),
        ("The nodule has a diameter of 0.8 cm.", "The nodule is 8 cm across.", CONTRADICTS),
        ("The lesion is 5 mm deep.", "The lesion extends 18 mm laterally.", None),
        ("3 of 12 cores contain carcinoma.", "5 of 12 cores contain carcinoma.", CONTRADICTS),
        ("The spleen weighs 150 g.", "The nodule is 8 cm across.", None),
    ],
)
def test_numbers_about_one_thing(premise: str, hypothesis: str, expected: str | None) -> None:
    assert label(RULE, premise, hypothesis) == expected


def test_a_number_that_any_of_the_premise_allows_is_no_contradiction() -> None:
    assert label(RULE, "The tumor is 12 mm; a second tumor is 30 mm.", "The tumor is 30 mm.") == ENTAILS
