"""Resampling as matrix products: draws over clusters times per-cluster sums.

A statistic that is a sum over cases needs no second look at the cases: its value on a resample is the
clusters' weights times the clusters' sums. Draws are made a block at a time, so memory stays flat.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Interval = tuple[float, float] | tuple[None, None]
"""The ends of a 95 % interval; two Nones where there is none."""

MOST_CLUSTERS = 10_000
"""Clusters resampled one by one; more than these are first merged at random into as many groups."""

DEFINED = 0.95
"""Share of resamples on which a statistic must be defined for its interval to be given."""

_BLOCK = 2_000_000
"""Weights held at once: 16 MB."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % interval.

    value: NaN where it cannot be computed.
    low, high: None where there is no interval: too few clusters, nothing that varies, or no resampling.
    p: two-sided p-value, where a test was made.
    n: how many observations (cases, pairs of texts) it is over, where that is counted.
    """

    value: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    n: int = 0

    @property
    def known(self) -> bool:
        """Whether there is a number."""
        return math.isfinite(self.value)

    def scaled(self, factor: float, shift: float = 0.0) -> Estimate:
        """The estimate of `factor` · value + `shift`.

        >>> Estimate(0.25, 0.2, 0.4).scaled(-1, 1)
        Estimate(value=0.75, low=0.6, high=0.8, p=None, n=0)
        """
        ends = [None if end is None else factor * end + shift for end in (self.low, self.high)]
        low, high = ends if factor >= 0 else reversed(ends)
        return replace(self, value=factor * self.value + shift, low=low, high=high)


def interval(drawn: Floats) -> Interval:
    """The middle 95 % of resampled values (percentile bootstrap: Efron and Tibshirani 1993, ch. 13).

    For statistics that are no function of sums (rank correlations, alpha); the others have a studentised interval.

    Returns:
        Two Nones where more than one value in twenty is undefined, or where the values do not vary.
    """
    defined = drawn[np.isfinite(drawn)]
    if len(defined) < DEFINED * len(drawn) or not len(defined):
        return None, None
    low, high = (float(end) for end in np.percentile(defined, [2.5, 97.5]))
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        return None, None
    return low, high


def cluster_sums(clusters: Ints, *terms: Floats) -> Floats:
    """The sum of each term by cluster: [cases] in, [clusters, terms] out, in the order of the cluster numbers."""
    _, index = np.unique(clusters, return_inverse=True)
    return np.stack([np.bincount(index, term) for term in terms], axis=1)


def own_clusters(codes: Ints) -> Ints:
    """Cluster numbers from the codes of a column; a row without a value (−1) is a cluster of its own.

    >>> own_clusters(np.array([3, -1, 3, -1])).tolist()
    [0, 1, 0, 2]
    """
    alone = np.arange(len(codes), dtype=np.int64)
    marks = np.where(codes >= 0, codes, len(codes) + int(codes.max(initial=0)) + 1 + alone)
    _, numbers = np.unique(marks, return_inverse=True)
    return numbers.astype(np.int64)


def bootstrap_sums(sums: Floats, resamples: int, seed: int) -> Floats:
    """Sums over bootstrap resamples of the rows: [clusters, k] in, [resamples, k] out.

    Each resample draws as many clusters as there are, with replacement. The same number of clusters
    and the same seed give the same draws, so two calls on the same clusters are paired.
    """
    clusters = len(sums)
    random = np.random.default_rng(seed)
    resampled = np.empty((resamples, sums.shape[1]))
    block = max(1, _BLOCK // clusters)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = random.integers(0, clusters, size=(rows, clusters))
        drawn += np.arange(rows)[:, None] * clusters
        weights = np.bincount(drawn.ravel(), minlength=rows * clusters).reshape(rows, clusters)
        resampled[start : start + rows] = weights.astype(np.float64) @ sums
    return resampled


def sign_flip_sums(sums: Floats, flips: int, seed: int) -> Floats:
    """Sums under random sign flips of the rows: [clusters, k] in, [flips, k] out."""
    clusters = len(sums)
    random = np.random.default_rng(seed)
    flipped = np.empty((flips, sums.shape[1]))
    block = max(1, _BLOCK // clusters)
    total = sums.sum(axis=0)
    width = (clusters + 7) // 8
    for start in range(0, flips, block):
        rows = min(block, flips - start)
        raw = random.integers(0, 256, size=(rows, width), dtype=np.uint8)
        bits = np.unpackbits(raw, axis=1, count=clusters).astype(np.float64)
        # A sign is 2·bit − 1, hence Σ sign·x = 2·Σ bit·x − Σ x.
        flipped[start : start + rows] = 2.0 * (bits @ sums) - total
    return flipped


def all_sign_flips(count: int) -> Floats:
    """Every pattern of `count` signs, [2**count, count]; the first row is all +1."""
    patterns = np.arange(2**count, dtype=np.uint64)[:, None] >> np.arange(count, dtype=np.uint64)
    return 1.0 - 2.0 * (patterns & np.uint64(1)).astype(np.float64)


def merged(clusters: Ints, seed: int) -> Ints:
    """Cluster numbers 0 … n−1 as they are, or merged evenly and at random where there are too many."""
    count = int(clusters.max()) + 1 if len(clusters) else 0
    if count <= MOST_CLUSTERS:
        return clusters
    group = np.random.default_rng(seed).permutation(count) % MOST_CLUSTERS
    groups: Ints = group[clusters].astype(np.int64)
    return groups
