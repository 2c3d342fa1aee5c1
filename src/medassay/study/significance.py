"""Comparing systems on the same items: is the difference more than chance, and how large is it?

Tests are paired. The p-value is of approximate randomisation: under the null hypothesis the two
systems' scores on an item could as well be swapped, so the signs of the differences are flipped at
random, whole clusters at a time (Noreen 1989, ch. 2; Riezler and Maxwell 2005; exact where there are
few clusters). The interval is of the paired bootstrap (Koehn 2004), studentised. p-values are corrected over all
pairs and metrics by Holm (1979).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from medassay.engine.score_table import ScoreTable
from medassay.errors import MedassayError
from medassay.study.pairing import Pairing, pair_items
from medassay.study.resampling import Floats, all_sign_flips, sign_flip_sums
from medassay.study.studentised import Studentised, bootstrap_t, quotient

_TIE = 1e-12
"""Differences up to this are rounding, not a win."""

_FEW_CLUSTERS = 50
"""A pair with fewer clusters is resampled on its own clusters, so that no resample comes up empty."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two systems on one metric, over the items that both have a score for.

    n: items compared; dropped: items one of the two has, left out because the other lacks them or
        because one of them is unscored.
    difference: mean of first minus mean of second, in the metric's units (for a lower-is-better metric
        a negative difference favours the first). None, like all that follows, where n is 0.
    low, high: its 95 % studentised paired bootstrap interval; None below three clusters, or where all differences
        are the same.
    p: two-sided p-value of paired approximate randomisation; `exact` where all flips were counted.
    p_holm: the same, corrected over all pairs and metrics of the comparison.
    p_bootstrap: two-sided p-value of the same bootstrap, shifted to no difference; None where there is no interval.
    d_z: mean of the differences over their standard deviation; None where they do not vary.
    cliff: Cliff's delta, P(first > second) − P(first < second) over all pairs of items; −1 … 1.
    wins, ties, losses: shares of items where the first is better, equal, worse (direction respected).
    better: the system that is better with p_holm below alpha; None where no difference is shown.
    """

    metric: str
    first: str
    second: str
    n: int
    dropped: int
    clusters: int
    mean_first: float | None = None
    mean_second: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    exact: bool = False
    p_holm: float | None = None
    p_bootstrap: float | None = None
    d_z: float | None = None
    cliff: float | None = None
    wins: float = 0.0
    ties: float = 0.0
    losses: float = 0.0
    better: str | None = None


@dataclass(frozen=True)
class Comparison:
    """All pairs of systems on all metrics.

    pairs: metric by metric, systems in order of appearance.
    means: by metric and system, over all of the system's scored items; NaN where there are none.
    by, item, cluster: the columns that told systems apart, paired the rows, and were resampled.
    notes: what a reader must know: how items were paired, what was left out, what was assumed.
    """

    by: str
    item: str
    cluster: str
    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    higher_is_better: Mapping[str, bool]
    signatures: Mapping[str, str]
    pairs: tuple[Pair, ...]
    means: Mapping[str, Mapping[str, float]]
    items: int
    clusters: int
    resamples: int
    seed: int
    alpha: float
    notes: tuple[str, ...]


def compare(
    scores: ScoreTable,
    by: str = "system",
    item: str | None = None,
    *,
    metrics: Sequence[str] | None = None,
    cluster: str = "reference",
    lower: Sequence[str] = (),
    resamples: int = 10_000,
    seed: int = 1,
    alpha: float = 0.05,
) -> Comparison:
    """Compare every two systems on every metric.

    item: the column that says which rows belong together; by default `id` where ids repeat across
        systems, else `reference_key`.
    metrics: columns to compare; by default the file's metrics.
    cluster: `reference` (items with the same references count as one draw), `none`, or a column.
    lower: metrics of which less is better, where the file does not say.
    """
    if resamples < 1:
        raise MedassayError(f"resamples must be 1 or more, not {resamples}")
    paired = pair_items(scores, by, item, cluster, seed)
    chosen = tuple(metrics) if metrics else scores.scored_columns((by, item, cluster))
    if not chosen:
        raise MedassayError(f"{scores.name}: no numeric column to compare; name the columns that are metrics")
    directions, assumed = _directions(scores, chosen, lower)
    pairs: list[Pair] = []
    means: dict[str, dict[str, float]] = {}
    for metric in chosen:
        matrix = paired.matrix(scores.numbers(metric))
        means[metric] = {name: _mean(matrix[:, s]) for s, name in enumerate(paired.systems)}
        pairs += _pairs(metric, matrix, paired, directions[metric], resamples, seed)
    judged = _judged(pairs, directions, alpha)
    corpus = [metric for metric in chosen if scores.corpus_level(metric)]
    return Comparison(
        by=by,
        item=paired.item,
        cluster=paired.cluster,
        systems=paired.systems,
        metrics=chosen,
        higher_is_better=directions,
        signatures={m: scores.signatures[m] for m in chosen if m in scores.signatures},
        pairs=judged,
        means=means,
        items=paired.items,
        clusters=paired.cluster_count,
        resamples=resamples,
        seed=seed,
        alpha=alpha,
        notes=(*paired.notes, *_notes(judged, assumed, corpus, resamples, seed, alpha)),
    )


def _directions(scores: ScoreTable, metrics: Sequence[str], lower: Sequence[str]) -> tuple[dict[str, bool], list[str]]:
    """Whether higher is better for each metric, and those where that is an assumption."""
    known = {metric: False if metric in lower else scores.direction(metric) for metric in metrics}
    assumed = [metric for metric, way in known.items() if way is None]
    return {metric: way is not False for metric, way in known.items()}, assumed


def _mean(values: Floats) -> float:
    scored = values[~np.isnan(values)]
    return float(scored.mean()) if len(scored) else float("nan")


def _pairs(metric: str, matrix: Floats, paired: Pairing, higher: bool, resamples: int, seed: int) -> list[Pair]:
    """All pairs of one metric: effects item by item, then both tests on the clusters' sums."""
    pairs: list[Pair] = []
    count = paired.cluster_count
    combos = list(combinations(range(len(paired.systems)), 2))
    sums = np.zeros((count, len(combos)))
    counts = np.zeros((count, len(combos)))
    for k, (a, b) in enumerate(combos):
        both = ~np.isnan(matrix[:, a]) & ~np.isnan(matrix[:, b])
        either = int((paired.present[:, a] | paired.present[:, b]).sum())
        first, second = matrix[both, a], matrix[both, b]
        sums[:, k] = np.bincount(paired.clusters[both], first - second, count)
        counts[:, k] = np.bincount(paired.clusters[both], minlength=count)
        base = Pair(
            metric=metric,
            first=paired.systems[a],
            second=paired.systems[b],
            n=len(first),
            dropped=either - len(first),
            clusters=int((counts[:, k] > 0).sum()),
        )
        pairs.append(_effects(base, first, second, higher) if len(first) else base)
    randomised = randomisation_p(sums, resamples, seed)
    resampled = _bootstrap(sums, counts, resamples, seed)
    out = []
    for k, (pair, (p, exact)) in enumerate(zip(pairs, randomised)):
        if pair.n:
            low, high = resampled[k].interval()
            pair = replace(pair, p=p, exact=exact, low=low, high=high, p_bootstrap=resampled[k].p())
        out.append(pair)
    return out


def _effects(pair: Pair, first: Floats, second: Floats, higher: bool) -> Pair:
    """The sizes of the difference, from the scores of the items both have."""
    difference = first - second
    gain = difference if higher else -difference
    sd = float(difference.std(ddof=1)) if len(first) > 1 else 0.0
    return replace(
        pair,
        mean_first=float(first.mean()),
        mean_second=float(second.mean()),
        difference=float(difference.mean()),
        d_z=float(difference.mean()) / sd if sd > _TIE else None,
        cliff=cliffs_delta(first, second),
        wins=float((gain > _TIE).mean()),
        ties=float((np.abs(gain) <= _TIE).mean()),
        losses=float((gain < -_TIE).mean()),
    )


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


def randomisation_p(sums: Floats, flips: int, seed: int) -> list[tuple[float, bool]]:
    """Two-sided p of sign flips for each column of cluster sums, and whether it is exact.

    Exact where all patterns of signs number no more than `flips`; else (k + 1) / (flips + 1), where k
    random patterns gave a sum at least as far from 0 as the one observed. Clusters that sum to 0 do
    not change under a flip and need no pattern.
    """
    observed = np.abs(sums.sum(axis=0))
    slack = 1e-12 * np.abs(sums).sum(axis=0)
    alive = (sums != 0).sum(axis=0)
    exact = alive <= min(np.log2(flips), 20)
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


def _bootstrap(sums: Floats, counts: Floats, resamples: int, seed: int) -> dict[int, Studentised]:
    """The mean difference of each column of cluster sums, on bootstrap resamples."""
    out: dict[int, Studentised] = {}
    sizes = (counts > 0).sum(axis=0)
    shared = np.flatnonzero(sizes >= _FEW_CLUSTERS).tolist()
    blocks = ((np.stack([sums[:, k], counts[:, k]], axis=1), quotient) for k in shared)
    out |= zip(shared, bootstrap_t(blocks, resamples, seed))
    for k in np.flatnonzero(sizes < _FEW_CLUSTERS).tolist():
        mine = counts[:, k] > 0
        block = np.stack([sums[mine, k], counts[mine, k]], axis=1)
        if len(block):
            (out[k],) = bootstrap_t([(block, quotient)], resamples, seed)
    return out


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


def _judged(pairs: Sequence[Pair], higher: Mapping[str, bool], alpha: float) -> tuple[Pair, ...]:
    """The pairs with corrected p-values and, where these are small, the better system."""
    tested = [pair for pair in pairs if pair.p is not None]
    corrected = iter(holm([pair.p for pair in tested if pair.p is not None]))
    out = []
    for pair in pairs:
        if pair.p is not None and pair.difference is not None:
            p = next(corrected)
            favours_first = (pair.difference > 0) == higher[pair.metric]
            winner = (pair.first if favours_first else pair.second) if p < alpha else None
            pair = replace(pair, p_holm=p, better=winner)
        out.append(pair)
    return tuple(out)


def _notes(
    pairs: Sequence[Pair],
    assumed: Sequence[str],
    corpus: Sequence[str],
    resamples: int,
    seed: int,
    alpha: float,
) -> list[str]:
    notes = [
        f"p: paired approximate randomisation, {resamples:,} sign flips (all of them where there are fewer); "
        f"interval: studentised paired bootstrap, {resamples:,} resamples; seed {seed}."
    ]
    dropped = max((pair.dropped for pair in pairs), default=0)
    if dropped:
        notes.append(f"Up to {dropped:,} items of a pair are left out: missing or unscored in one of the two.")
    if any(pair.n == 0 for pair in pairs):
        notes.append("A pair without an item that both have scored is not tested.")
    if corpus:
        notes.append(f"Means of per-case scores are compared, not the corpus-level value: {', '.join(corpus)}.")
    if assumed:
        notes.append(f"Direction not known, higher taken as better: {', '.join(assumed)}.")
    tests = sum(pair.p is not None for pair in pairs)
    if tests / (resamples + 1) >= alpha:
        notes.append(f"{tests:,} tests with {resamples:,} flips cannot reach p < {alpha:g}; raise the resamples.")
    return notes
