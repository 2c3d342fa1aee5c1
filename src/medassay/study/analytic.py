"""P-values of correlations from their usual formulas, which take all cases as independent.

They stand beside the permutation p-values, which keep the cases of a cluster together: where several systems' texts
share a reference, the analytic p is too small.
"""

from __future__ import annotations

import math

import numpy as np

from medassay.study.correlation import COEFFICIENTS, coefficient
from medassay.study.resampling import Floats

_STEPS = 300
_TINY = 1e-300


def analytic_p(x: Floats, y: Floats) -> dict[str, float]:
    """The two-sided p-value of each coefficient; NaN where it is undefined.

    Pearson and Spearman: t test with n − 2 degrees of freedom. Kendall: normal approximation of C − D with its variance
    under ties (Kendall 1970, section 4.4).

    >>> p = analytic_p(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([2.0, 1.0, 4.0, 3.0, 5.0]))
    >>> round(p["pearson"], 4), round(p["kendall"], 4)
    (0.1041, 0.1416)
    """
    out = {}
    for name in COEFFICIENTS:
        r = coefficient(name)(x, y)
        out[name] = _kendall_p(x, y, r) if name == "kendall" else correlation_p(r, len(x))
    return out


def correlation_p(r: float, n: int) -> float:
    """Two-sided p of a Pearson or Spearman correlation over n independent cases; NaN below three cases."""
    if n < 3 or not math.isfinite(r):
        return math.nan
    if abs(r) >= 1.0:
        return 0.0
    degrees = n - 2
    # P(|t| > t0) = I_{d/(d+t0²)}(d/2, 1/2), and d/(d+t0²) = 1 − r².
    return incomplete_beta(degrees / 2, 0.5, 1.0 - r * r)


def _kendall_p(x: Floats, y: Floats, tau: float) -> float:
    n = len(x)
    if n < 3 or not math.isfinite(tau):
        return math.nan
    a, b = _ties(x), _ties(y)
    pairs = n * (n - 1) / 2
    pairs_x, pairs_y = pairs - float((a * (a - 1)).sum()) / 2, pairs - float((b * (b - 1)).sum()) / 2
    score = tau * math.sqrt(pairs_x * pairs_y)
    untied = n * (n - 1) * (2 * n + 5)
    variance = (untied - float((a * (a - 1) * (2 * a + 5)).sum()) - float((b * (b - 1) * (2 * b + 5)).sum())) / 18
    variance += float((a * (a - 1)).sum()) * float((b * (b - 1)).sum()) / (2 * n * (n - 1))
    triples = float((a * (a - 1) * (a - 2)).sum()) * float((b * (b - 1) * (b - 2)).sum())
    variance += triples / (9 * n * (n - 1) * (n - 2))
    return math.erfc(abs(score) / math.sqrt(2 * variance)) if variance > 0 else math.nan


def _ties(values: Floats) -> Floats:
    """How often each value occurs."""
    return np.unique(values, return_counts=True)[1].astype(float)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), 0…1 (Lentz's continued fraction)."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )  # fmt: skip
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1.0 - front * _fraction(b, a, 1.0 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, _STEPS):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 + step * d
            c = 1.0 + step / c
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = c if abs(c) > _TINY else _TINY
            value *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return value
