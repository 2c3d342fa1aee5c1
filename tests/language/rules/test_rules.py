"""All rules together, between statements and inside one report."""

from __future__ import annotations

import pytest
from tests.language.readings import reading

from medassay.language.rules import CONTRADICTS, ENTAILS, LONGEST, compare, strongest_verdict, within


def test_silence_means_that_nothing_could_be_compared() -> None:
    assert compare(reading(""), reading("")) == []
    assert compare(reading("ALK is negative."), reading("ROS1 is rearranged.")) == []


@pytest.mark.parametrize(
    ("premise", "hypothesis"),
    [
        ("Renal cell <diagnosis carcinoma>, 6.9 cm.", "The <site adrenal gland> shows no <diagnosis tumor>."),
        ("The left tumor is 1.2 cm.", "The right tumor is 2.0 cm."),
        ("The neoplastic cells are CD5 negative.", "Scattered CD5 positive lymphocytes."),
    ],
)  # fmt: skip
def test_inside_one_report_different_things_do_not_contradict(premise: str, hypothesis: str) -> None:
    reports = reading(premise), reading(hypothesis)
    for pair in (reports, reports[::-1]):
        assert CONTRADICTS not in [verdict.label for verdict in compare(*pair, strict=True)]


def test_strictness_leaves_agreement_and_sure_contradictions() -> None:
    agree = compare(reading("CK7 is positive."), reading("CK7 positive."), strict=True)
    assert [verdict.label for verdict in agree] == [ENTAILS]
    verdict = strongest_verdict(compare(reading("CK7 is positive."), reading("CK7 is negative."), strict=True))
    assert verdict is not None and verdict.label == CONTRADICTS


def test_only_the_beginning_of_a_long_statement_is_compared() -> None:
    premise = reading("CK7 is positive. " + "Nothing else is said. " * LONGEST)
    assert compare(premise, reading("CK7 is negative.")) != []
    assert compare(reading("Nothing else is said. " * LONGEST + "CK7 is positive."), reading("CK7 is negative.")) == []


def test_a_statement_is_compared_with_itself_by_every_rule() -> None:
    kinds = [
        str(verdict.kind)
        for verdict in within(reading("CK7+, CK7−. All margins are free; the deep margin is involved."))
    ]
    assert kinds == ["marker", "margin"]
