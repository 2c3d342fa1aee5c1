"""Metric against metric: the fast swap equals swapping by hand, and the test finds what is there."""

from __future__ import annotations

import numpy as np
import pytest

from medassay.study.correlation import pearson
from medassay.study.resampling import all_sign_flips
from medassay.study.rivals import rivals, standardised, swap_sums, swapped_differences


def test_a_flip_is_a_swap_by_hand() -> None:
    generator = np.random.default_rng(1)
    a, b, h = (standardised(column) for column in generator.normal(size=(3, 9)))
    place = np.array([0, 0, 1, 1, 1, 2, 2, 2, 2])
    sums = swap_sums(a, b, h, place)
    flips = all_sign_flips(3)
    fast = swapped_differences(flips @ sums[:, :3], sums[:, 3:].sum(axis=0))
    for signs, got in zip(flips, fast):
        kept = signs[place] > 0
        first, second = np.where(kept, a, b), np.where(kept, b, a)
        assert got == pytest.approx(pearson(first, h) - pearson(second, h))


def test_the_better_metric_is_found_and_noise_is_not() -> None:
    generator = np.random.default_rng(2)
    judged = generator.normal(size=200)
    metrics = {
        "good": judged + generator.normal(0, 0.3, 200),
        "poor": judged + generator.normal(0, 3.0, 200),
        "poor again": judged + generator.normal(0, 3.0, 200),
    }
    found = {(r.first, r.second): r for r in rivals("h", judged, metrics, np.arange(200) // 2, flips=2000)}
    assert found["good", "poor"].better == "good"
    assert found["good", "poor"].difference > 0.4
    assert found["poor", "poor again"].better is None
    assert found["good", "poor"].p_holm >= found["good", "poor"].p


def test_scale_does_not_matter_and_equals_do_not_differ() -> None:
    generator = np.random.default_rng(4)
    judged, metric = generator.normal(size=(2, 50))
    (one,) = rivals("h", judged, {"a": metric, "b": 100 * metric - 7}, np.arange(50), flips=500)
    assert one.difference == pytest.approx(0.0)
    assert one.p == 1.0


def test_unscored_cases_are_left_out_pairwise_and_constants_are_not_tested() -> None:
    generator = np.random.default_rng(5)
    judged, a, b = generator.normal(size=(3, 30))
    a[:10] = np.nan
    found = rivals("h", judged, {"a": a, "b": b, "flat": np.ones(30)}, np.arange(30), flips=100)
    assert [(r.first, r.second, r.n) for r in found] == [("a", "b", 20)]


def test_by_ranks_an_outlier_counts_little() -> None:
    judged = np.arange(40.0)
    a, b = judged.copy(), judged[::-1].copy()
    a[0] = 1e6
    (one,) = rivals("h", judged, {"a": a, "b": b}, np.arange(40), rank=True, flips=500)
    assert one.better == "a"
