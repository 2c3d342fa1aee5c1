"""Statements that exclude one another."""

from __future__ import annotations

import pytest
from tests.language.readings import label, reading

from medassay.language.rules import CONTRADICTS, Kind
from medassay.language.rules.oppositions import OppositionRule, oppositions

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
