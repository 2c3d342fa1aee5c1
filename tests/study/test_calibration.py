"""Risk, coverage and exact bounds: against scipy, by hand, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from medassay.study.calibration import (
    auc,
    aurc,
    curve,
    deploy_threshold,
    ece,
    least_data,
    lower_bound,
    reject_threshold,
    reliability,
    tail,
    upper_bound,
)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.001, 0.999))
def test_the_binomial_tail_is_scipys(pair: tuple[int, int], p: float) -> None:
    k, n = pair
    assert tail(k, n, p) == pytest.approx(stats.binom.cdf(k, n, p), abs=1e-9)


@given(
    st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.8, 0.95, 0.99])
)
def test_the_bounds_are_clopper_and_pearsons(pair: tuple[int, int], confidence: float) -> None:
    k, n = pair
    exact = stats.binomtest(k, n, alternative="less").proportion_ci(confidence, "exact").high
    assert upper_bound(k, n, confidence) == pytest.approx(exact, abs=1e-9)
    exact = stats.binomtest(k, n, alternative="greater").proportion_ci(confidence, "exact").low
    assert lower_bound(k, n, confidence) == pytest.approx(exact, abs=1e-9)


def test_how_much_data_a_promise_needs() -> None:
    for risk in (0.01, 0.05, 0.2):
        n = least_data(risk)
        assert upper_bound(0, n) <= risk < upper_bound(0, n - 1)


def test_the_curve_by_hand() -> None:
    scores = np.array([0.9, 0.8, 0.8, 0.1])
    bad = np.array([0.0, 1.0, 0.0, 1.0])
    points = curve(scores, bad, resamples=0)
    assert [(p.threshold, p.coverage, p.risk) for p in points] == [
        (0.9, 0.25, 0.0),
        (0.8, 0.75, pytest.approx(1 / 3)),
        (0.1, 1.0, 0.5),
    ]
    # Equal scores are let through in no order: risks 0, ¼, ⅓, ½ at one to four reports.
    assert aurc(scores, bad) == pytest.approx((0 + 0.25 + 1 / 3 + 0.5) / 4)


def test_intervals_hold_the_value_and_follow_the_seed() -> None:
    random = np.random.default_rng(0)
    scores, bad = random.random(200), (random.random(200) < 0.3).astype(float)
    points = curve(scores, bad, seed=3)
    assert points == curve(scores, bad, seed=3)
    assert all(p.low is None or p.low <= p.risk <= p.high for p in points)  # type: ignore[operator]
    paired = curve(np.repeat(scores, 2), np.repeat(bad, 2), np.repeat(np.arange(200), 2), seed=3)
    assert paired[-1].low == pytest.approx(points[-1].low)  # copies in one cluster add nothing


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=40))
def test_auc_is_mann_and_whitneys(rows: list[tuple[int, bool]]) -> None:
    scores = np.array([float(score) for score, _ in rows])
    bad = np.array([float(flag) for _, flag in rows])
    if 0 < bad.sum() < len(bad):
        u = stats.mannwhitneyu(scores[bad == 0], scores[bad == 1]).statistic
        assert auc(scores, bad) == pytest.approx(u / (bad.sum() * (1 - bad).sum()))
    else:
        assert np.isnan(auc(scores, bad))


def test_a_threshold_needs_support() -> None:
    scores = np.linspace(1, 0, 100)
    clean = np.zeros(100)
    found = deploy_threshold(scores, clean, 0.05)
    assert found is not None and found.point.n == 100 and found.bound <= 0.05
    assert deploy_threshold(scores[:58], clean[:58], 0.05) is None  # 59 are the least
    # The best fifth is good, the rest is bad: too few good ones to promise 5 %, enough for 15 %.
    bad = (np.arange(100) >= 20).astype(float)
    assert deploy_threshold(scores, bad, 0.05) is None
    found = deploy_threshold(scores, bad, 0.15)
    assert found is not None and found.point.errors <= found.point.n * 0.15


def test_what_is_rejected_is_bad() -> None:
    scores = np.linspace(1, 0, 100)
    bad = (np.arange(100) >= 60).astype(float)
    found = reject_threshold(scores, bad, 0.8)
    assert found is not None
    below = scores < found.point.threshold
    assert below.sum() == found.point.n and bad[below].mean() >= 0.8
    assert bad[below].mean() == pytest.approx(found.point.risk)
    assert reject_threshold(scores, np.zeros(100), 0.8) is None


def test_the_promise_is_kept() -> None:
    """In 400 worlds the true risk of what deploys exceeds the chosen one no more often than promised."""
    random = np.random.default_rng(7)
    broken = made = 0
    for _ in range(400):
        scores = random.random(200)
        bad = (random.random(200) > 0.75 + 0.25 * scores).astype(float)
        found = deploy_threshold(scores, bad, 0.1, 0.9)
        if found is not None:
            made += 1
            broken += (1 - found.point.threshold) / 8 > 0.1  # mean of ¼(1 − score) above the threshold
    assert made > 40
    assert broken / 400 <= 0.1 + 0.04


def test_reliability_by_hand() -> None:
    scores = np.array([0.05, 0.95, 0.95, 1.0])
    bins = reliability(scores, np.array([1.0, 0.0, 0.0, 1.0]))
    assert [(b.n, b.good) for b in bins] == [(1, 0.0), (3, pytest.approx(2 / 3))]
    # ¼ · |0.05 − 0| + ¾ · |0.9667 − 0.6667|
    assert ece(bins) == pytest.approx(0.25 * 0.05 + 0.75 * 0.3)
    assert all(b.good_low <= b.good <= b.good_high for b in bins)
