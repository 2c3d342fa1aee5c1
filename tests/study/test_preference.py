"""Pairwise accuracy with ties: by hand, and against a search over every threshold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medassay.study.preference import (
    Preference,
    best_epsilon,
    is_right,
    item_pairs,
    pairwise_accuracy,
    preference_study,
)


def test_acc_eq_by_hand() -> None:
    """Differences 0.1, 0.5, −0.4, 0: people say tie, first, first, tie.

    At ε = 0: wrong, right, wrong, right = 2/4. At ε = 0.1 the first is a tie too: 3/4, the best there is.
    """
    difference, preferred = np.array([0.1, 0.5, -0.4, 0.0]), np.array([0.0, 1.0, 1.0, 0.0])
    pairs = pairwise_accuracy(difference, preferred, np.arange(4), resamples=50)
    assert pairs is not None
    assert (pairs.exact.value, pairs.calibrated.value, pairs.epsilon) == (0.5, 0.75, 0.1)
    assert (pairs.ties, pairs.n) == (0.5, 4)
    assert pairwise_accuracy(np.empty(0), np.empty(0), np.empty(0, np.int64)) is None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(-1, 1)), min_size=1, max_size=25))
def test_the_threshold_is_the_best_of_all(rows: list[tuple[int, int]]) -> None:
    difference = np.array([float(d) for d, _ in rows])
    preferred = np.array([float(p) for _, p in rows])
    found = is_right(difference, preferred, best_epsilon(difference, preferred)).mean()
    assert found == max(is_right(difference, preferred, e).mean() for e in (0.0, *np.abs(difference)))


def test_pairs_are_formed_inside_items() -> None:
    x, y = np.array([1.0, 2.0, 5.0, 3.0]), np.array([1.0, 1.0, 0.0, 4.0])
    difference, preferred, clusters = item_pairs(x, y, np.array([0, 1, 0, -1]), np.array([7, 8, 7, 9]))
    assert (difference.tolist(), preferred.tolist(), clusters.tolist()) == ([-4.0], [1.0], [7])


def test_preferences_over_items_and_systems() -> None:
    """Three items, systems x and y: people prefer x, x, y; the metric x, tie, x.

    Pairs: right, wrong, wrong. Systems: both prefer x in sum.
    """
    judged = [Preference("1", "x", "y", 1), Preference("2", "y", "x", -1), Preference("3", "x", "y", -1)]
    judged.append(Preference("4", "x", "y", 0))
    scores = {("1", "x"): 3.0, ("1", "y"): 1.0, ("2", "x"): 1.0, ("2", "y"): 1.0, ("3", "x"): 2.0, ("3", "y"): 1.0}
    study = preference_study(
        judged, {"m": scores, "worse": scores, "none": {}}, {"m": True, "worse": False, "none": True}
    )
    assert study.pairwise["m"] is not None and study.pairwise["m"].exact.value == pytest.approx(1 / 3)
    assert study.missing == {"m": 1, "worse": 1, "none": 4}
    assert (study.systems["m"].value, study.systems["worse"].value, study.system_pairs) == (1.0, 0.0, 1)
    assert study.pairwise["none"] is None and np.isnan(study.systems["none"].value)
