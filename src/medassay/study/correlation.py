"""Correlation of two columns: Pearson, Spearman and Kendall's tau-b, alone and on many resamples at once.

Every coefficient runs from −1 to 1; NaN where it is undefined (fewer than two rows, or a column that does
not vary). A bootstrap resample is a row of weights, how often each case was drawn, so that ties and ranks
are those of the resample itself. Kendall takes n log n steps per resample: discordant pairs are inversions,
counted bit by bit of the rank, for all resamples together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from medassay.study.resampling import Floats, Ints

COEFFICIENTS = ("pearson", "spearman", "kendall")

_FLAT = 1e-12
"""A standard deviation this small beside the values themselves is rounding: the column is constant."""

_BLOCK = 1_500_000
"""Numbers held at once in one array of resamples: 12 MB."""


def ranks(values: ArrayLike) -> Floats:
    """Ranks from 1, ties given their mean rank.

    >>> ranks([10, 30, 10]).tolist()
    [1.5, 3.0, 1.5]
    """
    array = np.asarray(values, float)
    _, inverse, counts = np.unique(array, return_inverse=True, return_counts=True)
    means: Floats = np.cumsum(counts) - (counts - 1) / 2
    return means[inverse]


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Linear correlation, −1…1.

    >>> pearson([1, 2, 3], [2, 4, 6]), pearson([1, 2, 3], [5, 5, 5])
    (1.0, nan)
    """
    return float(pearson_rows(np.asarray(x, float)[None], np.asarray(y, float)[None])[0])


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Rank correlation, −1…1: Pearson on the ranks, ties at their mean rank."""
    return pearson(ranks(x), ranks(y))


def kendall(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's tau-b, −1…1: concordant less discordant pairs, corrected for ties on both sides.

    >>> kendall([1, 2, 3, 4], [1, 3, 2, 4])
    0.6666666666666666
    """
    a, b = np.asarray(x, float), np.asarray(y, float)
    return float(weighted_kendall(a, b, np.ones((1, len(a))))[0]) if len(a) > 1 else math.nan


def coefficient(name: str) -> Callable[[ArrayLike, ArrayLike], float]:
    """The function of a coefficient's name."""
    return {"pearson": pearson, "spearman": spearman, "kendall": kendall}[name]


def pearson_rows(x: Floats, y: Floats) -> Floats:
    """Pearson of each row of x with the same row of y: [m, k] in, [m] out."""
    if x.shape[-1] < 2:
        return np.full(len(x), np.nan)
    dx, dy = x - x.mean(axis=-1, keepdims=True), y - y.mean(axis=-1, keepdims=True)
    sx, sy = (dx**2).sum(axis=-1), (dy**2).sum(axis=-1)
    flat = (sx <= (_FLAT * np.abs(x).max(axis=-1)) ** 2) | (sy <= (_FLAT * np.abs(y).max(axis=-1)) ** 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (dx * dy).sum(axis=-1) / np.sqrt(sx * sy)
    out: Floats = np.where(flat, np.nan, np.clip(r, -1.0, 1.0))
    return out


def ranks_rows(x: Floats) -> Floats:
    """Mid-ranks inside each short row: [m, k] in, [m, k] out; takes m·k² memory."""
    below = (x[:, :, None] > x[:, None, :]).sum(axis=2)
    same = (x[:, :, None] == x[:, None, :]).sum(axis=2)
    out: Floats = below + (same + 1) / 2
    return out


def kendall_rows(x: Floats, y: Floats) -> Floats:
    """Tau-b inside each short row: [m, k] in, [m] out; takes m·k² memory."""
    sx, sy = np.sign(x[:, :, None] - x[:, None, :]), np.sign(y[:, :, None] - y[:, None, :])
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Floats = (sx * sy).sum(axis=(1, 2)) / np.sqrt((sx**2).sum(axis=(1, 2)) * (sy**2).sum(axis=(1, 2)))
    return tau


def rowwise(name: str, x: Floats, y: Floats) -> Floats:
    """The named coefficient inside each row."""
    if name == "pearson":
        return pearson_rows(x, y)
    if name == "spearman":
        return pearson_rows(ranks_rows(x), ranks_rows(y))
    return kendall_rows(x, y)


def weighted_pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Pearson on each resample: weights [m, n] (how often a case was drawn), [m] out."""
    x, y = x - x.mean(), y - y.mean()
    return _from_sums(weights @ np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1))


def _from_sums(sums: Floats) -> Floats:
    """Pearson from n, Σx, Σy, Σx², Σy², Σxy of roughly centred columns: [m, 6] in, [m] out."""
    n, x, y, xx, yy, xy = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        vx, vy = xx - x * x / n, yy - y * y / n
        flat = (vx <= 1e-12 * np.maximum(xx, 1e-300)) | (vy <= 1e-12 * np.maximum(yy, 1e-300))
        r = (xy - x * y / n) / np.sqrt(vx * vy)
    out: Floats = np.where(flat, np.nan, np.clip(r, -1.0, 1.0))
    return out


def weighted_ranks(x: Floats, weights: Floats) -> Floats:
    """Mid-ranks of every case on each resample, [m, n]."""
    order, starts, inverse = _groups(x)
    groups = np.add.reduceat(weights[:, order], starts, axis=1)
    middle = np.cumsum(groups, axis=1) - (groups - 1) / 2
    out: Floats = middle[:, inverse]
    return out


def weighted_spearman(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Spearman on each resample, ranks made anew: [m] out."""
    middle = (len(x) + 1) / 2
    a, b = weighted_ranks(x, weights) - middle, weighted_ranks(y, weights) - middle
    wa, wb = weights * a, weights * b
    total = weights.sum(axis=1)
    parts = (total, wa.sum(axis=1), wb.sum(axis=1), (wa * a).sum(axis=1), (wb * b).sum(axis=1), (wa * b).sum(axis=1))
    return _from_sums(np.stack(parts, axis=1))


def _groups(x: Floats) -> tuple[Ints, Ints, Ints]:
    """An order that sorts x, where each value starts in it, and each case's value number."""
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    order = np.argsort(inverse, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return order.astype(np.int64), starts.astype(np.int64), inverse.astype(np.int64)


def _tied(x: Floats, weights: Floats) -> Floats:
    """Pairs of equal x on each resample."""
    order, starts, _ = _groups(x)
    groups = np.add.reduceat(weights[:, order], starts, axis=1)
    out: Floats = (groups * (groups - 1)).sum(axis=1) / 2
    return out


def weighted_kendall(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Tau-b on each resample: weights [m, n], [m] out.

    C − D = all pairs − tied in x − tied in y + tied in both − 2·discordant (Knight 1966).
    """
    total = weights.sum(axis=1)
    pairs = total * (total - 1) / 2
    a, b = _groups(x)[2], _groups(y)[2]
    tied_x, tied_y = _tied(x, weights), _tied(y, weights)
    both = _tied((a * (int(b.max()) + 1) + b).astype(float), weights)
    score = pairs - tied_x - tied_y + both - 2 * _discordant(a, b, weights)
    left_x, left_y = pairs - tied_x, pairs - tied_y
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: Floats = np.where((left_x > 0) & (left_y > 0), score / np.sqrt(left_x * left_y), np.nan)
    return tau


def _discordant(a: Ints, b: Ints, weights: Floats) -> Floats:
    """Weighted pairs that x and y (given as value numbers) order in opposite ways.

    Sorted by x, a discordant pair is an inversion of y. Two values first differ at one bit: going down
    the bits, cases with equal higher bits stand together, and a 1 before a 0 there is an inversion.
    """
    order = np.lexsort((b, a))
    pairs = np.zeros(len(weights))
    for bit in reversed(range(int(b.max()).bit_length())):
        values = b[order]
        bit_set = (values >> bit) & 1 == 1
        drawn = weights[:, order]
        ones = np.cumsum(np.where(bit_set, drawn, 0.0), axis=1)
        start = np.maximum.accumulate(np.where(np.diff(values >> (bit + 1), prepend=-1) != 0, np.arange(len(b)), 0))
        before = np.where(start > 0, ones[:, start - 1], 0.0)
        pairs += np.where(bit_set, 0.0, drawn * (ones - before)).sum(axis=1)
        order = order[np.argsort(values >> bit, kind="stable")]
    return pairs


def _discordant_rows(a: Ints, rows: Ints) -> Floats:
    """The same for m different orders of y, [m, n], each case once."""
    top = int(rows.max())
    values = np.take_along_axis(rows, np.argsort(a * (top + 1) + rows, axis=1, kind="stable"), axis=1)
    if top < 2**15:
        values = values.astype(np.int16)  # short integers are sorted by radix, in linear time
    pairs = np.zeros(len(rows))
    for bit in reversed(range(top.bit_length())):
        bit_set = (values >> bit) & 1
        ones = np.cumsum(bit_set, axis=1, dtype=np.int64)
        fresh = np.diff(values >> (bit + 1), axis=1, prepend=-1) != 0
        before = np.maximum.accumulate(np.where(fresh, ones - bit_set, 0), axis=1)
        pairs += ((1 - bit_set) * (ones - before)).sum(axis=1)
        values = np.take_along_axis(values, np.argsort(values >> bit, axis=1, kind="stable"), axis=1)
    return pairs


WEIGHTED: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
    "pearson": weighted_pearson,
    "spearman": weighted_spearman,
    "kendall": weighted_kendall,
}


def bootstrap(
    x: Floats, y: Floats, clusters: Ints, count: int, resamples: int, seed: int, names: Sequence[str] = COEFFICIENTS
) -> dict[str, Floats]:
    """The coefficients on bootstrap resamples of whole clusters; NaN where a resample leaves one undefined.

    clusters: of each case, 0 … count − 1. Two calls with the same count and seed see the same draws.
    """
    blocks: dict[str, list[Floats]] = {name: [] for name in names}
    for weights in _draws(clusters, count, resamples, seed):
        for name, drawn in blocks.items():
            drawn.append(WEIGHTED[name](x, y, weights))
    return {name: np.concatenate(drawn) for name, drawn in blocks.items()}


def _draws(clusters: Ints, count: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Blocks of case weights, each resample drawing as many clusters as there are."""
    random = np.random.default_rng(seed)
    block = max(1, _BLOCK // max(count, len(clusters)))
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = random.integers(0, count, size=(rows, count)) + np.arange(rows)[:, None] * count
        weights = np.bincount(drawn.ravel(), minlength=rows * count).reshape(rows, count)
        yield weights[:, clusters].astype(np.float64)


def permutation_p(
    x: Floats, y: Floats, clusters: Ints, permutations: int, seed: int, names: Sequence[str] = COEFFICIENTS
) -> dict[str, float]:
    """Two-sided p of no association: (k + 1) / (permutations + 1), k of them reaching the observed value.

    Whole clusters of y change places, and cases inside a cluster too, so that what makes cases of one
    reference alike stays in both columns; where clusters differ in size their borders shift.
    """
    order = np.argsort(clusters, kind="stable")
    _, numbers = np.unique(clusters[order], return_inverse=True)
    a, b = x[order], y[order]
    known = {
        "pearson": lambda: _product(a, b),
        "spearman": lambda: _product(ranks(a), ranks(b)),
        "kendall": lambda: _kendall_score(a, b),
    }
    statistics = {name: known[name]() for name in names}
    unmoved = np.arange(len(a))[None]
    observed = {name: abs(float(statistic(unmoved)[0])) * (1 - 1e-9) for name, statistic in statistics.items()}
    reached = dict.fromkeys(names, 0)
    random = np.random.default_rng(seed)
    block, count = max(1, _BLOCK // len(a)), int(numbers.max()) + 1
    for start in range(0, permutations, block):
        rows = min(block, permutations - start)
        keys = random.permuted(np.tile(np.arange(count), (rows, 1)), axis=1)[:, numbers] + random.random((rows, len(a)))
        orders = np.argsort(keys, axis=1)
        for name, statistic in statistics.items():
            reached[name] += int((np.abs(statistic(orders)) >= observed[name]).sum())
    return {name: (count + 1) / (permutations + 1) for name, count in reached.items()}


def _product(a: Floats, b: Floats) -> Callable[[Ints], Floats]:
    """Σ of products about the means: all of Pearson that a permutation changes."""
    da, db = a - a.mean(), b - b.mean()
    return lambda order: db[order] @ da


def _kendall_score(a: Floats, b: Floats) -> Callable[[Ints], Floats]:
    """C − D up to what no permutation changes, plus what it does: pairs tied on both sides."""
    codes, values = _groups(a)[2], _groups(b)[2]
    once = np.ones((1, len(a)))
    pairs = len(a) * (len(a) - 1) / 2
    fixed = pairs - float(_tied(a, once)[0]) - float(_tied(b, once)[0])
    width = int(values.max()) + 1

    def score(order: Ints) -> Floats:
        rows = values[order]
        return fixed + _tied_rows(codes * width + rows) - 2 * _discordant_rows(codes, rows)

    return score


def _tied_rows(keys: Ints) -> Floats:
    """Pairs of equal keys in each row."""
    ordered = np.sort(keys, axis=1)
    run = np.cumsum(np.diff(ordered, axis=1, prepend=-1) != 0, axis=1) - 1
    size = keys.shape[1]
    run += np.arange(len(keys))[:, None] * size
    counts = np.bincount(run.ravel(), minlength=len(keys) * size).reshape(len(keys), size).astype(float)
    out: Floats = (counts * (counts - 1)).sum(axis=1) / 2
    return out
