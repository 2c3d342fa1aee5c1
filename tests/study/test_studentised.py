"""Studentised intervals: a plain bootstrap-t as an oracle, cases without an interval, coverage by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.study.resampling import Floats, bootstrap_sums, interval
from medassay.study.studentised import Studentised, bootstrap_t, quotient, ratio


def means(values: Floats) -> Floats:
    return np.stack([values, np.ones(len(values))], axis=1)


def only(sums: Floats, resamples: int = 1000, seed: int = 1) -> Studentised:
    (statistic,) = bootstrap_t([(sums, quotient)], resamples, seed)
    return statistic


def test_a_mean_agrees_with_a_loop_over_resamples() -> None:
    values = np.random.default_rng(2).exponential(size=12)
    n = len(values)
    weights = bootstrap_sums(np.eye(n), 400, 1)
    ratios = []
    for row in weights.astype(int):
        sample = np.repeat(values, row)
        ratios.append((sample.mean() - values.mean()) / max(sample.std(), 0.25 * values.std()))
    above, below = np.percentile(ratios, [97.5, 2.5])
    wanted = values.mean() - above * values.std(), values.mean() - below * values.std()
    assert only(means(values), 400).interval() == pytest.approx(wanted, rel=1e-6)


def test_a_ratio_agrees_with_its_delta_method() -> None:
    rng = np.random.default_rng(3)
    counts = rng.integers(1, 9, 30).astype(float)
    sums = rng.beta(4, 2, 30) * counts
    statistic = only(np.stack([sums, counts], axis=1))
    residuals = sums - statistic.value * counts
    assert statistic.error == pytest.approx(np.sqrt((residuals**2).sum()) / counts.sum(), rel=1e-6)


def test_a_function_of_many_sums_is_studentised_on_each_resample() -> None:
    # A geometric mean of two shares, as BLEU is of four: the gradient differs from resample to resample.
    rng = np.random.default_rng(4)
    sums = np.stack([rng.binomial(20, 0.6, 25), rng.binomial(19, 0.4, 25), np.full(25, 20), np.full(25, 19)], axis=1)

    def combine(sums: Floats) -> Floats:
        return np.sqrt(sums[..., 0] / sums[..., 2] * sums[..., 1] / sums[..., 3])

    (statistic,) = bootstrap_t([(sums.astype(float), combine)], 300, 1)
    weights = bootstrap_sums(np.eye(25), 300, 1)[7]
    drawn = np.repeat(sums, weights.astype(int), axis=0)
    a, b = drawn[:, 0].sum() / 500, drawn[:, 1].sum() / 475
    influence = combine(np.array([a, b, 1, 1])) / 2 * (drawn[:, 0] / 20 / a + drawn[:, 1] / 19 / b - 2)
    assert statistic.values[7] == pytest.approx(math.sqrt(a * b))
    assert statistic.errors[7] == pytest.approx(np.sqrt((influence**2).sum()) / 25, rel=1e-4)


@pytest.mark.parametrize(
    "sums",
    [
        means(np.array([0.3])),
        means(np.array([0.3, 0.8])),
        means(np.full(9, 0.1)),
        np.array([[0.1, 1.0], [0.3, 3.0], [0.7, 7.0], [0.2, 2.0]]),  # groups of unequal size, one and the same value
        np.zeros((5, 2)),
    ],
)
def test_no_interval_where_nothing_varies_or_clusters_are_few(sums: Floats) -> None:
    assert only(sums).interval() == (None, None)
    assert only(sums).p() is None
    assert ratio(sums, 100, 1).low is None


def test_ratio_of_nothing_is_nan() -> None:
    assert math.isnan(ratio(np.zeros((0, 2)), 100, 1).value)
    assert math.isnan(ratio(np.zeros((4, 2)), 100, 1).value)


def test_statistics_drawn_together_are_those_drawn_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    blocks = [(means(rng.random(20)), quotient) for _ in range(4)]
    together = [s.interval() for s in bootstrap_t(blocks, 200, 1)]
    monkeypatch.setattr("medassay.study.studentised._WIDTH", 7)
    assert [s.interval() for s in bootstrap_t(blocks, 200, 1)] == together
    assert together == [only(block, 200).interval() for block, _ in blocks]


def test_difference_of_two_samples() -> None:
    rng = np.random.default_rng(7)
    first, second = rng.normal(1, 1, 40), rng.normal(0, 2, 30)
    gap = only(means(first), seed=1).minus(only(means(second), seed=2))
    low, high = gap.interval()
    # Welch: 1.96 standard errors to either side, a little more with so few.
    error = math.sqrt(first.var(ddof=1) / 40 + second.var(ddof=1) / 30)
    assert low is not None and high is not None
    assert high - low == pytest.approx(2 * 2.02 * error, rel=0.12)
    assert gap.minus(only(means(np.array([1.0, 2.0])))).interval() == (None, None)  # one side has two clusters


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=12),
    st.floats(0.001, 1000),
    st.floats(-1000, 1000),
)
def test_interval_moves_with_the_values(values: list[float], factor: float, shift: float) -> None:
    array = np.array(values)
    if np.ptp(array) < 1e-3 * (1 + np.abs(array).max()):
        return
    low, high = only(means(array), 100).interval()
    moved = only(means(factor * array + shift), 100).interval()
    assert low is not None and high is not None and low <= array.mean() + 1e-9 and array.mean() - 1e-9 <= high
    scale = factor * (np.abs(array).max() + 1) + abs(shift)
    assert moved == pytest.approx((factor * low + shift, factor * high + shift), abs=1e-5 * scale)


@pytest.mark.parametrize("n", [10, 20])
def test_coverage_of_skewed_scores(n: int) -> None:
    # 600 samples: the standard error of a coverage of .95 is .009. The percentile interval misses by more.
    rng = np.random.default_rng(8)
    ours = percentile = 0
    for i in range(600):
        sums = means(rng.beta(5, 2, n))
        low, high = only(sums, 500, seed=i).interval()
        ours += low is not None and high is not None and low <= 5 / 7 <= high
        a, b = interval(bootstrap_sums(sums, 500, i)[:, 0] / n)
        percentile += a is not None and b is not None and a <= 5 / 7 <= b
    assert 0.93 <= ours / 600 <= 0.98
    assert percentile < ours
