"""Studentised bootstrap intervals of statistics that are functions of cluster sums.

With few clusters the percentiles of resampled values lie too close together, and a skewed distribution is mirrored
the wrong way round. So every resampled value is measured in units of its own standard error, t* = (θ* − θ) / se*,
and the interval runs from θ − t*(97.5 %) · se to θ − t*(2.5 %) · se (bootstrap-t: Efron and Tibshirani 1993, section
12.5; Hall 1992, section 3.2). Standard errors are those of the delta method over clusters. They are made from sums
and products of the clusters' statistics, which a resample gives as one matrix product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from medassay.study.resampling import DEFINED, Estimate, Floats, Interval, Mask, bootstrap_sums

Combine = Callable[[Floats], Floats]
"""A statistic from sums over clusters: [..., k] in, [...] out, NaN where it is undefined."""
Bounds = tuple[float | None, float | None]

FEWEST_CLUSTERS = 3
"""The fewest clusters that an interval is given for: the spread of two says too little."""

FEW_CLUSTERS = 50
"""Below this many clusters a statistic is resampled on its own clusters, so that no resample comes up empty."""

_FLOOR = 0.25
"""A resample's standard error counts as at least this share of the sample's. Few clusters, or many equal ones, give
resamples that hardly vary, and these alone would stretch the interval without bound."""

_STEP = 1e-4
"""Step of the numerical gradient, in standard errors of a sum."""
_FLAT = 1e-6
"""A standard error this small beside the parts that cancel in it is rounding: the statistic does not vary."""
_WIDTH = 256
"""Columns resampled at once: 20 MB at 10,000 clusters."""


@dataclass(frozen=True)
class Studentised:
    """A statistic with its standard error, on the sample and on every resample.

    error: 0 where the statistic does not vary between clusters, NaN below `FEWEST_CLUSTERS` clusters.
    Errors are all up to one factor, which cancels in what is made of them.
    """

    value: float
    error: float
    values: Floats
    errors: Floats

    def minus(self, other: Studentised) -> Studentised:
        """The difference of two statistics of independent samples, each resampled by itself."""
        return Studentised(
            self.value - other.value,
            math.hypot(self.error, other.error),
            self.values - other.values,
            np.hypot(self.errors, other.errors),
        )

    def interval(self, bounds: Bounds = (None, None)) -> Interval:
        """The 95 % interval, cut at the bounds of what is possible.

        Returns:
            Two Nones where the statistic does not vary, where there are too few clusters, or where more than one
            resample in twenty leaves it undefined.
        """
        ratios = self._ratios()
        if ratios is None:
            return None, None
        below, above = np.percentile(ratios, [2.5, 97.5])
        low = min(self.value, self.value - float(above) * self.error)
        high = max(self.value, self.value - float(below) * self.error)
        least, most = bounds
        return low if least is None else max(low, least), high if most is None else min(high, most)

    def p(self) -> float | None:
        """Two-sided p-value of the statistic being 0; None where there is no interval."""
        ratios = self._ratios()
        if ratios is None:
            return None
        reached = int((np.abs(ratios) >= abs(self.value) / self.error * (1 - 1e-9)).sum())
        return (reached + 1) / (len(ratios) + 1)

    def _ratios(self) -> Floats | None:
        """t* of the resamples that have one; None where no interval can be made of them."""
        if not (math.isfinite(self.value) and math.isfinite(self.error) and self.error > 0 and len(self.values)):
            return None
        with np.errstate(invalid="ignore", over="ignore"):
            ratios: Floats = (self.values - self.value) / np.maximum(self.errors, _FLOOR * self.error)
        defined = ratios[np.isfinite(ratios)]
        return defined if len(defined) >= DEFINED * len(ratios) else None


def bootstrap_t(statistics: Iterable[tuple[Floats, Combine]], resamples: int, seed: int) -> Iterator[Studentised]:
    """Statistics on the same resamples of the same clusters.

    Args:
        statistics: cluster sums [clusters, k], each with the function of them; as many clusters in each. A cluster
            that a statistic has nothing of is a row of zeros.
    """
    pending: list[tuple[Floats, Combine]] = []
    width = 0
    for sums, combine in statistics:
        pending.append((sums, combine))
        width += _columns(sums)
        if width >= _WIDTH:
            yield from _drawn(pending, resamples, seed)
            pending, width = [], 0
    yield from _drawn(pending, resamples, seed)


def quotient(sums: Floats) -> Floats:
    """The first sum over the second; NaN where the second is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Floats = sums[..., 0] / sums[..., 1]
    return np.where(sums[..., 1] == 0, np.nan, out)


def ratio(sums: Floats, resamples: int, seed: int, bounds: Bounds = (None, None)) -> Estimate:
    """The total of the first column over that of the second, resampled by row; NaN where the second is 0.

    A mean is the ratio of summed values to counts, a share that of hits to pairs.
    """
    sums = sums.reshape(-1, 2)
    value = float(quotient(sums.sum(axis=0)))
    if not math.isfinite(value) or not resamples:
        return Estimate(value if math.isfinite(value) else math.nan)
    (drawn,) = bootstrap_t([(sums, quotient)], resamples, seed)
    return Estimate(value, *drawn.interval(bounds))


def _columns(sums: Floats) -> int:
    k = int(sums.shape[1])
    return k + k * (k + 1) // 2


def _drawn(statistics: list[tuple[Floats, Combine]], resamples: int, seed: int) -> Iterator[Studentised]:
    """The statistics of one pass over the resamples."""
    if not statistics:
        return
    blocks = [_with_products(sums) for sums, _ in statistics]
    drawn = bootstrap_sums(np.concatenate(blocks, axis=1), resamples, seed)
    edges = np.cumsum([block.shape[1] for block in blocks])[:-1]
    for (sums, combine), block, part in zip(statistics, blocks, np.split(drawn, edges, axis=1)):
        yield _studentise(sums, np.concatenate([block.sum(axis=0)[None], part]), combine)


def _with_products(sums: Floats) -> Floats:
    """Cluster sums, then the products of every two of them about their means."""
    first, second = np.triu_indices(sums.shape[1])
    centred = sums - sums.mean(axis=0)
    return np.concatenate([sums, centred[:, first] * centred[:, second]], axis=1)


def _studentise(sums: Floats, drawn: Floats, combine: Combine) -> Studentised:
    """The statistic and its standard error from the sample (the first row of `drawn`) and its resamples."""
    clusters, k = sums.shape
    first, second = np.triu_indices(k)
    totals, products = drawn[:, :k], drawn[:, k:]
    spread = np.sqrt(products[0, first == second])
    with np.errstate(all="ignore"):
        values = combine(totals)
        gradient = _gradient(combine, totals, _STEP * spread, sums.min(axis=0) >= 0)
        twice = np.where(first == second, 1.0, 2.0)
        squares = (products * (gradient[:, first] * gradient[:, second] * twice)).sum(axis=1)
        squares -= ((totals - totals[0]) * gradient).sum(axis=1) ** 2 / clusters
        errors = np.sqrt(np.maximum(squares, 0.0))
        flat = errors[0] <= _FLAT * (np.abs(gradient[0]) @ spread)
    error = math.nan if int((sums != 0).any(axis=1).sum()) < FEWEST_CLUSTERS else float(errors[0])
    return Studentised(float(values[0]), 0.0 if flat else error, values[1:], errors[1:])


def _gradient(combine: Combine, at: Floats, steps: Floats, positive: Mask) -> Floats:
    """The gradient of a statistic at every row of sums, by differences; 0 along a sum that does not vary."""
    out = np.zeros_like(at)
    for j in np.flatnonzero(steps > 0):
        below, above = at.copy(), at.copy()
        above[:, j] += steps[j]
        # A sum of counts has no meaning below 0, and a statistic need not be defined there.
        below[:, j] = np.maximum(below[:, j] - steps[j], 0.0) if positive[j] else below[:, j] - steps[j]
        out[:, j] = (combine(above) - combine(below)) / (above[:, j] - below[:, j])
    return out
