"""All rules together."""

from __future__ import annotations

from tests.language.readings import reading

from medassay.language.rules import CONTRADICTS, LONGEST, compare


def test_silence_means_that_nothing_could_be_compared() -> None:
    assert compare(reading(""), reading("")) == []
    assert compare(reading("ALK is negative."), reading("ROS1 is rearranged.")) == []


def test_only_the_beginning_of_a_long_statement_is_compared() -> None:
    premise = reading("CK7 is positive. " + "Nothing else is said. " * LONGEST)
    assert compare(premise, reading("CK7 is negative.")) != []
    assert compare(reading("Nothing else is said. " * LONGEST + "CK7 is positive."), reading("CK7 is negative.")) == []


def test_every_rule_may_speak_in_the_order_of_the_list() -> None:
    premise = reading("CK7 positive. All margins are free. The tumor is unifocal.")
    hypothesis = reading("CK7 negative. The deep margin is involved. Three separate tumor foci are present.")
    verdicts = compare(premise, hypothesis)
    assert [str(verdict.kind) for verdict in verdicts] == ["marker", "margin", "focality"]
    assert {verdict.label for verdict in verdicts} == {CONTRADICTS}
