"""The expert scale."""

from __future__ import annotations

from medassay.human.protocols import WordCounts, load_protocol

WORDS = WordCounts(candidate=40, reference=50)


def test_expert_scale_is_scaled():
    assert load_protocol("expert-scale").derive({"expert_score": 4}, WORDS) == {"expert_score_scaled": 0.8}
