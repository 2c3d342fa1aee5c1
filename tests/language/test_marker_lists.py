"""Results that the markers of a list share."""

from __future__ import annotations

import pytest

from medassay.language.marker_lists import share_results, states_result
from medassay.language.syntax import Chunk, Sentence


def chunks_of(sentence: Sentence) -> list[Chunk]:
    """One chunk for each item between commas and coordinators."""
    cuts = [i for i, word in enumerate(sentence.words) if word in (",", "and")]
    firsts, lasts = [0, *(i + 1 for i in cuts)], [*cuts, len(sentence)]
    return [Chunk("item" if first else "clause", first, last) for first, last in zip(firsts, lasts) if first < last]


def shared(text: str) -> list[str]:
    sentence = Sentence(text, 0, len(text))
    chunks = chunks_of(sentence)
    share_results(sentence, chunks)
    return [" ".join(filter(None, (c.prefix, sentence.quote(c.first, c.last), c.suffix))) for c in chunks]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CD5 and CD10 negative", ["CD5 negative", "CD10 negative"]),
        ("retained MLH1, PMS2 and MSH2", ["retained MLH1", "retained PMS2", "retained MSH2"]),
        ("fever and CD10 negative", ["fever", "CD10 negative"]),
        ("CD5 and CD10", ["CD5", "CD10"]),
    ],
)
def test_a_result_goes_with_every_marker_of_its_list(text: str, expected: list[str]) -> None:
    assert shared(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("cyclin D1 negative", True), ("retained MLH1", True), ("MLH1", False), ("negative", False)]
)
def test_a_marker_with_its_result(text: str, expected: bool) -> None:
    sentence = Sentence(text, 0, len(text))
    assert states_result(sentence, Chunk("item", 0, len(sentence))) == expected
