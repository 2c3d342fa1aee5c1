"""Resampling as matrix products: draws over clusters times per-cluster sums.

A statistic that is a sum over cases needs no second look at the cases: its value on a resample is the
clusters' weights times the clusters' sums. Draws are made a block at a time, so memory stays flat.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_CLUSTERS = 10_000
"""Clusters resampled one by one; more than these are first merged at random into as many groups."""

_BLOCK = 2_000_000
"""Weights held at once: 16 MB."""


def bootstrap_sums(sums: Floats, resamples: int, seed: int) -> Floats:
    """Sums over bootstrap resamples of the rows: [clusters, k] in, [resamples, k] out.

    Each resample draws as many clusters as there are, with replacement. The same number of clusters
    and the same seed give the same draws, so two calls on the same clusters are paired.
    """
    clusters = len(sums)
    random = np.random.default_rng(seed)
    out = np.empty((resamples, sums.shape[1]))
    block = max(1, _BLOCK // clusters)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = random.integers(0, clusters, size=(rows, clusters))
        drawn += np.arange(rows)[:, None] * clusters
        weights = np.bincount(drawn.ravel(), minlength=rows * clusters).reshape(rows, clusters)
        out[start : start + rows] = weights.astype(np.float64) @ sums
    return out


def sign_flip_sums(sums: Floats, flips: int, seed: int) -> Floats:
    """Sums under random sign flips of the rows: [clusters, k] in, [flips, k] out."""
    clusters = len(sums)
    random = np.random.default_rng(seed)
    out = np.empty((flips, sums.shape[1]))
    block = max(1, _BLOCK // clusters)
    total = sums.sum(axis=0)
    width = (clusters + 7) // 8
    for start in range(0, flips, block):
        rows = min(block, flips - start)
        raw = random.integers(0, 256, size=(rows, width), dtype=np.uint8)
        kept = np.unpackbits(raw, axis=1, count=clusters).astype(np.float64)
        # A sign is 2·bit − 1, hence Σ sign·x = 2·Σ bit·x − Σ x.
        out[start : start + rows] = 2.0 * (kept @ sums) - total
    return out


def all_sign_flips(count: int) -> Floats:
    """Every pattern of `count` signs, [2**count, count]; the first row is all +1."""
    patterns = np.arange(2**count, dtype=np.uint64)[:, None] >> np.arange(count, dtype=np.uint64)
    return 1.0 - 2.0 * (patterns & np.uint64(1)).astype(np.float64)


def merged(clusters: Ints, seed: int) -> Ints:
    """Cluster numbers 0 … n−1 as they are, or merged evenly and at random where there are too many."""
    count = int(clusters.max()) + 1 if len(clusters) else 0
    if count <= MOST_CLUSTERS:
        return clusters
    place = np.random.default_rng(seed).permutation(count) % MOST_CLUSTERS
    out: Ints = place[clusters].astype(np.int64)
    return out
