"""Do the metrics agree with people? Correlations of score columns with human columns.

Three levels: over all cases (`item level`), inside each item (the systems' candidates for one
reference, averaged over items), and between systems (their means). Signs are as measured; `expected` says
which sign agreement has, from the direction of the metric and of the human column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from medassay.engine.score_table import ScoreTable
from medassay.errors import MedassayError, UnknownName, nearest
from medassay.study.analytic import analytic_p
from medassay.study.correlation import pearson
from medassay.study.fitted import fitted_notes
from medassay.study.levels import (
    Line,
    between_systems,
    item_level,
    least_squares,
    line_rmse,
    scale_ends,
    within_items,
)
from medassay.study.preference import Pairwise, item_pairs, pairwise_accuracy
from medassay.study.resampling import Estimate, Floats, Ints, interval, merged, own_clusters
from medassay.study.rivals import Rival, rivals

FEWEST_CASES = 5
"""Cases below which no correlation is given."""

_NONE = Estimate(float("nan"))
Ends = tuple[float, float]
Scale = Ends | Mapping[str, Ends] | None
"""The ends of the human scale: of all columns, of each, or as found."""

_Drawn = tuple[Ints, Floats]
"""Which cases were drawn from, and a coefficient on each resample."""

_LESS_IS_BETTER = ("hallucinat", "omission", "omitted", "error", "incorrect", "edit", "distance", "missing", "wrong")


@dataclass(frozen=True)
class Agreement:
    """One metric against one human column.

    reason: why it is not assessed; everything below is then empty.
    expected: +1 where both have the same direction, −1 where a good score means a low human number.
    n, missing: cases with both numbers, and cases with only one or none.
    item: by coefficient, over all cases. analytic: by coefficient, the p-value of its usual formula, which takes all
        cases as independent. r2, rmse: Pearson squared, and the root mean squared error of the
        human score (scaled to 0–1) about its least-squares line on the metric, as HARE reports them.
    within: mean over items of the correlation inside the item; items, idle: how many have one, and how many
        have not (a single case, or no variation).
    system: correlation of the systems' means; systems: how many there are.
    pairwise: how often the metric orders two cases of an item as people do, ties counted; None without such pairs.
    """

    metric: str
    human: str
    expected: int
    n: int
    missing: int
    clusters: int
    reason: str | None = None
    item: Mapping[str, Estimate] = field(default_factory=dict)
    analytic: Mapping[str, float] = field(default_factory=dict)
    r2: float | None = None
    rmse: float | None = None
    within: Mapping[str, Estimate] = field(default_factory=dict)
    items: int = 0
    idle: int = 0
    system: Mapping[str, Estimate] = field(default_factory=dict)
    systems: int = 0
    pairwise: Pairwise | None = None

    def strength(self, name: str) -> float:
        """A coefficient over all cases, turned so that 1 is perfect agreement; −2 where there is none."""
        estimate = self.item.get(name, _NONE)
        return estimate.value * self.expected if estimate.known else -2.0


@dataclass(frozen=True)
class Validation:
    """A whole study.

    metrics, humans: the columns, in order; higher: whether higher is better, by column.
    agreements: metric by metric for each human column; rivals: every two metrics against it.
    aggregates: by metric ¼(2 r_F1 − r_H − r_O), −1…1, higher is better (Pearson, item level; Ben Abacha et al. 2023,
        section 6), where the columns `aggregate_of` are there.
    columns: the numbers of the cases that count, for scatter plots; systems_of: each case's system, or −1;
        clusters: what was resampled together.
    notes: what a reader must know: exclusions, directions taken, how resampling went.
    """

    metrics: tuple[str, ...]
    humans: tuple[str, ...]
    higher: Mapping[str, bool]
    agreements: tuple[Agreement, ...]
    aggregates: Mapping[str, Estimate]
    aggregate_of: tuple[str, ...]
    rivals: tuple[Rival, ...]
    coefficient: str
    signatures: Mapping[str, str]
    columns: Mapping[str, Floats]
    systems_of: Ints
    clusters: Ints
    system_names: tuple[str, ...]
    above: float | None
    notes: tuple[str, ...]

    def of(self, metric: str, human: str) -> Agreement:
        """One cell of the study."""
        return next(a for a in self.agreements if (a.metric, a.human) == (metric, human))

    def ranked(self, human: str) -> list[Agreement]:
        """All metrics against one human column, the best agreement first."""
        return sorted(
            (self.of(m, human) for m in self.metrics), key=lambda agreement: -agreement.strength(self.coefficient)
        )

    def beaten(self, metric: str, human: str) -> list[str]:
        """The metrics that this one is shown to agree better than."""
        won = (r for r in self.rivals if r.human == human and r.better == metric)
        return [r.second if r.first == metric else r.first for r in won]

    def line(self, metric: str, human: str, points: int = 25, resamples: int = 200) -> Line:
        """The least-squares line of a metric on a human column, with its 95 % bootstrap bounds over clusters."""
        return least_squares(self.columns[human], self.columns[metric], self.clusters, points, resamples)


def validate(
    scores: ScoreTable,
    humans: Sequence[str],
    *,
    metrics: Sequence[str] | None = None,
    above: float | None = None,
    lower: Sequence[str] = (),
    higher: Sequence[str] = (),
    scale: Scale = None,
    item: str | None = None,
    by: str = "system",
    cluster: str = "reference",
    aggregate: Sequence[str] | None = None,
    coefficient: str = "pearson",
    resamples: int = 1000,
    seed: int = 1,
) -> Validation:
    """Correlate every metric with every human column.

    above: only cases whose human score is greater count (HARE leaves out the zeros); None keeps all.
    lower, higher: columns, human or metric, of which less or more is better, where that is not known.
    scale: the ends of the human scale, for RMSE: two numbers, or two per column; by default 0 and 1 where all values
        lie between, else the least and the largest value found, excluded cases included.
    item: the column whose rows belong together, for the view inside items; by default `id` where ids repeat,
        else `reference_key`. by: the column of systems. cluster: what is resampled together.
    aggregate: the columns of factual F1, hallucination and omission; found by name where None.
    coefficient: `pearson` or `spearman`, for the tests between metrics and the heat map.
    """
    if resamples < 1:
        raise MedassayError(f"resamples must be 1 or more, not {resamples}")
    if coefficient not in ("pearson", "spearman"):
        raise UnknownName(f"coefficient '{coefficient}': use pearson or spearman")
    if isinstance(scale, Mapping) and (unknown := [name for name in scale if name not in humans]):
        raise UnknownName(f"scale of '{unknown[0]}': not a human column{nearest(unknown[0], list(humans))}")
    if not humans:
        raise MedassayError("no human column named; say which columns people filled in")
    study = _Study(scores, tuple(dict.fromkeys(humans)), metrics, lower, higher, item, by, cluster, seed)
    agreements: list[Agreement] = []
    drawn_by_cell: dict[tuple[str, str], _Drawn | None] = {}
    for human in study.humans:
        judged = study.judged(human, above)
        for metric in study.metrics:
            agreement, drawn = _agreement(study, metric, human, judged, _ends(scale, human), resamples, seed)
            agreements.append(agreement)
            drawn_by_cell[metric, human] = drawn
    aggregate_columns = _aggregate_columns(study.humans, aggregate)
    tested_rivals = [r for human in study.humans for r in _rivals_of(study, human, above, coefficient, seed)]
    return Validation(
        metrics=study.metrics,
        humans=study.humans,
        higher=study.better,
        agreements=tuple(agreements),
        aggregates=_aggregates(study, agreements, drawn_by_cell, aggregate_columns),
        aggregate_of=aggregate_columns,
        rivals=tuple(tested_rivals),
        coefficient=coefficient,
        signatures={m: scores.signatures[m] for m in study.metrics if m in scores.signatures},
        columns={**{h: study.judged(h, above) for h in study.humans}, **{m: study.column(m) for m in study.metrics}},
        systems_of=study.system_of,
        clusters=study.clusters,
        system_names=study.system_names,
        above=above,
        notes=tuple(_notes(study, agreements, above, scale, resamples, seed)),
    )


def _ends(scale: Scale, human: str) -> Ends | None:
    """The ends of one column's scale; None where they are to be found."""
    return scale.get(human) if isinstance(scale, Mapping) else scale


class _Study:
    """The columns of one study, found and checked."""

    def __init__(
        self,
        scores: ScoreTable,
        humans: tuple[str, ...],
        metrics: Sequence[str] | None,
        lower: Sequence[str],
        higher: Sequence[str],
        item: str | None,
        by: str,
        cluster: str,
        seed: int,
    ) -> None:
        self.scores = scores
        self.humans = humans
        for human in humans:
            scores.numbers(human)
        self.metrics = tuple(metrics) if metrics else scores.scored_columns({*humans, by, item})
        if not self.metrics:
            raise MedassayError(f"{scores.name}: no metric to validate; name the columns that are metrics")
        for name in (*lower, *higher):
            if name not in (known := (*self.metrics, *humans)):
                raise UnknownName(f"direction of '{name}': neither a metric nor a human column{nearest(name, known)}")
        self.assumed: list[str] = []
        self.better = {name: self._higher(name, lower, higher) for name in (*self.metrics, *humans)}
        self.item_name, self.items = self._items(item)
        self.by = by
        labels = scores.labels(by) if by in scores.columns else None
        self.system_of: Ints = labels.codes if labels else np.full(len(scores), -1)
        self.system_names = labels.names if labels else ()
        self.cluster_name, raw = self._clusters(cluster)
        self.clusters = merged(raw, seed)
        self.cluster_count = int(self.clusters.max()) + 1
        self._columns: dict[str, Floats] = {}

    def _higher(self, name: str, lower: Sequence[str], higher: Sequence[str]) -> bool:
        if name in lower or name in higher:
            return name in higher
        known = self.scores.direction(name) if name in self.metrics else None
        if known is not None:
            return known
        self.assumed.append(name)
        return name in self.metrics or not any(word in name.lower() for word in _LESS_IS_BETTER)

    def column(self, name: str) -> Floats:
        """A column as numbers, read once."""
        if name not in self._columns:
            self._columns[name] = self.scores.numbers(name)
        return self._columns[name]

    def judged(self, human: str, above: float | None) -> Floats:
        """The human column, NaN where a case is left out."""
        values = self.column(human)
        return values if above is None else np.where(values > above, values, np.nan)

    def _items(self, item: str | None) -> tuple[str | None, Ints]:
        for name in [item] if item else ["id", "reference_key"]:
            if item or name in self.scores.columns:
                labels = self.scores.labels(name)
                if item or len(labels.names) < int((labels.codes >= 0).sum()):
                    return name, labels.codes
        return None, np.full(len(self.scores), -1)

    def _clusters(self, cluster: str) -> tuple[str, Ints]:
        name = cluster
        if cluster == "reference":
            name = "reference_key" if "reference_key" in self.scores.columns else self.item_name or "none"
        if name == "none":
            return "case", np.arange(len(self.scores), dtype=np.int64)
        numbers = own_clusters(self.scores.labels(name).codes)
        return "same reference" if name == "reference_key" else f"column '{name}'", numbers


def _agreement(
    study: _Study,
    metric: str,
    human: str,
    judged: Floats,
    scale: Ends | None,
    resamples: int,
    seed: int,
) -> tuple[Agreement, _Drawn | None]:
    """One cell, and Pearson on the bootstrap resamples (for the aggregate)."""
    values = study.column(metric)
    rows = np.flatnonzero(np.isfinite(values) & np.isfinite(judged))
    counted = int(np.isfinite(judged).sum())
    x, y, clusters = values[rows], judged[rows], study.clusters[rows]
    base = Agreement(
        metric=metric,
        human=human,
        expected=1 if study.better[metric] == study.better[human] else -1,
        n=len(rows),
        missing=counted - len(rows),
        clusters=len(np.unique(clusters)),
        reason=_not_assessed(metric, human, x, y),
    )
    if base.reason:
        return base, None
    overall, pearson_boot = item_level(x, y, clusters, base.clusters, study.cluster_count, resamples, seed)
    r = overall["pearson"].value
    within, items, idle = within_items(x, y, study.items[rows], study.clusters[rows], resamples, seed)
    system, systems = between_systems(x, y, study.system_of[rows], clusters, resamples, seed)
    difference, preferred, pair_clusters = item_pairs(base.expected * x, y, study.items[rows], clusters)
    agreement = Agreement(
        **{name: getattr(base, name) for name in ("metric", "human", "expected", "n", "missing", "clusters")},
        item=overall,
        analytic=analytic_p(x, y),
        r2=r * r,
        rmse=line_rmse(y, r, scale_ends(study.column(human), scale)),
        within=within,
        items=items,
        idle=idle,
        system=system,
        systems=systems,
        pairwise=pairwise_accuracy(difference, preferred, pair_clusters, resamples=resamples, seed=seed),
    )
    return agreement, (rows, pearson_boot)


def _not_assessed(metric: str, human: str, x: Floats, y: Floats) -> str | None:
    if len(x) < FEWEST_CASES:
        return f"{len(x)} cases have both; {FEWEST_CASES} are the fewest"
    for name, column in ((metric, x), (human, y)):
        if np.isnan(pearson(column, np.arange(len(column)))) or float(np.ptp(column)) == 0.0:
            return f"'{name}' is the same on every case"
    return None


def _aggregate_columns(humans: Sequence[str], aggregate: Sequence[str] | None) -> tuple[str, ...]:
    """The columns of factual F1, hallucination and omission: those named, or those whose names say so."""
    if aggregate:
        missing = [name for name in aggregate if name not in humans]
        if len(aggregate) != 3 or missing:
            raise UnknownName(
                f"the aggregate needs three of the human columns (F1, hallucination, omission), found "
                f"'{','.join(aggregate)}'{nearest(missing[0], humans) if missing else ''}"
            )
        return tuple(aggregate)
    columns = [next((h for h in humans if word in h.lower()), None) for word in ("f1", "halluc", "omi")]
    return tuple(h for h in columns if h is not None) if all(columns) else ()


def _aggregates(
    study: _Study,
    agreements: Sequence[Agreement],
    drawn_by_cell: Mapping[tuple[str, str], _Drawn | None],
    aggregate_columns: tuple[str, ...],
) -> dict[str, Estimate]:
    estimates: dict[str, Estimate] = {}
    cells = {(a.metric, a.human): a for a in agreements}
    for metric in study.metrics if aggregate_columns else ():
        parts = [cells[metric, human] for human in aggregate_columns]
        if any(part.reason for part in parts):
            continue
        sign = 1.0 if study.better[metric] else -1.0
        weights = sign * np.array([0.5, -0.25, -0.25])
        drawn = [resampled for human in aggregate_columns if (resampled := drawn_by_cell[metric, human]) is not None]
        low, high = None, None
        # Only on the same cases are the three resampled together.
        if len(drawn) == 3 and all(np.array_equal(rows, drawn[0][0]) for rows, _ in drawn):
            low, high = interval(weights @ np.stack([resampled for _, resampled in drawn]))
        value = float(weights @ np.array([part.item["pearson"].value for part in parts]))
        estimates[metric] = Estimate(value, low, high)
    return estimates


def _rivals_of(study: _Study, human: str, above: float | None, coefficient: str, seed: int) -> list[Rival]:
    turned = study.judged(human, above) * (1.0 if study.better[human] else -1.0)
    columns = {m: study.column(m) * (1.0 if study.better[m] else -1.0) for m in study.metrics}
    return rivals(human, turned, columns, study.clusters, rank=coefficient == "spearman", seed=seed)


def _notes(
    study: _Study,
    agreements: Sequence[Agreement],
    above: float | None,
    scale: Scale,
    resamples: int,
    seed: int,
) -> list[str]:
    notes, zeros = fitted_notes(study.scores, study.metrics), []
    for human in study.humans:
        column = study.column(human)
        judged = int(np.isfinite(column).sum())
        if above is not None:
            notes.append(f"{human}: only scores above {above:g} count, {int((column > above).sum()):,} of {judged:,}.")
        elif (column == 0).any():
            zeros.append(f"{human} {int((column == 0).sum()):,} of {judged:,}")
        low, high = scale_ends(column, _ends(scale, human)) if judged else (0.0, 1.0)
        if (low, high) != (0.0, 1.0):
            notes.append(f"{human}: scaled from {low:g}…{high:g} to 0–1 for RMSE (`scale` names other ends).")
    if zeros:
        notes.append(f"Human scores of 0 count (`above` 0 leaves them out): {', '.join(zeros)}.")
    less = [name for name in (*study.metrics, *study.humans) if not study.better[name]]
    if less:
        notes.append(f"Lower is better: {', '.join(less)}; a good metric's correlation then changes its sign.")
    if study.assumed:
        notes.append(f"Direction taken from the name, or as higher is better: {', '.join(study.assumed)}.")
    missing = max((a.missing for a in agreements), default=0)
    if missing:
        notes.append(f"Up to {missing:,} judged cases are unscored by a metric and left out there.")
    notes.append(
        f"Intervals: {resamples:,} bootstrap resamples by {study.cluster_name} ({study.cluster_count:,} clusters); "
        f"p: {resamples:,} permutations of the same clusters; seed {seed}. Analytic p (t test, for Kendall the normal "
        "approximation) takes all cases as independent."
    )
    if study.item_name is None:
        notes.append("No column repeats, so nothing says which cases are one item: no view inside items.")
    return notes
