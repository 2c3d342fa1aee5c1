"""Fact categories, by hand."""

from __future__ import annotations

import pytest

from medassay.human.protocols import WordCounts, load_protocol

WORDS = WordCounts(candidate=40, reference=50)


def test_fact_categories_by_hand():
    counts = {"R": 8, "correct": 4, "incorrect": 1, "hallucinated": 5, "omitted": 2, "omitted_critical": 1}
    scores = load_protocol("fact-categories").derive({**counts, "hallucinated_critical": 2}, WORDS)
    # 10 system facts: P = .4, R = .5, F1 = 4/9, hallucination 5/10, omission 2/8 (not 1 − recall).
    assert scores == pytest.approx(
        {
            "factual_precision": 0.4,
            "factual_recall": 0.5,
            "factual_f1": 4 / 9,
            "hallucination_rate": 0.5,
            "omission_rate": 0.25,
            "critical_hallucination_rate": 0.2,
            "critical_omission_rate": 0.125,
        }
    )
