"""Scores of texts and their variants, by group."""

from __future__ import annotations

import numpy as np

from medassay.cases import Case
from medassay.commands.variants import score_groups, values_of
from medassay.metrics.registry import load_metrics


def test_scores_come_back_in_their_groups() -> None:
    groups = [
        [Case("a", "no tumor", ("no tumor",)), Case("a#1", "tumor", ("no tumor",))],
        [],
        [Case("b", " ", ("no tumor",))],
    ]
    scores, failures = score_groups(groups, load_metrics("rouge1"))
    assert [len(group) for group in scores["rouge1"]] == [2, 0, 1]
    first, none, unscored = values_of(scores)["rouge1"]
    assert first[0] == 1.0 > first[1] > 0.0 and len(none) == 0 and np.isnan(unscored[0])
    assert failures.problems() == []
