"""How far a trust score can be relied on: risk against coverage, exact bounds, reliability.

Everything here is about pairs of a score (0–1, higher is better) and whether people called the report
acceptable. *Coverage* is the share of reports that a threshold lets through, *risk* the share of those that are
not acceptable. Thresholds are chosen by fixed-sequence testing with exact binomial bounds (Angelopoulos et al.,
"Learn then Test", 2021; Geifman and El-Yaniv, "Selective classification", 2017): with the stated confidence the
risk of what is let through is at most the chosen one, if reports to come are like those that were labelled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from medassay.study.correlation import ranks
from medassay.study.resampling import Floats, Ints, cluster_sums
from medassay.study.studentised import bootstrap_t, quotient

STEPS = 40
"""Thresholds that are tested one after another, and points of the curve."""


@dataclass(frozen=True, slots=True)
class Point:
    """One threshold of a risk–coverage curve: reports at or above it, and how many of them are bad."""

    threshold: float
    coverage: float
    n: int
    errors: int
    risk: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """A threshold with its guarantee: `bound` is the most that the risk is (or the least that the precision is)."""

    point: Point
    bound: float


@dataclass(frozen=True, slots=True)
class Bin:
    """Reports of similar scores: their mean score and the share that is acceptable, with its exact 95 % interval."""

    low: float
    high: float
    n: int
    score: float
    good: float
    good_low: float
    good_high: float


def tail(k: int, n: int, p: float) -> float:
    """P(X ≤ k) for X binomial (n, p).

    >>> round(tail(0, 59, 0.05), 4)
    0.0485
    """
    if p <= 0 or k >= n:
        return 1.0
    if p >= 1:
        return 0.0
    logs = [
        math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * math.log(p) + (n - i) * math.log1p(-p)
        for i in range(k + 1)
    ]
    top = max(logs)
    return min(1.0, math.exp(top) * math.fsum(math.exp(log - top) for log in logs))


def upper_bound(errors: int, n: int, confidence: float = 0.95) -> float:
    """The largest error rate that is not excluded by `errors` in `n` (Clopper–Pearson, one-sided); 1 where n is 0.

    >>> round(upper_bound(0, 59), 4), round(upper_bound(5, 100), 4)
    (0.0495, 0.1023)
    """
    if n == 0 or errors >= n:
        return 1.0
    low, high = errors / n, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(errors, n, middle) > 1 - confidence else (low, middle)
    return high


def lower_bound(errors: int, n: int, confidence: float = 0.95) -> float:
    """The smallest error rate that is not excluded (Clopper–Pearson, one-sided); 0 where n is 0."""
    return 1.0 - upper_bound(n - errors, n, confidence) if n else 0.0


def least_data(risk: float, confidence: float = 0.95) -> int:
    """How many labelled reports without a single error guarantee this risk.

    >>> least_data(0.05), least_data(0.1)
    (59, 29)
    """
    return math.ceil(math.log(1 - confidence) / math.log(1 - risk))


def curve(
    scores: Floats, bad: Floats, clusters: Ints | None = None, *, resamples: int = 1000, seed: int = 1
) -> list[Point]:
    """The risk–coverage curve at up to `STEPS` thresholds, strictest first, with 95 % bootstrap intervals."""
    thresholds = _thresholds(scores, 1)
    points = [_point(scores, bad, threshold) for threshold in thresholds]
    if not resamples or not points:
        return points
    chosen = scores[:, None] >= np.array(thresholds)[None, :]
    cluster_of = np.arange(len(scores)) if clusters is None else clusters
    blocks = ((cluster_sums(cluster_of, rows * bad, rows), quotient) for rows in chosen.astype(float).T)
    with_intervals = []
    for point, statistic in zip(points, bootstrap_t(blocks, resamples, seed)):
        low, high = statistic.interval((0.0, 1.0))
        with_intervals.append(replace(point, low=low, high=high))
    return with_intervals


def _point(scores: Floats, bad: Floats, threshold: float) -> Point:
    chosen = scores >= threshold
    n, errors = int(chosen.sum()), int(bad[chosen].sum())
    return Point(float(threshold), n / len(scores), n, errors, errors / n if n else 0.0)


def _thresholds(scores: Floats, least: int) -> list[float]:
    """Up to `STEPS` thresholds that let through from `least` reports to all, evenly in number; ties stay together."""
    ordered = np.sort(scores)[::-1]
    if len(ordered) < least:
        return []
    counts = np.unique(np.linspace(least, len(ordered), min(STEPS, len(ordered) - least + 1)).round().astype(int))
    return sorted({float(ordered[count - 1]) for count in counts}, reverse=True)


def deploy_threshold(scores: Floats, bad: Floats, risk: float, confidence: float = 0.95) -> Choice | None:
    """The lowest threshold whose risk is at most `risk` with this confidence; None where data do not show one.

    Thresholds are tested from strict to lax and the first that fails ends it: that order, fixed before the
    labels are seen, is what lets many thresholds be tried at one confidence. It starts where enough reports are
    let through for the bound to hold at all without an error.
    """
    best = None
    for threshold in _thresholds(scores, least_data(risk, confidence)):
        point = _point(scores, bad, threshold)
        bound = upper_bound(point.errors, point.n, confidence)
        if bound > risk:
            break
        best = Choice(point, bound)
    return best


def reject_threshold(scores: Floats, bad: Floats, precision: float, confidence: float = 0.95) -> Choice | None:
    """The highest threshold below which at least `precision` of the reports are bad, with this confidence.

    The same test from the other end; `point` counts the reports *below* the threshold.
    """
    mirrored = deploy_threshold(-scores, 1.0 - bad, 1.0 - precision, confidence)
    if mirrored is None:
        return None
    highest = -mirrored.point.threshold
    above = scores[scores > highest]
    # Between the last report that is rejected and the next: `trust < threshold` rejects exactly these.
    threshold = float((highest + above.min()) / 2) if len(above) else min(1.0, math.nextafter(highest, 2.0))
    n, errors = mirrored.point.n, mirrored.point.n - mirrored.point.errors
    point = Point(threshold, n / len(scores), n, errors, errors / n)
    return Choice(point, 1.0 - mirrored.bound)


def aurc(scores: Floats, bad: Floats) -> float:
    """Area under the risk–coverage curve, 0–1, lower is better; ties count as if ordered at random.

    >>> aurc(np.array([0.9, 0.8, 0.1]), np.array([0.0, 0.0, 1.0]))
    0.1111111111111111
    """
    order = np.argsort(-scores, kind="stable")
    values, errors = scores[order], bad[order].astype(float)
    # Inside a group of equal scores every report has the group's mean chance of being bad.
    _, start, counts = np.unique(-values, return_index=True, return_counts=True)
    for begin, count in zip(start.tolist(), counts.tolist()):
        errors[begin : begin + count] = errors[begin : begin + count].mean()
    return float((np.cumsum(errors) / np.arange(1, len(errors) + 1)).mean())


def auc(scores: Floats, bad: Floats) -> float:
    """Chance that an acceptable report scores above one that is not (ties half); NaN where one kind is missing.

    >>> auc(np.array([0.9, 0.8, 0.1]), np.array([0.0, 1.0, 1.0]))
    1.0
    """
    good = bad < 0.5
    positive, negative = int(good.sum()), int((~good).sum())
    if not positive or not negative:
        return math.nan
    return float((ranks(scores)[good].sum() - positive * (positive + 1) / 2) / (positive * negative))


def reliability(scores: Floats, bad: Floats, bins: int = 10) -> list[Bin]:
    """Acceptable share by score, in bins of equal width; empty bins are left out."""
    out = []
    bin_of = np.clip((scores * bins).astype(int), 0, bins - 1)
    for k in range(bins):
        inside = bin_of == k
        n = int(inside.sum())
        if not n:
            continue
        errors = int(bad[inside].sum())
        extent = 1.0 - upper_bound(errors, n, 0.975), 1.0 - lower_bound(errors, n, 0.975)
        out.append(Bin(k / bins, (k + 1) / bins, n, float(scores[inside].mean()), 1.0 - errors / n, *extent))
    return out


def ece(bins: Sequence[Bin]) -> float:
    """Expected calibration error, 0–1, lower is better: how far scores lie from acceptable shares, by bin.

    Trust is not a probability; this is the error of reading it as one.
    """
    total = sum(group.n for group in bins)
    return math.fsum(group.n * abs(group.score - group.good) for group in bins) / total if total else math.nan
