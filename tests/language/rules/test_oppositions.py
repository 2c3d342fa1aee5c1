"""Statements that exclude one another."""

from __future__ import annotations

import pytest
from tests.language.readings import contradicts_inside_a_report, label, reading

from medassay.language.rules import CONTRADICTS, Kind
from medassay.language.rules.oppositions import OppositionRule, opposing_sides, oppositions

RULE = OppositionRule()


def test_every_opposition_has_two_sides_that_differ() -> None:
    assert all(opposition.first.pattern != opposition.second.pattern for opposition in oppositions())


@pytest.mark.parametrize(
    ("premise", "hypothesis", "kind"),
    [
        ("The tumor is unifocal.", "Three separate tumor foci are present.", Kind.FOCALITY),
        ("Necrosis is absent.", "Extensive necrosis is seen.", Kind.NECROSIS),
        ("The cells are monoclonal.", "A polyclonal infiltrate.", Kind.CLONALITY),
    ],
)
def test_either_side_may_come_first(premise: str, hypothesis: str, kind: Kind) -> None:
    for texts in ((premise, hypothesis), (hypothesis, premise)):
        (verdict,) = RULE.compare(*map(reading, texts))
        assert (verdict.label, verdict.kind) == (CONTRADICTS, kind)


def test_both_must_speak_of_what_it_is_about() -> None:
    assert label(RULE, "The marrow is hypercellular.", "Hypocellular stroma.") is None
    assert label(RULE, "The marrow is hypercellular.", "Hypocellular marrow.") == CONTRADICTS


def test_what_is_denied_takes_no_side() -> None:
    assert label(RULE, "The cells are monoclonal.", "No evidence of a polyclonal infiltrate.") is None


def test_sides_are_told_apart() -> None:
    (first,), (second,) = opposing_sides("a polyclonal infiltrate"), opposing_sides("a monoclonal infiltrate")
    assert first[:-1] == second[:-1] and {first[-1], second[-1]} == {"a", "b"}


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("The tumor is unifocal.", "Three separate tumor foci are present.", True),
        ("The cells are monoclonal.", "The adjacent infiltrate is polyclonal.", False),
        ("The infiltrate is monoclonal.", "The infiltrate is polyclonal.", True),
    ],
)
def test_inside_one_report(premise: str, hypothesis: str, expected: bool) -> None:
    assert contradicts_inside_a_report(RULE, premise, hypothesis) == expected
