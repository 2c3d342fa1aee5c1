"""Analytic p-values equal scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from medassay.study.analytic import analytic_p, correlation_p, incomplete_beta


@pytest.mark.parametrize("n", [5, 12, 40, 300])
@pytest.mark.parametrize("ties", [False, True])
def test_against_scipy(n: int, ties: bool) -> None:
    rng = np.random.default_rng(n)
    x = rng.normal(size=n)
    y = 0.4 * x + rng.normal(size=n)
    if ties:
        x, y = np.round(x), np.round(y)
    p = analytic_p(x, y)
    assert p["pearson"] == pytest.approx(stats.pearsonr(x, y).pvalue, rel=1e-9)
    assert p["spearman"] == pytest.approx(stats.spearmanr(x, y).pvalue, rel=1e-9)
    assert p["kendall"] == pytest.approx(stats.kendalltau(x, y, method="asymptotic").pvalue, rel=1e-9)


def test_the_ends() -> None:
    assert correlation_p(1.0, 10) == 0.0
    assert correlation_p(0.0, 10) == pytest.approx(1.0)
    assert np.isnan(correlation_p(0.5, 2)) and np.isnan(correlation_p(float("nan"), 10))
    assert np.isnan(analytic_p(np.ones(6), np.arange(6.0))["kendall"])


@pytest.mark.parametrize("a, b, x", [(0.5, 0.5, 0.3), (10, 0.5, 0.99), (150, 0.5, 0.7), (3, 4, 0.0), (3, 4, 1.0)])
def test_the_incomplete_beta_function(a: float, b: float, x: float) -> None:
    assert incomplete_beta(a, b, x) == pytest.approx(stats.beta.cdf(x, a, b), rel=1e-10, abs=1e-300)
