"""Comparing systems on the same items: is the difference more than chance, and how large is it?

Tests are paired. The p-value is of approximate randomisation: under the null hypothesis the two
systems' scores on an item could as well be swapped, so the signs of the differences are flipped at
random, whole clusters at a time (Noreen 1989, ch. 2; Riezler and Maxwell 2005; exact where there are
few clusters). The interval is of the paired bootstrap (Koehn 2004), studentised. Where a metric's aggregate is not a
mean (BLEU, chrF) the corpus-level values are compared, from the cases' summed counts. p-values are corrected within a
family by Holm (1979): a metric's pairs of systems, unless other families are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from medassay.engine.score_table import ScoreTable
from medassay.errors import MedassayError, UnknownName, nearest
from medassay.study.aggregates import Series, aggregates, series_of
from medassay.study.paired_tests import (
    MOST_CORPUS_RESAMPLES,
    cliffs_delta,
    corpus_bootstrap,
    corpus_randomisation_p,
    holm,
    mean_bootstrap,
    randomisation_p,
)
from medassay.study.pairing import Pairing, pair_items
from medassay.study.resampling import Estimate, Floats, Ints

Families = Literal["metric", "all"] | Sequence[Sequence[str]]
"""What Holm's correction runs over: the pairs of each metric, of all metrics, or of the metrics of each group."""

_TIE = 1e-12
"""Differences up to this are rounding, not a win."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two systems on one metric, over the items that both have a score for.

    n: items compared; dropped: items one of the two has, left out because the other lacks them or
        because one of them is unscored.
    difference: value of the first minus value of the second, in the metric's units (for a lower-is-better metric
        a negative difference favours the first). None, like all that follows, where n is 0. The values are means, or
        corpus-level values for a metric in `Comparison.corpus`.
    low, high: its 95 % studentised paired bootstrap interval; None below three clusters, or where all differences
        are the same.
    p: two-sided p-value of paired approximate randomisation; `exact` where all flips were counted.
    p_holm: the same, corrected over the pairs of its family (`Comparison.families`).
    p_bootstrap: two-sided p-value of the same bootstrap, shifted to no difference; None where there is no interval.
    d_z: mean of the per-item differences over their standard deviation; None where they do not vary.
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

    headline: how many items the systems have in common, and what pairs them.
    pairs: metric by metric, systems in order of appearance.
    values: by metric and system, the aggregate over all of the system's scored rows, as `medassay score` prints it;
        NaN where there are none.
    by, item, cluster: the columns that told systems apart, paired the rows, and were resampled.
    corpus: metrics of which corpus-level values are compared.
    primary: the metric that the question was asked of beforehand, where one was named.
    families: metrics whose pairs are corrected together.
    notes: what a reader must know: what was left out, how it was corrected, what was assumed.
    """

    headline: str
    by: tuple[str, ...]
    item: str
    cluster: str
    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    higher_is_better: Mapping[str, bool]
    signatures: Mapping[str, str]
    pairs: tuple[Pair, ...]
    values: Mapping[str, Mapping[str, Estimate]]
    corpus: tuple[str, ...]
    primary: str | None
    families: tuple[tuple[str, ...], ...]
    items: int
    clusters: int
    resamples: int
    seed: int
    alpha: float
    notes: tuple[str, ...]

    @property
    def ranking_metric(self) -> str:
        """The metric that ranks the systems: the primary one, else the first."""
        return self.primary or self.metrics[0]

    def ranked(self, metric: str | None = None) -> list[str]:
        """The systems by their value on a metric (the ranking one), the best first; those without a value last."""
        values = self.values[metric or self.ranking_metric]
        sign = -1.0 if self.higher_is_better[metric or self.ranking_metric] else 1.0
        return sorted(self.systems, key=lambda name: (not values[name].known, sign * values[name].value))

    def beaten(self, metric: str, system: str) -> int:
        """How many systems are shown to be better than this one on a metric."""
        others = [p.better for p in self.pairs if p.metric == metric and system in (p.first, p.second)]
        return sum(better is not None and better != system for better in others)


def compare(
    scores: ScoreTable,
    by: str | Sequence[str] = "system",
    item: str | None = None,
    *,
    metrics: Sequence[str] | None = None,
    primary: str | None = None,
    families: Families = "metric",
    cluster: str = "reference",
    lower: Sequence[str] = (),
    resamples: int = 10_000,
    seed: int = 1,
    alpha: float = 0.05,
) -> Comparison:
    """Compare every two systems on every metric.

    Args:
        by: the column that tells systems apart, or several: each combination of their values is a system.
        item: the column that says which rows belong together; by default `id` where ids repeat across
            systems, else `reference_key`.
        metrics: columns to compare; by default the file's metrics.
        primary: the metric that the question is asked of; it ranks the systems, and comes first.
        families: what Holm's correction runs over (see `Families`); metrics in no group are families of their own.
        cluster: `reference` (items with the same references count as one draw), `none`, or a column.
        lower: metrics of which less is better, where the file does not say.
    """
    if resamples < 1:
        raise MedassayError(f"resamples must be 1 or more, not {resamples}")
    columns = (by,) if isinstance(by, str) else tuple(by)
    paired = pair_items(scores, columns, item, cluster, seed)
    chosen = tuple(metrics) if metrics else scores.scored_columns((*columns, item, cluster))
    if primary is not None:
        if not metrics and primary not in chosen and primary in scores.columns:
            chosen = (primary, *chosen)
        _check_known("primary", [primary], chosen)
        chosen = (primary, *(metric for metric in chosen if metric != primary))
    if not chosen:
        raise MedassayError(f"{scores.name}: no numeric column to compare; name the columns that are metrics")
    directions, assumed = _directions(scores, chosen, lower)
    grouped = _families(families, chosen)
    series = {metric: series_of(scores, metric) for metric in chosen}
    pairs = [pair for m in chosen for pair in _pairs(m, series[m], paired, directions[m], resamples, seed)]
    judged = _judged(pairs, directions, grouped, alpha)
    corpus = tuple(metric for metric in chosen if series[metric].corpus)
    per_case = [metric for metric in chosen if metric not in corpus and scores.corpus_level(metric)]
    return Comparison(
        headline=paired.headline,
        by=columns,
        item=paired.item,
        cluster=paired.cluster,
        systems=paired.systems,
        metrics=chosen,
        higher_is_better=directions,
        signatures={m: scores.signatures[m] for m in chosen if m in scores.signatures},
        pairs=judged,
        values=aggregates(series, paired, resamples, seed),
        corpus=corpus,
        primary=primary,
        families=grouped,
        items=paired.items,
        clusters=paired.cluster_count,
        resamples=resamples,
        seed=seed,
        alpha=alpha,
        notes=(
            *paired.notes,
            *_correction(grouped, primary, len(paired.systems)),
            *_notes(judged, assumed, corpus, per_case, resamples, seed),
            *_too_few(judged, grouped, resamples, alpha),
        ),
    )


def _check_known(what: str, names: Sequence[str], metrics: Sequence[str]) -> None:
    for name in names:
        if name not in metrics:
            raise UnknownName(
                f"{what}: '{name}' is not among the metrics compared{nearest(name, metrics)} ({', '.join(metrics)})"
            )


def _directions(scores: ScoreTable, metrics: Sequence[str], lower: Sequence[str]) -> tuple[dict[str, bool], list[str]]:
    """Whether higher is better for each metric, and those where that is an assumption."""
    known = {metric: False if metric in lower else scores.direction(metric) for metric in metrics}
    assumed = [metric for metric, way in known.items() if way is None]
    return {metric: way is not False for metric, way in known.items()}, assumed


def _families(asked: Families, metrics: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The metrics of each family, in the order of the metrics."""
    if asked == "all":
        return (tuple(metrics),)
    groups = [] if isinstance(asked, str) else [tuple(group) for group in asked]
    named = [metric for group in groups for metric in group]
    _check_known("family", named, metrics)
    if len(set(named)) < len(named):
        twice = next(metric for metric in named if named.count(metric) > 1)
        raise MedassayError(f"family: '{twice}' is in two families; a metric belongs to one")
    return (*groups, *((metric,) for metric in metrics if metric not in named))


def _pairs(metric: str, series: Series, paired: Pairing, higher: bool, resamples: int, seed: int) -> list[Pair]:
    """All pairs of one metric: effects item by item, then both tests on the clusters' sums."""
    pairs: list[Pair] = []
    matrix = paired.matrix(series.values)
    count = paired.cluster_count
    combos = list(combinations(range(len(paired.systems)), 2))
    shared = [~np.isnan(matrix[:, a]) & ~np.isnan(matrix[:, b]) for a, b in combos]
    sums = np.zeros((count, len(combos)))
    counts = np.zeros((count, len(combos)))
    for k, ((a, b), both) in enumerate(zip(combos, shared)):
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
    if series.corpus:
        cube = np.stack([paired.matrix(column) for column in series.statistics.T], axis=2)
        return [
            _corpus_pair(pair, series, cube[both][:, [a, b]], paired.clusters[both], resamples, seed)
            for pair, (a, b), both in zip(pairs, combos, shared)
        ]
    randomised = randomisation_p(sums, resamples, seed)
    resampled = mean_bootstrap(sums, counts, resamples, seed)
    out = []
    for k, (pair, (p, exact)) in enumerate(zip(pairs, randomised)):
        if pair.n:
            low, high = resampled[k].interval()
            pair = replace(pair, p=p, exact=exact, low=low, high=high, p_bootstrap=resampled[k].p())
        out.append(pair)
    return out


def _corpus_pair(pair: Pair, series: Series, cube: Floats, clusters: Ints, resamples: int, seed: int) -> Pair:
    """A pair with the tests of its corpus-level values; cube: statistics [items, the two systems, k]."""
    if not pair.n:
        return pair
    _, index = np.unique(clusters, return_inverse=True)
    ones = np.ones((len(cube), 1))
    first, second = (series.cluster_sums(np.concatenate([cube[:, side], ones], axis=1), index) for side in (0, 1))
    values = [float(series.combine(side.sum(axis=0))) for side in (first, second)]
    p, exact = corpus_randomisation_p(first, second, series.combine, resamples, seed)
    drawn = corpus_bootstrap(first, second, series.combine, resamples, seed)
    low, high = drawn.interval()
    return replace(
        pair,
        mean_first=values[0],
        mean_second=values[1],
        difference=values[0] - values[1],
        p=p,
        exact=exact,
        low=low,
        high=high,
        p_bootstrap=drawn.p(),
    )


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


def _judged(
    pairs: Sequence[Pair], higher: Mapping[str, bool], families: Sequence[Sequence[str]], alpha: float
) -> tuple[Pair, ...]:
    """The pairs with p-values corrected within their family and, where these are small, the better system."""
    corrected: dict[int, float] = {}
    for family in families:
        tested = [i for i, pair in enumerate(pairs) if pair.metric in family and pair.p is not None]
        corrected |= zip(tested, holm([pairs[i].p or 0.0 for i in tested]))
    out = []
    for i, pair in enumerate(pairs):
        if i in corrected and pair.difference is not None:
            favours_first = (pair.difference > 0) == higher[pair.metric]
            winner = (pair.first if favours_first else pair.second) if corrected[i] < alpha else None
            pair = replace(pair, p_holm=corrected[i], better=winner)
        out.append(pair)
    return tuple(out)


def _correction(families: Sequence[Sequence[str]], primary: str | None, systems: int) -> list[str]:
    """What the p-values are corrected for, and what they are not."""
    pairs = systems * (systems - 1) // 2
    if all(len(family) == 1 for family in families):
        over = (
            f"within each metric, over its {pairs:,} pairs of systems" if pairs > 1 else "within each metric: one pair"
        )
    else:
        named = "; ".join(" + ".join(family) for family in families)
        over = f"within each family of metrics, over their pairs of systems: {named}"
    notes = [f"p Holm: corrected {over}."]
    if len(families) > 1 and primary is None:
        notes.append(
            f"Nothing is corrected across the {len(families)} families: name the metric that decides before you look "
            "(primary), or correct over all (family)."
        )
    elif len(families) > 1:
        notes.append(f"The primary metric is {primary}; findings on the others are secondary.")
    return notes


def _notes(
    pairs: Sequence[Pair],
    assumed: Sequence[str],
    corpus: Sequence[str],
    per_case: Sequence[str],
    resamples: int,
    seed: int,
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
        notes.append(
            f"Corpus-level values are compared, from the counts of all cases: {', '.join(corpus)} (at most "
            f"{MOST_CORPUS_RESAMPLES:,} resamples); their d_z, Cliff's delta and shares are of the per-case values."
        )
    if per_case:
        notes.append(
            f"Means of per-case scores are compared, not the corpus-level value: {', '.join(per_case)} (no column of "
            "statistics; score the cases again to have it)."
        )
    if assumed:
        notes.append(f"Direction not known, higher taken as better: {', '.join(assumed)}.")
    return notes


def _too_few(pairs: Sequence[Pair], families: Sequence[Sequence[str]], resamples: int, alpha: float) -> list[str]:
    """Whether the largest family has so many tests that no p-value of so few flips can be small enough."""
    tests = max((sum(p.metric in family and p.p is not None for p in pairs) for family in families), default=0)
    if tests / (resamples + 1) < alpha:
        return []
    what = "One test" if tests == 1 else f"{tests:,} tests"
    return [f"{what} with {resamples:,} flips cannot reach p < {alpha:g}; raise the resamples."]
