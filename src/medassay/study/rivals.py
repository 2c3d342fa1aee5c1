"""Does one metric agree with people better than another? Paired permutation over the same cases.

Under the null hypothesis the two metrics, brought to one scale, could be swapped on a case. So
they are swapped at random, all cases of a cluster together, and the difference of the two correlations is
taken anew each time (the test of mt-metrics-eval, after Deutsch et al. 2021, "A Statistical Analysis of
Summarization Evaluation Metrics Using Resampling Methods", section 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from medassay.study.correlation import pearson, ranks
from medassay.study.paired_tests import holm
from medassay.study.resampling import Floats, Ints, cluster_sums, sign_flip_sums

_TOGETHER = 120
"""Pairs of metrics tested in one go; bounds the memory of the flips."""


@dataclass(frozen=True, slots=True)
class Rival:
    """Two metrics against one human column, on the cases that both have scored.

    difference: agreement of the first minus that of the second, each correlation turned so that more is
        better (a lower-is-better metric, or a human column of errors, counts with its sign changed); −2…2.
    p: two-sided; p_holm: corrected over all pairs of this human column.
    better: the metric that agrees better with p_holm below alpha; None where no difference is shown.
    """

    human: str
    first: str
    second: str
    n: int
    difference: float
    p: float
    p_holm: float = 1.0
    better: str | None = None


def rivals(
    human: str,
    judged: Floats,
    metrics: Mapping[str, Floats],
    clusters: Ints,
    *,
    rank: bool = False,
    flips: int = 10_000,
    seed: int = 1,
    alpha: float = 0.05,
) -> list[Rival]:
    """Every two metrics compared on one human column.

    judged and metrics hold one number per case, NaN where there is none, all turned so that more is better.
    rank: compare Spearman's correlations (ranks are swapped) in place of Pearson's.
    """
    tested: list[tuple[Rival, Floats]] = []
    for first, second in combinations(metrics, 2):
        rows = np.flatnonzero(np.isfinite(judged) & np.isfinite(metrics[first]) & np.isfinite(metrics[second]))
        columns = [column[rows] for column in (metrics[first], metrics[second], judged)]
        if rank:
            columns = [ranks(column) for column in columns]
        a, b, h = (standardised(column) for column in columns)
        if a is None or b is None or h is None:
            continue
        difference = pearson(a, h) - pearson(b, h)
        tested.append((Rival(human, first, second, len(rows), difference, 1.0), swap_sums(a, b, h, clusters[rows])))
    p_values = _p_values(tested, flips, seed)
    return [
        replace(
            rival, p=p, p_holm=q, better=(rival.first if rival.difference > 0 else rival.second) if q < alpha else None
        )
        for (rival, _), p, q in zip(tested, p_values, holm(p_values))
    ]


def standardised(column: Floats) -> Floats | None:
    """Mean 0, standard deviation 1; None where the column does not vary or has too few cases."""
    if len(column) < 3:
        return None
    sd = float(column.std())
    if sd <= 1e-12 * max(1.0, float(np.abs(column).max())):
        return None
    out: Floats = (column - column.mean()) / sd
    return out


def swap_sums(a: Floats, b: Floats, h: Floats, clusters: Ints) -> Floats:
    """Per cluster what a swap changes and what it does not.

    With s the mean of the two and d half their difference, the first is s + εd and the second s − εd,
    ε = −1 where they are swapped. Its sum, its sum of squares and its product with h are linear in ε.
    """
    s, d = (a + b) / 2, (a - b) / 2
    return cluster_sums(clusters, d, s * d, d * h, s, s * s + d * d, s * h, np.ones_like(s))


def _p_values(tested: Sequence[tuple[Rival, Floats]], flips: int, seed: int) -> list[float]:
    out: dict[int, float] = {}
    shapes: dict[int, list[int]] = {}
    for i, (_, sums) in enumerate(tested):
        shapes.setdefault(len(sums), []).append(i)
    for members in shapes.values():
        for start in range(0, len(members), _TOGETHER):
            batch = members[start : start + _TOGETHER]
            flipped = sign_flip_sums(np.concatenate([tested[i][1][:, :3] for i in batch], axis=1), flips, seed)
            for k, i in enumerate(batch):
                rival, sums = tested[i]
                drawn = np.abs(swapped_differences(flipped[:, 3 * k : 3 * k + 3], sums[:, 3:].sum(axis=0)))
                reached = int((drawn >= abs(rival.difference) - 1e-12).sum())
                out[i] = (reached + 1) / (flips + 1)
    return [out[i] for i in range(len(tested))]


def swapped_differences(flipped: Floats, fixed: Floats) -> Floats:
    """r(first, h) − r(second, h) on every flip; h has mean 0 and standard deviation 1."""
    d, sd, dh = flipped.T
    s, squares, sh, n = fixed
    correlations = []
    for sign in (1.0, -1.0):
        total = s + sign * d
        variance = np.maximum(squares + sign * 2 * sd - total**2 / n, 1e-300)
        correlations.append((sh + sign * dh) / np.sqrt(variance * n))
    out: Floats = correlations[0] - correlations[1]
    return out
