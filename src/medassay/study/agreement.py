"""How far people agree: pure functions on a table of ratings, raters × items, NaN where missing.

    >>> ratings = [[1, 2, 3, 3, 2], [1, 2, 3, 3, 2], [float("nan"), 3, 3, 3, 2]]
    >>> round(krippendorff_alpha(ratings, level="nominal"), 3)
    0.78

Every coefficient is 1 for perfect agreement and higher is better. NaN means *not assessable* (too few
shared items, or everybody gave one and the same value): it is never replaced by a number.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from medassay.errors import InputError
from medassay.study import correlation
from medassay.study.resampling import Estimate, Floats, interval
from medassay.study.studentised import FEWEST_CLUSTERS

Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = get_args(Level)


def _table(ratings: ArrayLike) -> Floats:
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise InputError(f"ratings: expected raters × items, found {table.ndim} dimension(s); missing is NaN")
    if np.isinf(table).any():
        raise InputError("ratings: found an infinite value; write NaN where a rating is missing")
    return table


@dataclass(frozen=True)
class _Units:
    """The coincidence counts of a table, kept by item so that resampling only adds rows up.

    `counts[u, v]`: how often value v was given to item u (items with one rating only are dropped);
    `values`: the distinct values in ascending order.
    """

    counts: Floats
    values: Floats

    @classmethod
    def of(cls, table: Floats) -> _Units:
        paired = table[:, np.sum(~np.isnan(table), axis=0) >= 2] if table.size else table
        values = np.unique(paired[~np.isnan(paired)])
        counts = np.zeros((paired.shape[1] if paired.size else 0, len(values)))
        for row in paired if len(counts) else ():
            rated = np.flatnonzero(~np.isnan(row))
            np.add.at(counts, (rated, np.searchsorted(values, row[rated])), 1)
        return cls(counts, values)


def _squared_distance(level: Level, values: Floats, totals: Floats) -> Floats:
    """Krippendorff's δ² between every two values; for ordinal data it depends on how often each occurs."""
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    if level == "interval":
        return np.asarray((values[:, None] - values[None, :]) ** 2)
    if level == "ratio":
        total = values[:, None] + values[None, :]
        apart = values[:, None] - values[None, :]
        return np.divide(apart, total, out=np.zeros_like(total), where=total != 0) ** 2
    ends = np.cumsum(totals)
    middle = ends - totals / 2  # the ranks between two values, half of each end counted
    return np.asarray((middle[:, None] - middle[None, :]) ** 2)


def _disagreement(counts: Floats, distance: Floats) -> Floats:
    """Each item's share of the observed disagreement: its ordered pairs, over (ratings − 1)."""
    pairs = np.einsum("uv,vw,uw->u", counts, distance, counts, optimize=True)
    return np.asarray(pairs / (counts.sum(axis=1) - 1))


def _alpha(units: _Units, level: Level, weights: Floats) -> float:
    """Alpha with every item taken `weights[u]` times."""
    totals = weights @ units.counts
    n = totals.sum()
    distance = _squared_distance(level, units.values, totals)
    expected = totals @ distance @ totals
    if n < 2 or expected <= 0:
        return float("nan")
    observed = weights @ _disagreement(units.counts, distance)
    return float(1.0 - (n - 1) * observed / expected)


def krippendorff_alpha(ratings: ArrayLike, level: Level = "interval") -> float:
    """Krippendorff's alpha: 1 − observed / expected disagreement (Hayes & Krippendorff 2007).

    Any number of raters, ratings may be missing (NaN), any level of measurement. At most 1; 0 is what
    chance gives; below 0 is systematic disagreement. By common custom .80 is reliable, .67 tentative.
    NaN where fewer than two ratings can be paired or all paired ratings are equal.
    """
    if level not in LEVELS:
        raise InputError(f"level '{level}' is not one of {', '.join(LEVELS)}")
    table = _table(ratings)
    if level == "ratio" and np.nanmin(table, initial=0) < 0:
        raise InputError("ratings: level 'ratio' needs values of 0 or more; use level='interval'")
    units = _Units.of(table)
    return _alpha(units, level, np.ones(len(units.counts)))


def cohen_kappa(first: ArrayLike, second: ArrayLike, weights: Literal["linear", "quadratic"] | None = None) -> float:
    """Cohen's kappa of two raters over the items both rated; −1…1, 0 is chance.

    `weights` counts near misses as partial agreement by rank of the category (linear or quadratic).
    NaN where the raters share no item or both use one and the same category throughout.
    """
    a, b = _shared(first, second)
    categories = np.unique(np.concatenate([a, b]))
    if len(categories) < 2:
        return float("nan")
    table = np.zeros((len(categories), len(categories)))
    np.add.at(table, (np.searchsorted(categories, a), np.searchsorted(categories, b)), 1)
    rank = np.arange(len(categories), dtype=np.float64)
    apart = np.abs(rank[:, None] - rank[None, :])
    cost = {None: (apart > 0).astype(np.float64), "linear": apart, "quadratic": apart**2}[weights]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(a)
    by_chance = float((cost * expected).sum())
    return 1.0 - float((cost * table).sum()) / by_chance if by_chance > 0 else float("nan")


def fleiss_kappa(ratings: ArrayLike) -> float:
    """Fleiss' kappa (1971) for nominal categories, over the items that every rater rated; at most 1.

    NaN where fewer than two raters or no complete item are there, or one category was used throughout.
    """
    table = _table(ratings)
    complete = table[:, ~np.isnan(table).any(axis=0)]
    raters, items = complete.shape
    if raters < 2 or items == 0:
        return float("nan")
    counts = _Units.of(complete).counts
    return fleiss_kappa_of_counts(counts)


def fleiss_kappa_of_counts(counts: ArrayLike) -> float:
    """Fleiss' kappa from items × categories, each cell how many raters chose it; rows add up alike."""
    table = _table(counts)
    raters = table.sum(axis=1)
    if len(table) == 0 or raters[0] < 2:
        return float("nan")
    if np.ptp(raters) > 0:
        raise InputError(
            "counts: items have different numbers of ratings; Fleiss' kappa needs the same number for all, "
            "use krippendorff_alpha(level='nominal')"
        )
    n = raters[0]
    agreement = ((table**2).sum(axis=1) - n) / (n * (n - 1))
    by_chance = float(((table.sum(axis=0) / table.sum()) ** 2).sum())
    return float((agreement.mean() - by_chance) / (1 - by_chance)) if by_chance < 1 else float("nan")


IccKind = Literal["one-way", "agreement", "consistency"]


def intraclass_correlation(ratings: ArrayLike, kind: IccKind = "agreement", *, average: bool = False) -> float:
    """Intra-class correlation over the items that every rater rated (Shrout & Fleiss 1979; McGraw & Wong 1996).

    The share of the variance of a rating that is due to the item. At most 1; 0 or below: ratings of one item
    are no more alike than those of different items.

    Args:
        kind: `agreement`, ICC(2,1): raters are a sample, and a rater who is always higher counts as
            disagreement; `consistency`, ICC(3,1): such a difference does not count; `one-way`, ICC(1,1): each
            item was rated by other raters.
        average: the reliability of the mean of all raters, ICC(·,k), in place of that of a single rater.

    Returns:
        NaN where there are fewer than two raters or two complete items, or where nothing varies.

    >>> table = [[9, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    >>> [round(intraclass_correlation(table, kind), 2) for kind in ("one-way", "agreement", "consistency")]
    [0.17, 0.29, 0.71]
    """
    if kind not in get_args(IccKind):
        raise InputError(f"kind '{kind}' is not one of {', '.join(get_args(IccKind))}")
    table = _table(ratings)
    complete = table[:, ~np.isnan(table).any(axis=0)]
    k, n = complete.shape
    if k < 2 or n < 2 or np.ptp(complete) == 0:
        return float("nan")
    values = (complete - complete.mean()) / np.ptp(complete)  # scaled: squares must not under- or overflow
    items, raters = values.mean(axis=0), values.mean(axis=1)
    between = k * float((items**2).sum()) / (n - 1)
    columns = n * float((raters**2).sum()) / (k - 1)
    within = float(((values - items) ** 2).sum()) / (n * (k - 1))
    error = float(((values - items - raters[:, None]) ** 2).sum()) / ((n - 1) * (k - 1))
    noise = within if kind == "one-way" else error
    bias = (columns - error) / n if kind == "agreement" else 0.0
    total = between + bias if average else between + (k - 1) * noise + k * bias
    return (between - noise) / total if total > 0 else float("nan")


def count_f1(first: ArrayLike, second: ArrayLike, tolerance: float = 0) -> float:
    """F1 between two raters' counts where counts within `tolerance` of each other match; 0…1.

    Each rater gives one count per item, so micro precision, recall and F1 coincide: the share of
    shared items whose counts differ by at most the tolerance. NaN where no item is shared.
    """
    if tolerance < 0:
        raise InputError(f"tolerance {tolerance}: must be 0 or more")
    a, b = _shared(first, second)
    return float(np.mean(np.abs(a - b) <= tolerance)) if len(a) else float("nan")


Spans = Sequence[tuple[int, int]]
"""Spans [start, end) of one text."""


def span_f1(first: Sequence[Spans], second: Sequence[Spans], *, exact: bool = False) -> float:
    """F1 between two raters' highlights over the same texts; 0…1.

    A highlight matches where it shares a character with one of the other rater's in the same text (relaxed), or has the
    same ends as one (`exact`). Precision is the share of the first rater's highlights that match, recall that of the
    second's, over all texts together. NaN where neither rater highlighted anything.

    >>> span_f1([[(0, 10), (20, 30)]], [[(5, 12)]]), span_f1([[(0, 10)]], [[(0, 10)]], exact=True)
    (0.6666666666666666, 1.0)
    """
    if len(first) != len(second):
        raise InputError(f"highlights: one rater has {len(first)} texts, the other {len(second)}: align them")
    ours, theirs = sum(map(len, first)), sum(map(len, second))
    if not ours + theirs:
        return float("nan")
    matched_first = sum(_matching(a, b, exact) for a, b in zip(first, second))
    matched_second = sum(_matching(b, a, exact) for a, b in zip(first, second))
    precision, recall = matched_first / ours if ours else 0.0, matched_second / theirs if theirs else 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _matching(spans: Spans, others: Spans, exact: bool) -> int:
    if exact:
        return sum(tuple(span) in set(map(tuple, others)) for span in spans)
    return sum(any(start < end_ and start_ < end for start_, end_ in others) for start, end in spans)


def rater_correlation(first: ArrayLike, second: ArrayLike) -> float:
    """Pearson's r of two raters over the items both rated; −1…1. NaN where either does not vary."""
    a, b = _shared(first, second)
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    # Scaled before squaring: tiny or huge ratings must not under- or overflow.
    return correlation.pearson((a - a.mean()) / np.ptp(a), (b - b.mean()) / np.ptp(b))


def _shared(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    a, b = np.asarray(first, dtype=np.float64).ravel(), np.asarray(second, dtype=np.float64).ravel()
    if len(a) != len(b):
        raise InputError(f"ratings: one rater has {len(a)} items, the other {len(b)}: align them (NaN: missing)")
    both = ~(np.isnan(a) | np.isnan(b))
    return a[both], b[both]


def mean_over_pairs(ratings: ArrayLike, coefficient: Callable[[Floats, Floats], float]) -> float:
    """A two-rater coefficient averaged over all pairs of raters that can be assessed; NaN if none can."""
    table = _table(ratings)
    values = [coefficient(table[i], table[j]) for i, j in combinations(range(len(table)), 2)]
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def alpha_interval(
    ratings: ArrayLike,
    level: Level = "interval",
    *,
    clusters: Sequence[Hashable] | None = None,
    resamples: int = 1000,
    seed: int = 1,
) -> Estimate:
    """Alpha with a percentile bootstrap interval that resamples items.

    `clusters` names each item's cluster (texts about one case): whole clusters are drawn, because
    several systems on one case are not independent items. Resamples in which all ratings are equal
    cannot be assessed and are left out. There is no interval below three clusters, where more than one resample in
    twenty is left out, or where alpha does not vary. `n` counts the items with two ratings or more.
    """
    table = _table(ratings)
    value = krippendorff_alpha(table, level)
    paired = np.flatnonzero(np.sum(~np.isnan(table), axis=0) >= 2) if table.size else np.array([], dtype=int)
    if np.isnan(value):
        return Estimate(value, n=len(paired))
    names = [clusters[i] for i in paired] if clusters is not None else list(map(int, paired))
    cluster_number = {name: k for k, name in enumerate(dict.fromkeys(names))}
    cluster_of = np.array([cluster_number[name] for name in names])
    if len(cluster_number) < FEWEST_CLUSTERS:
        return Estimate(value, n=len(paired))
    units = _Units.of(table)
    rng = np.random.default_rng(seed)
    draws = rng.multinomial(len(cluster_number), np.full(len(cluster_number), 1 / len(cluster_number)), size=resamples)
    values = _alphas(units, level, draws[:, cluster_of].astype(np.float64))
    low, high = interval(values)
    return Estimate(value, low, high, n=len(paired))


def _alphas(units: _Units, level: Level, weights: Floats) -> Floats:
    """Alpha for each row of weights (resamples × items)."""
    if level == "ordinal":  # its distances change with every resample
        return np.array([_alpha(units, level, row) for row in weights])
    distance = _squared_distance(level, units.values, units.counts.sum(axis=0))
    totals = weights @ units.counts
    n = totals.sum(axis=1)
    expected = np.einsum("rv,rv->r", totals @ distance, totals)
    observed = weights @ _disagreement(units.counts, distance)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(expected > 0, 1 - (n - 1) * observed / expected, np.nan))


def difference_interval(
    values: ArrayLike,
    treated: ArrayLike,
    clusters: Sequence[Hashable],
    *,
    resamples: int = 1000,
    seed: int = 1,
) -> Estimate:
    """Mean of the treated observations less mean of the others, with a percentile bootstrap interval.

    Whole clusters (cases) are drawn, treated and untreated observations of a case together. NaN where either
    side is empty; no interval below three clusters or where the difference does not vary. `n` counts both sides.
    """
    x = np.asarray(values, dtype=np.float64)
    is_treated = np.asarray(treated, dtype=bool)
    cluster_number = {name: k for k, name in enumerate(dict.fromkeys(clusters))}
    cluster_of = np.array([cluster_number[name] for name in clusters], dtype=np.int64)
    if not is_treated.any() or is_treated.all():
        return Estimate(float("nan"), n=len(x))
    sums = np.stack(
        [
            np.bincount(cluster_of, w, len(cluster_number))
            for w in (x * is_treated, 1.0 * is_treated, x * ~is_treated, 1.0 * ~is_treated)
        ],
        axis=1,
    )

    def difference(total: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(total[..., 0] / total[..., 1] - total[..., 2] / total[..., 3])

    value = float(difference(sums.sum(axis=0)))
    if len(cluster_number) < FEWEST_CLUSTERS:
        return Estimate(value, n=len(x))
    draws = np.random.default_rng(seed).multinomial(
        len(cluster_number), np.full(len(cluster_number), 1 / len(cluster_number)), size=resamples
    )
    low, high = interval(difference(draws.astype(np.float64) @ sums))
    return Estimate(value, low, high, n=len(x))
