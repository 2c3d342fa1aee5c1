"""Whether two statements of one report speak of the same thing."""

from __future__ import annotations

import pytest
from tests.language.readings import reading

from medassay.language.rules import CONTRADICTS, Kind, RuleVerdict
from medassay.language.rules.subject import denied, has_same_scope, is_limited, is_negated, is_reversed, on_other_side


def verdict_on(premise: str, hypothesis: str, word: str) -> RuleVerdict:
    """A contradiction about a word that both texts hold."""
    spans = [(text.index(word), text.index(word) + len(word)) for text in (premise, hypothesis)]
    return RuleVerdict(CONTRADICTS, Kind.NECROSIS, spans[0], spans[1])


def test_sides() -> None:
    assert on_other_side("The left tumor.", "The right tumor.")
    assert not on_other_side("The left tumor.", "Left and right tumors.")
    assert not on_other_side("The tumor.", "The right tumor.")


def test_limits_and_negations() -> None:
    assert is_limited("Most of the tissue", "the tissue") and not is_limited("the tissue", "the tissue")
    assert is_negated("the tissue", "no tissue") and not is_negated("of no special type", "the tissue")


def test_words_that_are_denied_by_others() -> None:
    assert denied("No invasive growth.", (3, 18))
    assert not denied("Invasive growth.", (0, 15))


def test_reversals_hold_within_their_clause() -> None:
    texts = "Without extensive necrosis.", "Not ulcerated; extensive necrosis."
    reports = [reading(text) for text in texts]
    assert is_reversed(verdict_on(texts[0], texts[1], "necrosis"), *reports)
    assert not is_reversed(verdict_on(texts[1], texts[1], "necrosis"), reports[1], reports[1])


@pytest.mark.parametrize(
    ("premise", "hypothesis", "word", "expected"),
    [
        ("No necrosis.", "Necrosis and necrosis.", "necrosis", True),
        ("No carcinoma is seen.", "Invasive carcinoma.", "carcinoma", True),
        ("No carcinoma in the <site adrenal gland>.", "Invasive carcinoma.", "carcinoma", False),
        ("Nodes without carcinoma.", "Invasive carcinoma.", "carcinoma", False),
    ],
)
def test_tumour_is_denied_for_the_whole_specimen_only(premise: str, hypothesis: str, word: str, expected: bool) -> None:
    reports = reading(premise), reading(hypothesis)
    assert has_same_scope(verdict_on(reports[0].text, reports[1].text, word), *reports) == expected
