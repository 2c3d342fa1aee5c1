"""What the statements of an element say, as values that can be compared."""

from __future__ import annotations

import pytest

from medassay.language.synoptic import Mention
from medassay.language.synoptic.facts import agree, facts_of


def facts(element: str, text: str) -> list[tuple[str, str]]:
    """The facts of a text that is one statement."""
    return [(fact.key, fact.value) for fact in facts_of(text, element, (Mention(element, 0, len(text), 0),))]


@pytest.mark.parametrize(
    ("element", "text", "expected"),
    [
        ("grade", "Gleason 3+4=7", [("gleason", "3+4"), ("gleason sum", "7")]),
        ("grade", "grade group 2", [("grade group", "2")]),
        ("grade", "Grade II", [("grade", "2")]),
        ("grade", "Fuhrman nuclear grade 3", [("nuclear grade", "3")]),
        ("grade", "poorly differentiated", [("differentiation", "3")]),
        ("grade", "moderately to poorly differentiated", []),
        ("lvi", "No lymphovascular invasion", [("lymphovascular", "absent")]),
        ("lvi", "Venous invasion: present", [("venous", "present")]),
        ("lvi", "suspicious for venous invasion", []),
        ("ptnm", "pT1c pNO", [("T", "1c"), ("N", "0")]),
        ("size", "Tumor size 2.5 cm", [("size", "25")]),
        ("size", "Breslow thickness 1.2 mm", [("thickness", "1.2")]),
        ("site", "Left upper lobe", [("side", "left"), ("part", "upper lobe")]),
        ("biomarkers", "ER positive, PR negative", [("ER", "positive"), ("PR", "negative")]),
        ("procedure", "mastectomy", []),
    ],
)
def test_facts(element: str, text: str, expected: list[tuple[str, str]]) -> None:
    assert facts(element, text) == expected


def test_a_negation_before_the_statement_counts() -> None:
    text = "There is no lymphovascular invasion"
    start = text.index("lympho")
    (fact,) = facts_of(text, "lvi", (Mention("lvi", start, len(text), 0),))
    assert fact.value == "absent"


def test_the_name_of_a_block_is_no_grade() -> None:
    text = "Sections in G1, fat."
    assert facts_of(text, "grade", (Mention("grade", 12, 14, 0),)) == []


@pytest.mark.parametrize(
    ("key", "first", "second", "expected"),
    [
        ("T", "1", "1c", True),
        ("T", "1c", "2", False),
        ("size", "30", "31", True),
        ("size", "30", "60", False),
        ("differentiation", "3", "4", True),
        ("grade", "1", "2", False),
    ],
)
def test_values_that_can_both_hold(key: str, first: str, second: str, expected: bool) -> None:
    assert agree(key, first, second) == agree(key, second, first) == expected
