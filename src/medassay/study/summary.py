"""Summaries of a run: the aggregate of each metric, its spread, and a bootstrap interval.

A `Tally` takes in cases and scores one at a time and keeps only what summaries need, so that a run of
any length stays small: the values (for median and spread), and the metrics' statistics summed by
group and cluster (for the aggregate and its interval). Nothing is ever rescored.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from medassay.cases import Case
from medassay.columns import FIELDS
from medassay.errors import InputError, MedassayError, UnknownName, nearest
from medassay.metrics.base import Metric
from medassay.scores import Score
from medassay.study.resampling import MOST_CLUSTERS, Floats, Interval
from medassay.study.studentised import FEW_CLUSTERS, Bounds, Combine, Studentised, bootstrap_t

MOST_GROUPS = 1_000
"""Different values a grouping column may have; more than these are identities, not groups."""

_LISTED = 1_000
"""Columns among which one is looked for that may have been meant."""
_PENDING = 32_768


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One metric over one group of cases.

    group: the value of the grouping column; None for all cases, or for those without a value.
    n, unscored, failed: cases with a number, cases whose text has none, and cases that the metric broke on; only the
        first count below.
    value: the metric's aggregate (`Metric.combine`: the mean, unless the metric defines its own);
        NaN where no case is scored.
    median, sd: of the per-case values; sd with n − 1 in the denominator. NaN where undefined.
    low, high: 95 % studentised bootstrap interval of `value`, over clusters; None where fewer than three
        clusters are scored, where the value does not vary between them, or no resampling was asked for.
    """

    metric: str
    group: str | None
    n: int
    unscored: int
    value: float
    median: float
    sd: float
    low: float | None
    high: float | None
    higher_is_better: bool
    failed: int = 0


@dataclass
class _Column:
    """The stored numbers of one metric: values by group, and statistics not yet folded into cells."""

    metric: Metric
    width: int = 0
    values: dict[int, array[float]] = field(default_factory=dict)
    unscored: Counter[int] = field(default_factory=Counter)
    failed: Counter[int] = field(default_factory=Counter)
    rows: array[int] = field(default_factory=lambda: array("q"))
    statistics: array[float] = field(default_factory=lambda: array("d"))
    sums: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    """[cells, width + 1]: summed statistics of a cell, then its number of scored cases."""


class Tally:
    """Per-case statistics of a run, by group and cluster.

    by: the column whose values are the groups (None: one group). A case without a value is in group None.
    cluster: what is drawn together when resampling. `reference`: cases that share their references
        (those without any: their id); `none`: each case alone; else a column (a case without a value
        stands alone).
    """

    def __init__(self, metrics: Sequence[Metric], by: str | None = None, cluster: str = "reference") -> None:
        self.metrics = tuple(metrics)
        self.by = by
        self.cluster = cluster
        self.groups: list[str | None] = []
        self.count = 0
        self._group_of: dict[str | None, int] = {}
        self._columns = {metric.name: _Column(metric) for metric in metrics}
        self._wanted = wanted_columns(by, cluster)
        self._seen: set[str] = set()
        self._pending_groups: array[int] = array("q")
        self._pending_clusters: array[int] = array("Q")
        self._cell_groups: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._cell_clusters: npt.NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._merged = False

    def add(self, case: Case, scores: Mapping[str, Score]) -> None:
        """Take in one case with its score on every metric."""
        group = self._group(case)
        row = len(self._pending_groups)
        self._pending_groups.append(group)
        self._pending_clusters.append(self._cluster(case))
        self.count += 1
        for name, column in self._columns.items():
            score = scores[name]
            if score.value is None:
                (column.unscored if score.failed is None else column.failed)[group] += 1
                continue
            if len(score.statistics) != column.width:
                self._widen(column, len(score.statistics))
            column.values.setdefault(group, array("d")).append(score.value)
            column.rows.append(row)
            column.statistics.extend(score.statistics)
        if row + 1 >= _PENDING:
            self._fold()

    def _widen(self, column: _Column, width: int) -> None:
        """The first scored case says how many statistics the metric has; the others must agree."""
        if column.width:
            raise MedassayError(
                f"metric '{column.metric.name}' gave {width} statistics for one case and {column.width} for "
                "another; it must give the same number for every case"
            )
        column.width = width
        column.sums = np.zeros((len(self._cell_groups), width + 1))

    def _group(self, case: Case) -> int:
        value = _cell(case, self.by) if self.by is not None else None
        if value is not None and self.by in self._wanted:
            self._seen.add(self.by)
        if value not in self._group_of:
            if len(self.groups) >= MOST_GROUPS:
                raise MedassayError(
                    f"column '{self.by}' has more than {MOST_GROUPS:,} different values (row {case.row}); "
                    "group by a column with few, such as system"
                )
            self._group_of[value] = len(self.groups)
            self.groups.append(value)
        return self._group_of[value]

    def _cluster(self, case: Case) -> int:
        """The case's cluster as a 64-bit hash of what defines it."""
        if self.cluster == "reference":
            if case.references:
                return int.from_bytes(case.reference_key[:8], "little")
            return _hash("id", case.id)
        value = _cell(case, self.cluster) if self.cluster != "none" else None
        if value is None:
            return _hash("row", str(self.count))
        self._seen.add(self.cluster)
        return _hash("value", value)

    def _fold(self) -> None:
        """Add the pending statistics to the cells, one cell for each group and cluster."""
        old = len(self._cell_groups)
        groups = np.concatenate([self._cell_groups, np.frombuffer(self._pending_groups, np.int64)])
        clusters = np.concatenate([self._cell_clusters, np.frombuffer(self._pending_clusters, np.uint64)])
        if self._merged:
            clusters[old:] %= MOST_CLUSTERS
        distinct, number = np.unique(clusters, return_inverse=True)
        if len(distinct) > MOST_CLUSTERS:
            # The hash of a cluster's content is as good as a random draw and does not depend on row order.
            self._merged = True
            clusters %= MOST_CLUSTERS
            distinct, number = np.unique(clusters, return_inverse=True)
        pairs, cell = np.unique(number * np.int64(MOST_GROUPS) + groups, return_inverse=True)
        for column in self._columns.values():
            self._fold_column(column, cell[:old], cell[old:], len(pairs))
        self._cell_groups = pairs % MOST_GROUPS
        self._cell_clusters = distinct[pairs // MOST_GROUPS]
        self._pending_groups, self._pending_clusters = array("q"), array("Q")

    def _fold_column(self, column: _Column, old: npt.NDArray[np.intp], new: npt.NDArray[np.intp], cells: int) -> None:
        if not column.width:
            return
        fresh = np.frombuffer(column.statistics, np.float64).reshape(-1, column.width)
        at = new[np.frombuffer(column.rows, np.int64)]
        sums = np.empty((cells, column.width + 1))
        for k in range(column.width):
            sums[:, k] = np.bincount(old, column.sums[:, k], cells) + np.bincount(at, fresh[:, k], cells)
        sums[:, -1] = np.bincount(old, column.sums[:, -1], cells) + np.bincount(at, minlength=cells)
        column.sums = sums
        column.rows, column.statistics = array("q"), array("d")

    @property
    def cluster_count(self) -> int:
        """Different clusters among the cases summed so far, after merging."""
        return len(np.unique(self._cell_clusters))

    def _finish(self) -> None:
        self._fold()
        missing = sorted(self._wanted - self._seen)
        if missing and self.count:
            raise _no_value(missing[0], FIELDS)


def wanted_columns(by: str | None, cluster: str = "reference") -> set[str]:
    """The columns of the case file that a summary by `by` and `cluster` must have values in."""
    return {name for name in (by, cluster) if name is not None and name not in ("none", "system", "reference")}


def check_columns(cases: Iterable[Case], columns: Iterable[str]) -> None:
    """Raise where no case has a value in one of the columns; reads no further than it must."""
    missing = set(columns)
    known = dict.fromkeys(FIELDS)
    for case in cases:
        missing = {column for column in missing if _cell(case, column) is None}
        if not missing:
            return
        if len(known) < _LISTED:
            known |= dict.fromkeys(case.extra)
    if missing:
        raise _no_value(min(missing), known)


def _no_value(column: str, known: Iterable[str]) -> UnknownName:
    return UnknownName(
        f"no case has a value in column '{column}'{nearest(column, known)}; "
        "group or cluster by a column of the case file"
    )


def _cell(case: Case, column: str) -> str | None:
    """A case's value in a column as text; None where it has none."""
    value = case.value(column)
    return None if value is None or value == "" else str(value)


def _hash(kind: str, text: str) -> int:
    digest = hashlib.blake2b(f"{kind}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def summarise(tally: Tally, resamples: int = 1000, seed: int = 1) -> list[Aggregate]:
    """Every metric's aggregate in every group, metric by metric, groups in order of appearance.

    All metrics and groups see the same resamples of the run's clusters (a metric with few scored
    clusters is drawn on its own), and the same seed gives the same intervals. More than 10,000 clusters
    are merged into 10,000 groups by their hash before they are drawn.
    """
    if resamples < 0:
        raise InputError(f"resamples must be 0 or more, not {resamples}")
    with np.errstate(over="ignore", invalid="ignore"):
        return _summarise(tally, resamples, seed)


def _summarise(tally: Tally, resamples: int, seed: int) -> list[Aggregate]:
    tally._finish()
    intervals = _intervals(tally, resamples, seed) if resamples else {}
    rows = []
    for name, column in tally._columns.items():
        for g, group in enumerate(tally.groups or [None]):
            values = np.frombuffer(column.values.get(g, array("d")), np.float64)
            value = _value(column, tally._cell_groups == g) if len(values) else float("nan")
            low, high = intervals.get((name, g), (None, None))
            rows.append(
                Aggregate(
                    metric=name,
                    group=group,
                    n=len(values),
                    unscored=column.unscored[g],
                    value=value,
                    median=_finite(np.median(values)) if len(values) else float("nan"),
                    sd=_finite(np.std(values, ddof=1)) if len(values) > 1 else float("nan"),
                    low=low,
                    high=high,
                    higher_is_better=column.metric.higher_is_better,
                    failed=column.failed[g],
                )
            )
    return rows


def _value(column: _Column, cells: npt.NDArray[np.bool_]) -> float:
    """The aggregate over the given cells; NaN where the sums are too large for a number."""
    total = column.sums[cells].sum(axis=0, keepdims=True)
    return _finite(column.metric.combine(total[:, :-1], total[:, -1])[0])


def _finite(value: float | np.floating) -> float:
    return float(value) if np.isfinite(value) else float("nan")


def _intervals(tally: Tally, resamples: int, seed: int) -> dict[tuple[str, int], Interval]:
    """The interval of each metric in each group."""
    distinct, number = np.unique(tally._cell_clusters, return_inverse=True)
    shared: list[tuple[_Column, int]] = []
    intervals: dict[tuple[str, int], Interval] = {}

    def keep(column: _Column, g: int, statistic: Studentised) -> None:
        intervals[column.metric.name, g] = statistic.interval(_bounds(column, g))

    for g in range(len(tally.groups)):
        of_group = tally._cell_groups == g
        for column in filter(lambda column: column.width, tally._columns.values()):
            scored = column.sums[of_group & (column.sums[:, -1] > 0)]
            if len(scored) >= FEW_CLUSTERS:
                shared.append((column, g))
            elif len(scored):
                keep(column, g, *bootstrap_t([(scored, _combine(column.metric))], resamples, seed))

    def blocks() -> Iterator[tuple[Floats, Combine]]:
        for column, g in shared:
            of_group = tally._cell_groups == g
            block = np.zeros((len(distinct), column.width + 1))
            block[number[of_group]] = column.sums[of_group]
            yield block, _combine(column.metric)

    for (column, g), statistic in zip(shared, bootstrap_t(blocks(), resamples, seed)):
        keep(column, g, statistic)
    return intervals


def _combine(metric: Metric) -> Combine:
    """A metric's aggregate of rows of sums, whose last is the number of cases."""
    return lambda sums: metric.combine(sums[..., :-1], sums[..., -1])


def _bounds(column: _Column, g: int) -> Bounds:
    """The metric's bounds, as far as its own values keep to them."""
    values = column.values[g]
    least, most = column.metric.bounds
    return None if least is not None and min(values) < least else least, (
        None if most is not None and max(values) > most else most
    )
