"""Correlations: scipy and plain repetition as oracles, ties and constants, clusters."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from medassay.study.correlation import (
    COEFFICIENTS,
    WEIGHTED,
    bootstrap,
    coefficient,
    permutation_p,
    ranks,
    rowwise,
)
from medassay.study.resampling import interval

ORACLE = {
    "pearson": lambda x, y: scipy.stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: scipy.stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y: scipy.stats.kendalltau(x, y).statistic,
}
few = st.integers(0, 4)
pairs = st.lists(st.tuples(few, few), min_size=3, max_size=40).filter(
    lambda rows: len({x for x, _ in rows}) > 1 and len({y for _, y in rows}) > 1
)


@given(rows=pairs)
@settings(max_examples=80)
def test_agrees_with_scipy_ties_and_all(rows: list[tuple[int, int]]) -> None:
    x, y = np.array(rows, float).T
    for name in COEFFICIENTS:
        assert coefficient(name)(x, y) == pytest.approx(ORACLE[name](x, y), abs=1e-12)
        assert rowwise(name, x[None], y[None])[0] == pytest.approx(ORACLE[name](x, y), abs=1e-12)


@given(rows=pairs, draws=st.lists(st.integers(0, 3), min_size=40, max_size=40))
@settings(max_examples=80)
def test_a_weight_is_a_repetition(rows: list[tuple[int, int]], draws: list[int]) -> None:
    x, y = np.array(rows, float).T
    weights = np.array(draws[: len(x)], float)
    again = np.repeat(np.arange(len(x)), weights.astype(int))
    varied = len(again) > 1 and np.ptp(x[again]) > 0 and np.ptp(y[again]) > 0
    for name in COEFFICIENTS:
        got = WEIGHTED[name](x, y, weights[None])[0]
        assert got == pytest.approx(coefficient(name)(x[again], y[again]), abs=1e-9) if varied else math.isnan(got)


def test_ranks_share_ties() -> None:
    assert ranks([3, 1, 3, 2]).tolist() == scipy.stats.rankdata([3, 1, 3, 2]).tolist()


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_undefined_is_nan_not_zero(name: str) -> None:
    assert math.isnan(coefficient(name)([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]))
    assert math.isnan(coefficient(name)([0.1 + 0.2] * 3, [1.0, 2.0, 3.0]))
    assert math.isnan(coefficient(name)([1.0], [1.0]))


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_permutation_p_against_all_orders(name: str) -> None:
    x, y = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), np.array([1.0, 3.0, 2.0, 5.0, 4.0, 5.0])
    observed = abs(coefficient(name)(x, y))
    every = [abs(coefficient(name)(x, y[list(order)])) for order in permutations(range(6))]
    exact = np.mean(np.array(every) >= observed - 1e-9)
    assert permutation_p(x, y, np.arange(6), 8000, 1)[name] == pytest.approx(exact, abs=0.012)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_cases_of_one_cluster_are_no_extra_evidence(name: str) -> None:
    generator = np.random.default_rng(3)
    x, y = generator.normal(size=(2, 12))
    y = 0.6 * x + y
    thrice = [np.repeat(column, 10) + generator.normal(0, 1e-3, 120) for column in (x, y)]
    clusters = np.repeat(np.arange(12), 10)
    naive = permutation_p(*thrice, np.arange(120), 2000, 1)[name]
    fair = permutation_p(*thrice, clusters, 2000, 1)[name]
    alone = permutation_p(x, y, np.arange(12), 2000, 1)[name]
    assert naive < 0.002
    assert fair == pytest.approx(alone, abs=0.05)


def test_bootstrap_draws_whole_clusters_and_repeats_itself() -> None:
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(2, 60))
    clusters = np.arange(60) // 3
    first = bootstrap(x, y, clusters, 20, 50, 7)["kendall"]
    assert np.array_equal(first, bootstrap(x, y, clusters, 20, 50, 7)["kendall"])
    assert not np.array_equal(first, bootstrap(x, y, clusters, 20, 50, 8)["kendall"])
    # One cluster alone: every resample is the data.
    assert np.allclose(bootstrap(x, y, np.zeros(60, int), 1, 5, 1)["pearson"], coefficient("pearson")(x, y))


def test_interval_agrees_with_scipy() -> None:
    generator = np.random.default_rng(5)
    x = generator.normal(size=150)
    y = x + generator.normal(size=150)
    oracle = scipy.stats.bootstrap(
        (x, y),
        lambda a, b: scipy.stats.pearsonr(a, b).statistic,
        paired=True,
        vectorized=False,
        n_resamples=2000,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    low, high = interval(bootstrap(x, y, np.arange(150), 150, 2000, 1, ["pearson"])["pearson"])
    assert (low, high) == pytest.approx((oracle.low, oracle.high), abs=0.02)


def test_no_interval_where_resamples_are_undefined() -> None:
    assert interval(np.array([0.1, 0.2, np.nan, np.nan])) == (None, None)
