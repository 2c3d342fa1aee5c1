"""Resampling as matrix products, by hand and against loops."""

from __future__ import annotations

import numpy as np
import pytest

from medassay.study.resampling import (
    MOST_CLUSTERS,
    Estimate,
    all_sign_flips,
    bootstrap_sums,
    cluster_sums,
    interval,
    merged,
    sign_flip_sums,
)


def test_cluster_sums_by_hand() -> None:
    sums = cluster_sums(np.array([7, 3, 7]), np.array([1.0, 2.0, 4.0]), np.ones(3))
    assert sums.tolist() == [[2.0, 1.0], [5.0, 2.0]]


def test_a_resample_draws_as_many_clusters_as_there_are() -> None:
    sums = np.stack([np.arange(5.0), np.ones(5)], axis=1)
    drawn = bootstrap_sums(sums, 50, 3)
    assert (drawn[:, 1] == 5.0).all() and drawn[:, 0].min() >= 0.0 and drawn[:, 0].max() <= 20.0
    assert np.array_equal(drawn, bootstrap_sums(sums, 50, 3))
    assert not np.array_equal(drawn, bootstrap_sums(sums, 50, 4))


def test_sign_flips_change_signs_and_nothing_else() -> None:
    patterns = all_sign_flips(3)
    assert len(np.unique(patterns, axis=0)) == 8 and patterns[0].tolist() == [1.0, 1.0, 1.0]
    possible = set((patterns @ np.array([1.0, 2.0, 4.0])).tolist())
    assert set(sign_flip_sums(np.array([[1.0], [2.0], [4.0]]), 100, 1)[:, 0].tolist()) == possible


def test_an_interval_is_the_middle_of_what_was_drawn() -> None:
    low, high = interval(np.arange(101.0))
    assert (low, high) == (2.5, 97.5)
    assert interval(np.ones(100)) == (None, None)
    assert interval(np.array([np.nan] * 10 + [1.0, 2.0])) == (None, None)


def test_too_many_clusters_are_merged_evenly() -> None:
    few = np.array([0, 1, 1, 2])
    assert merged(few, 1) is few
    groups = merged(np.arange(2 * MOST_CLUSTERS), 1)
    assert np.bincount(groups).tolist() == [2] * MOST_CLUSTERS


def test_a_negative_factor_swaps_the_ends() -> None:
    estimate = Estimate(0.25, 0.2, 0.4).scaled(-100.0, 100.0)
    assert (estimate.value, estimate.low, estimate.high) == (75.0, pytest.approx(60.0), pytest.approx(80.0))
    assert not Estimate(float("nan")).known
