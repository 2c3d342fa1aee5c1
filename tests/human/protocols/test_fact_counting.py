"""Fact counting, by hand."""

from __future__ import annotations

import pytest

from medassay.human.protocols import WordCounts, load_protocol

WORDS = WordCounts(candidate=40, reference=50)


def test_fact_counting_by_hand():
    scores = load_protocol("fact-counting").derive({"R": 4, "G": 5, "RG": 2, "C": 4}, WORDS)
    # P = 2/5, R = 2/4, F = 2·.4·.5/.9 = 4/9, accuracy = 4/5.
    assert scores == pytest.approx({"precision": 0.4, "recall": 0.5, "f_score": 4 / 9, "accuracy": 0.8})


def test_no_fact_means_no_score_and_no_shared_fact_means_zero():
    derive = load_protocol("fact-counting").derive
    assert derive({"R": 4, "G": 0, "RG": 0, "C": 0}, WORDS)["precision"] is None
    assert derive({"R": 4, "G": 0, "RG": 0, "C": 0}, WORDS)["f_score"] is None
    assert derive({"R": 4, "G": 2, "RG": 0, "C": 0}, WORDS)["f_score"] == 0.0
    assert set(derive({"R": None, "G": None, "RG": None, "C": None}, WORDS).values()) == {None}
