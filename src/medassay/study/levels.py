"""Agreement of one metric with one human column at three levels: over all cases, inside items, between systems.

The levels are those of mt-metrics-eval (Deutsch, Foster and Freitag 2023, "Ties Matter"): no grouping,
grouping by item, and the systems' means.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from medassay.study.correlation import COEFFICIENTS, bootstrap, coefficient, permutation_p, rowwise
from medassay.study.paired_tests import randomisation_p
from medassay.study.resampling import Estimate, Floats, Ints, bootstrap_sums, cluster_sums, interval
from medassay.study.studentised import FEWEST_CLUSTERS, ratio

_SHORT_ROW = 64
"""Items with at most this many cases are correlated all at once."""


def item_level(
    x: Floats, y: Floats, clusters: Ints, present: int, count: int, resamples: int, seed: int
) -> tuple[dict[str, Estimate], Floats]:
    """Each coefficient over all cases, and Pearson on the bootstrap resamples.

    clusters: of each case, 0 … count − 1, of which `present` occur.
    """
    out: dict[str, Estimate] = {}
    if present < 0.8 * count:
        # Cases of many clusters are left out: draw among those that remain, so that resamples keep their size.
        _, clusters = np.unique(clusters, return_inverse=True)
        count = present
    drawn = bootstrap(x, y, clusters, count, resamples, seed) if present >= FEWEST_CLUSTERS else {}
    p = permutation_p(x, y, clusters, resamples, seed)
    for name in COEFFICIENTS:
        low, high = interval(drawn[name]) if drawn else (None, None)
        out[name] = Estimate(coefficient(name)(x, y), low, high, p[name])
    return out, drawn.get("pearson", np.full(resamples, np.nan))


def scale_ends(column: Floats, scale: tuple[float, float] | None) -> tuple[float, float]:
    """The ends of the human scale."""
    if scale is not None:
        return scale
    low, high = float(np.nanmin(column)), float(np.nanmax(column))
    return (0.0, 1.0) if low >= 0.0 and high <= 1.0 else (low, high)


def line_rmse(judged: Floats, r: float, ends: tuple[float, float]) -> float:
    """Residual of the human score, on a 0–1 scale, about its line on the metric: sd·√(1 − r²); lower is better.

    This is what HARE's table holds: its ten rows fit one sd (0.169) and their own R².
    """
    return float(judged.std() / (ends[1] - ends[0]) * np.sqrt(max(0.0, 1.0 - r * r)))


def within_items(
    x: Floats, y: Floats, items: Ints, clusters: Ints, resamples: int, seed: int
) -> tuple[dict[str, Estimate], int, int]:
    """Mean over items of the correlation inside the item, interval and p over clusters of items."""
    with_item = np.flatnonzero(items >= 0)
    if not len(with_item):
        return {}, 0, 0
    order = with_item[np.argsort(items[with_item], kind="stable")]
    _, starts, sizes = np.unique(items[order], return_index=True, return_counts=True)
    estimates: dict[str, Estimate] = {}
    used = 0
    for name in COEFFICIENTS:
        values = np.full(len(sizes), np.nan)
        for size in np.unique(sizes[sizes > 1]).tolist():
            same_size = np.flatnonzero(sizes == size)
            rows = order[starts[same_size][:, None] + np.arange(size)]
            if size <= _SHORT_ROW:
                values[same_size] = rowwise(name, x[rows], y[rows])
            else:
                values[same_size] = [coefficient(name)(x[row], y[row]) for row in rows]
        defined = np.isfinite(values)
        used = int(defined.sum())
        if used < 2:
            return {}, used, len(sizes) - used
        sums = cluster_sums(clusters[order[starts[defined]]], values[defined], np.ones(used))
        mean = ratio(sums, resamples, seed, (-1.0, 1.0))
        p = randomisation_p(sums[:, :1], max(resamples, 1000), seed)[0][0]
        estimates[name] = replace(mean, value=float(values[defined].mean()), p=p)
    return estimates, used, len(sizes) - used


def between_systems(
    x: Floats, y: Floats, systems: Ints, clusters: Ints, resamples: int, seed: int
) -> tuple[dict[str, Estimate], int]:
    """Correlation of the systems' means.

    p over all orders of the systems (10,000 of them at most); the interval resamples clusters of cases, so that it says
    how far the means may have moved, for these very systems.
    """
    named = systems >= 0
    distinct, index = np.unique(systems[named], return_inverse=True)
    if len(distinct) < 3:
        return {}, len(distinct)
    a, b, resampled = _system_means(x[named], y[named], index, clusters[named], resamples, seed)
    if len(distinct) <= 7:
        orders = np.array(list(permutations(range(len(distinct)))))
    else:
        orders = np.random.default_rng(seed).permuted(np.tile(np.arange(len(distinct)), (10_000, 1)), axis=1)
        orders[0] = np.arange(len(distinct))
    estimates = {}
    for name in COEFFICIENTS:
        value = coefficient(name)(a, b)
        if np.isfinite(value):
            permuted = rowwise(name, np.broadcast_to(a, orders.shape), b[orders])
            low, high = (None, None) if resampled is None else interval(rowwise(name, *resampled))
            estimates[name] = Estimate(value, low, high, float((np.abs(permuted) >= abs(value) - 1e-9).mean()))
    return estimates, len(distinct)


def _system_means(
    x: Floats, y: Floats, systems: Ints, clusters: Ints, resamples: int, seed: int
) -> tuple[Floats, Floats, tuple[Floats, Floats] | None]:
    """The means of both columns by system, and the same on every bootstrap resample that has all systems."""
    _, codes = np.unique(clusters, return_inverse=True)
    size, width = int(codes.max()) + 1, int(systems.max()) + 1
    cell = codes * width + systems
    sums = [np.bincount(cell, w, size * width).reshape(size, width) for w in (np.ones_like(x), x, y)]
    counts, xs, ys = (table.sum(axis=0) for table in sums)
    if size < FEWEST_CLUSTERS or not resamples:
        return xs / counts, ys / counts, None
    n, sx, sy = np.split(bootstrap_sums(np.concatenate(sums, axis=1), resamples, seed), 3, axis=1)
    complete = (n > 0).all(axis=1)
    if complete.sum() < 0.95 * resamples:
        return xs / counts, ys / counts, None
    return xs / counts, ys / counts, (sx[complete] / n[complete], sy[complete] / n[complete])


@dataclass(frozen=True)
class Line:
    """A least-squares line: its values y at the points x, and 95 % bounds of y; None where clusters are too few."""

    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None


def least_squares(x: Floats, y: Floats, clusters: Ints, points: int, resamples: int, seed: int = 1) -> Line:
    """The line of y on x over the cases that have both, at `points` evenly spaced values of x."""
    rows = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    x, y, clusters = x[rows], y[rows], clusters[rows]
    points_x = np.linspace(float(x.min()), float(x.max()), points)
    slope, intercept = np.polyfit(x, y, 1)
    if len(np.unique(clusters)) < FEWEST_CLUSTERS:
        return Line(points_x, intercept + slope * points_x)
    middle = float(x.mean())
    sums = cluster_sums(clusters, np.ones_like(x), x - middle, y, (x - middle) ** 2, (x - middle) * y)
    n, sx, sy, sxx, sxy = bootstrap_sums(sums, resamples, seed).T
    with np.errstate(invalid="ignore", divide="ignore"):
        slopes = (sxy - sx * sy / n) / (sxx - sx * sx / n)
        lines = (sy / n)[:, None] + slopes[:, None] * ((points_x - middle)[None] - (sx / n)[:, None])
    defined = lines[np.isfinite(lines).all(axis=1)]
    low, high = np.percentile(defined, [2.5, 97.5], axis=0)
    return Line(points_x, intercept + slope * points_x, low, high)
