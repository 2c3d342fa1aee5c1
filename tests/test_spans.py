"""Checks of statements: the verdict, and deciding words as whole words."""

from __future__ import annotations

import pytest

from medassay.spans import ENTITY_TYPES, HARE_TYPES, RELATION_TYPES, VERDICTS, Check


def check(start: int, end: int) -> Check:
    return Check((0.2, 0.1, 0.7), start, end, "side", 0.9)


def test_the_verdict_is_the_likeliest() -> None:
    assert check(0, 0).verdict == VERDICTS[2] == "contradicted"


@pytest.mark.parametrize(
    ("span", "words"),
    [((4, 7), "tumor"), ((4, 9), "tumor"), ((6, 12), "tumor here"), ((9, 10), " "), ((0, 0), "")],
)
def test_deciding_words_are_whole_words(span: tuple[int, int], words: str) -> None:
    text = "The tumor here."
    whole = check(*span).in_words(text)
    assert text[whole.start : whole.end] == words
    assert whole.probabilities == check(*span).probabilities


def test_relations_join_known_types() -> None:
    assert set(HARE_TYPES) < set(ENTITY_TYPES)
    assert {kind for pair in RELATION_TYPES for kind in pair} <= set(ENTITY_TYPES)
