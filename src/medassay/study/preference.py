"""Does a metric prefer the text that people prefer? Pairwise accuracy with ties.

Deutsch, Foster and Freitag 2023, "Ties Matter: Meta-Evaluating Modern Metrics with Pairwise Accuracy and Tie
Calibration": acc_eq = (pairs ordered alike + pairs tied for both) / all pairs. A metric seldom gives two texts exactly
the same score, so differences of at most ε count as a tie; ε is chosen per metric so that acc_eq is highest (tie
calibration), as in mt-metrics-eval. ε is fitted to the same pairs, so that the calibrated accuracy is optimistic where
pairs are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from medassay.study.resampling import Estimate, Floats, Ints, bootstrap_sums, cluster_sums, interval
from medassay.study.studentised import FEWEST_CLUSTERS, ratio

MOST_IN_ITEM = 200
"""Cases of one item whose pairs are compared; further ones are left out."""


@dataclass(frozen=True)
class Pairwise:
    """Pairwise accuracy of one metric.

    exact: only equal scores are a tie of the metric. calibrated: differences of at most `epsilon` are. Both 0…1, higher
    is better, with intervals over clusters. ties: share of pairs that people call a tie. n: pairs.
    """

    exact: Estimate
    calibrated: Estimate
    epsilon: float
    ties: float
    n: int


def item_pairs(x: Floats, y: Floats, items: Ints, clusters: Ints) -> tuple[Floats, Floats, Ints]:
    """Differences of every two cases of an item: of the metric, the sign of people's, and the cluster of each pair."""
    first, second = [], []
    order = np.flatnonzero(items >= 0)
    order = order[np.argsort(items[order], kind="stable")]
    _, starts, sizes = np.unique(items[order], return_index=True, return_counts=True)
    for start, size in zip(starts.tolist(), np.minimum(sizes, MOST_IN_ITEM).tolist()):
        a, b = np.triu_indices(size, 1)
        first.append(order[start + a])
        second.append(order[start + b])
    if not first:
        return np.empty(0), np.empty(0), np.empty(0, np.int64)
    a, b = np.concatenate(first), np.concatenate(second)
    return x[a] - x[b], np.sign(y[a] - y[b]), clusters[a]


def best_epsilon(difference: Floats, preferred: Floats) -> float:
    """The tie threshold at which acc_eq is highest; the smallest such.

    >>> best_epsilon(np.array([0.1, -0.2, 3.0]), np.array([0.0, 0.0, 1.0]))
    0.2
    """
    size = np.abs(difference)
    order = np.argsort(size, kind="stable")
    won = (preferred == 0).astype(float) - ((np.sign(difference) == preferred) & (preferred != 0))
    gained = np.cumsum(won[order])
    sizes = size[order]
    last = np.append(sizes[1:] != sizes[:-1], True)  # a threshold takes in all pairs of its size
    candidates = np.flatnonzero(last)
    zero = gained[np.searchsorted(sizes, 0.0, side="right") - 1] if sizes[0] == 0.0 else 0.0
    best = candidates[int(np.argmax(gained[candidates]))]
    return float(sizes[best]) if gained[best] > zero else 0.0


def is_right(difference: Floats, preferred: Floats, epsilon: float) -> Floats:
    """1 for each pair that the metric orders as people do, else 0."""
    called = np.where(np.abs(difference) <= epsilon, 0.0, np.sign(difference))
    out: Floats = (called == preferred).astype(float)
    return out


def pairwise_accuracy(
    difference: Floats, preferred: Floats, clusters: Ints, *, resamples: int = 1000, seed: int = 1
) -> Pairwise | None:
    """Tie-aware accuracy over pairs; None where there is no pair.

    Args:
        difference: of the metric, first text less second, turned so that more is better.
        preferred: 1 where people prefer the first, −1 the second, 0 a tie.
        clusters: of each pair; whole clusters are resampled. ε is that of all pairs on every resample.
    """
    if not len(difference):
        return None
    epsilon = best_epsilon(difference, preferred)
    _, codes = np.unique(clusters, return_inverse=True)
    estimates = [
        _share(is_right(difference, preferred, threshold), codes.astype(np.int64), resamples, seed)
        for threshold in (0.0, epsilon)
    ]
    return Pairwise(estimates[0], estimates[1], epsilon, float((preferred == 0).mean()), len(difference))


def _share(hits: Floats, clusters: Ints, resamples: int, seed: int) -> Estimate:
    sums = cluster_sums(clusters, hits, np.ones_like(hits))
    few = len(sums) < FEWEST_CLUSTERS
    return replace(ratio(sums, 0 if few else resamples, seed, (0.0, 1.0)), n=len(hits))


@dataclass(frozen=True, slots=True)
class Preference:
    """One judgement of people: which of two systems' texts for an item is better; 1 the first, −1 the second, 0 tie."""

    item: str
    first: str
    second: str
    preferred: int


@dataclass(frozen=True)
class PreferenceStudy:
    """Metrics against people's preferences.

    pairwise: by metric, over the judged pairs whose texts it has scored; None where it has scored none.
    missing: by metric, judged pairs without both scores. systems: by metric, the share of pairs of systems that its
    mean difference orders as the sum of people's preferences does, with an interval over items; system_pairs: how many
    pairs of systems people do not call even.
    """

    metrics: tuple[str, ...]
    judged: int
    pairwise: dict[str, Pairwise | None]
    missing: dict[str, int]
    systems: dict[str, Estimate]
    system_pairs: int


def preference_study(
    preferences: Sequence[Preference],
    scores: dict[str, dict[tuple[str, str], float]],
    higher: dict[str, bool],
    *,
    resamples: int = 1000,
    seed: int = 1,
) -> PreferenceStudy:
    """Compare metrics with people's preferences.

    Args:
        scores: by metric, the score of each (item, system); unscored ones are left out.
        higher: by metric, whether higher is better.
    """
    items = {name: i for i, name in enumerate(dict.fromkeys(p.item for p in preferences))}
    pairwise: dict[str, Pairwise | None] = {}
    missing: dict[str, int] = {}
    systems: dict[str, Estimate] = {}
    system_pairs = 0
    for metric, values in scores.items():
        scored = [p for p in preferences if (p.item, p.first) in values and (p.item, p.second) in values]
        missing[metric] = len(preferences) - len(scored)
        sign = 1.0 if higher[metric] else -1.0
        difference = np.array([sign * (values[p.item, p.first] - values[p.item, p.second]) for p in scored])
        preferred = np.array([float(p.preferred) for p in scored])
        clusters = np.array([items[p.item] for p in scored], dtype=np.int64)
        pairwise[metric] = pairwise_accuracy(difference, preferred, clusters, resamples=resamples, seed=seed)
        systems[metric], pairs_of_systems = _system_level(scored, difference, preferred, clusters, resamples, seed)
        system_pairs = max(system_pairs, pairs_of_systems)
    return PreferenceStudy(tuple(scores), len(preferences), pairwise, missing, systems, system_pairs)


def _system_level(
    scored: Sequence[Preference], difference: Floats, preferred: Floats, clusters: Ints, resamples: int, seed: int
) -> tuple[Estimate, int]:
    """The share of system pairs that metric and people order alike; pairs that people call even do not count."""
    if not scored:
        return Estimate(float("nan")), 0
    names = [tuple(sorted((p.first, p.second))) for p in scored]
    turned = np.array([1.0 if p.first <= p.second else -1.0 for p in scored])
    pairs = {name: i for i, name in enumerate(dict.fromkeys(names))}
    pair_of = np.array([pairs[name] for name in names])
    _, codes = np.unique(clusters, return_inverse=True)
    size, width = int(codes.max()) + 1, len(pairs)
    metric, people = np.zeros((size, width)), np.zeros((size, width))
    np.add.at(metric, (codes, pair_of), turned * difference)
    np.add.at(people, (codes, pair_of), turned * preferred)
    count = int((people.sum(axis=0) != 0).sum())
    value = _alike(metric.sum(axis=0)[None], people.sum(axis=0)[None])[0]
    if size < FEWEST_CLUSTERS or not count:
        return Estimate(float(value), n=count), count
    drawn = bootstrap_sums(np.concatenate([metric, people], axis=1), resamples, seed)
    low, high = interval(_alike(drawn[:, :width], drawn[:, width:]))
    return Estimate(float(value), low, high, n=count), count


def _alike(metric: Floats, people: Floats) -> Floats:
    decided = people != 0
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Floats = ((np.sign(metric) == np.sign(people)) & decided).sum(axis=1) / decided.sum(axis=1)
    return out
