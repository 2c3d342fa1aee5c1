"""Paired tests over clusters of items, and the correction of their p-values.

Everything here takes sums by cluster. A system's *mean* is a sum over a count; a *corpus-level* value (BLEU, chrF) is a
function of several sums: a swap of two systems' scores is a swap of their sums, and the function is applied after it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medassay.study.resampling import Floats, all_sign_flips, sign_flip_sums
from medassay.study.studentised import FEW_CLUSTERS, Combine, Studentised, bootstrap_t, quotient

MOST_CORPUS_RESAMPLES = 2_000
"""Bootstrap resamples of a corpus-level difference: each costs a gradient over all counts of two systems."""

_MOST_EXACT = 20
"""Clusters up to which all patterns of signs may be counted."""


def randomisation_p(sums: Floats, flips: int, seed: int) -> list[tuple[float, bool]]:
    """Two-sided p of sign flips for each column of cluster sums, and whether it is exact.

    Exact where all patterns of signs number no more than `flips`; else (k + 1) / (flips + 1), where k
    random patterns gave a sum at least as far from 0 as the one observed. Clusters that sum to 0 do
    not change under a flip and need no pattern.
    """
    observed = np.abs(sums.sum(axis=0))
    slack = 1e-12 * np.abs(sums).sum(axis=0)
    alive = (sums != 0).sum(axis=0)
    exact = alive <= min(np.log2(flips), _MOST_EXACT)
    out: list[tuple[float, bool]] = [(1.0, True)] * sums.shape[1]
    for k in np.flatnonzero(exact):
        column = sums[sums[:, k] != 0, k]
        reached = np.abs(all_sign_flips(len(column)) @ column) >= observed[k] - slack[k]
        out[k] = float(reached.mean()), True
    rest = np.flatnonzero(~exact)
    if len(rest):
        drawn = np.abs(sign_flip_sums(sums[:, rest], flips, seed))
        reached_by = (drawn >= observed[rest] - slack[rest]).sum(axis=0)
        for k, count in zip(rest, reached_by):
            out[k] = float(count + 1) / (flips + 1), False
    return out


def mean_bootstrap(sums: Floats, counts: Floats, resamples: int, seed: int) -> dict[int, Studentised]:
    """The mean difference of each column of cluster sums, on bootstrap resamples."""
    out: dict[int, Studentised] = {}
    sizes = (counts > 0).sum(axis=0)
    shared = np.flatnonzero(sizes >= FEW_CLUSTERS).tolist()
    blocks = ((np.stack([sums[:, k], counts[:, k]], axis=1), quotient) for k in shared)
    out |= zip(shared, bootstrap_t(blocks, resamples, seed))
    for k in np.flatnonzero(sizes < FEW_CLUSTERS).tolist():
        mine = counts[:, k] > 0
        block = np.stack([sums[mine, k], counts[mine, k]], axis=1)
        if len(block):
            (out[k],) = bootstrap_t([(block, quotient)], resamples, seed)
    return out


def corpus_randomisation_p(
    first: Floats, second: Floats, combine: Combine, flips: int, seed: int
) -> tuple[float, bool]:
    """Two-sided p of a difference of corpus-level values, and whether it is exact (Riezler and Maxwell 2005).

    Args:
        first, second: sums of the two systems by cluster, [clusters, k]; the last column counts the items.
        combine: the value from sums over clusters.

    A random swap of the two systems' sums in each cluster gives two new corpora; counted is how often their values lie
    at least as far apart as those observed. As `randomisation_p` where the value is a mean.
    """
    totals, gaps = (first + second).sum(axis=0), first - second
    observed = abs(float(combine(first.sum(axis=0)) - combine(second.sum(axis=0))))
    gaps = gaps[(gaps != 0).any(axis=1)]
    if not len(gaps):
        return 1.0, True
    exact = len(gaps) <= min(np.log2(flips), _MOST_EXACT)
    swapped = all_sign_flips(len(gaps)) @ gaps if exact else sign_flip_sums(gaps, flips, seed)
    # Of each cluster one side's sums go to the first corpus, the other's to the second: (total ± gap) / 2.
    drawn = np.abs(combine((totals + swapped) / 2) - combine((totals - swapped) / 2))
    reached = drawn >= observed * (1 - 1e-9) - 1e-12
    return (float(reached.mean()), True) if exact else (float(reached.sum() + 1) / (flips + 1), False)


def corpus_bootstrap(first: Floats, second: Floats, combine: Combine, resamples: int, seed: int) -> Studentised:
    """The difference of two corpus-level values on bootstrap resamples of the clusters (Koehn 2004).

    Args:
        first, second: as for `corpus_randomisation_p`; both count the same items.
    """
    width = first.shape[1]
    both = np.concatenate([first, second], axis=1)
    difference: Combine = lambda sums: combine(sums[..., :width]) - combine(sums[..., width:])  # noqa: E731
    (out,) = bootstrap_t([(both, difference)], min(resamples, MOST_CORPUS_RESAMPLES), seed)
    return out


def cliffs_delta(first: Floats, second: Floats) -> float:
    """P(a > b) − P(a < b) over all pairs of one value from each side; −1 … 1, 0 for no dominance.

    >>> cliffs_delta(np.array([1.0, 2.0]), np.array([0.0, 2.0]))
    0.25
    """
    ordered = np.sort(second)
    below = np.searchsorted(ordered, first, "left").sum()
    not_above = np.searchsorted(ordered, first, "right").sum()
    above = len(first) * len(second) - not_above
    return float(below - above) / (len(first) * len(second))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number (Holm 1979): the smallest times m, the next times m − 1, …,
    never falling, at most 1.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    out = [0.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        out[i] = largest
    return out
