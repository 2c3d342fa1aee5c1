"""Key phrases, by hand."""

from __future__ import annotations

import pytest

from medassay.human.protocols import WordCounts, load_protocol

WORDS = WordCounts(candidate=40, reference=50)


def test_key_phrases_are_normalised_by_length():
    scores = load_protocol("key-phrases").derive(
        {"hallucinated": 2, "incorrect": 1, "language": 0, "omitted": 5}, WORDS
    )
    assert scores == pytest.approx(
        {"hallucinated_rate": 0.05, "incorrect_rate": 0.025, "language_rate": 0, "omitted_rate": 0.1}
    )
