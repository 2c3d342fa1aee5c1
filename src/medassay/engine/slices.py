"""Cut a stream of rows into slices, measure each content once, and return the scores in order.

This is the one path from cases to scores: the command line, the Python interface, the warm scorer, the server and
the workers of a cluster differ in the pool that measures the slices and in the store behind it. A content that
occurs again is not measured again: not when it is in the store, and not while an earlier slice that holds it is
still being measured. Who measures what depends on the order of the rows alone, never on time, so a resumed run cuts
the same slices as a whole one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import Any, Protocol

from medassay.cases import Case, Row
from medassay.engine.base import Batches, Scored, Source, chunks
from medassay.engine.placement import batch_size, checkpoint_every
from medassay.engine.store import Store, keys_of
from medassay.metrics.base import Metric, SetMetric, depends_on_set, members_of
from medassay.metrics.scoring import composed, leaves
from medassay.scores import Score


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """Some cases for one metric, and whether evidence is wanted."""

    metric: Metric
    cases: Sequence[Case]
    evidence: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """The scores of a unit, and the same as JSON where they are to be kept."""

    scores: list[Score]
    texts: list[str] | None


class Pool(Protocol):
    """Where slices are measured. ahead: batches worth planning before the first is finished."""

    ahead: int

    def submit(self, units: Sequence[WorkUnit], *, texts: bool) -> list[Future[Measured]]:
        """Have each metric measure its cases. The units of one call share cases, and caches where they can."""


@dataclass(eq=False)
class _Slice:
    """A unit under way. scores: None until it has been measured, and kept where there is a store."""

    unit: WorkUnit
    keys: list[bytes]
    measured: list[Score] | None = None
    scores: list[Score] | None = None


Entry = tuple[_Slice, int]
Column = list[Score | Entry] | _Slice
"""Each case's score, or the slice and the index at which it will stand; or the one slice that is the whole column."""


@dataclass
class _Batch:
    """Rows under way, and the column of each metric that is measured."""

    rows: list[Row]
    evidence: bool
    columns: dict[int, Column] = field(default_factory=dict)


class SliceRunner:
    """One run over a stream of rows.

    pool: measures. store: keeps scores for the next run; without one, equal cases are still measured once as long
    as the first of them is under way. broken: by id, the failure of metrics that could not be surveyed; every case
    fails with it.
    """

    def __init__(self, pool: Pool, store: Store | None, broken: Mapping[int, Score] | None = None) -> None:
        self.pool = pool
        self.store = store
        self.open: dict[Future[Measured], _Slice] = {}
        self.writing: dict[Future[None], list[_Slice]] = {}
        self.under_way: dict[bytes, Entry] = {}
        self.sizes: dict[int, int] = {}
        self.broken = dict(broken or {})

    def survey_ensembles(self, source: Source, metrics: Sequence[Metric]) -> None:
        """Let ensembles over the set see it, members before what is made of them."""
        for metric in metrics:
            members = members_of(metric)
            if not members or not depends_on_set(metric):
                continue
            self.survey_ensembles(source, members)
            if not isinstance(metric, SetMetric) or not metric.over_set:
                continue
            if self.store is not None and self.pool.ahead:
                # Members are measured side by side first, and found in the store by the survey.
                for _ in self.run(source(), members, batch_size(members)):
                    pass
            try:
                metric.survey(Batches(source), self.scores)
            except (Exception, SystemExit) as error:
                self.broken[id(metric)] = Score.failure(error)

    def run(
        self, rows: Iterable[Row], metrics: Sequence[Metric], size: int, evidence: float = 0
    ) -> Iterator[list[Scored]]:
        """All rows with their scores, `size` at a time, in order; the first `evidence` rows with evidence."""
        planned: deque[_Batch] = deque()
        seen = 0
        for chunk in chunks(rows, size):
            planned.append(self._plan(chunk, metrics, seen < evidence))
            seen += len(chunk)
            if len(planned) > self.pool.ahead:
                yield self._finish(planned.popleft(), metrics)
        while planned:
            yield self._finish(planned.popleft(), metrics)

    def scores(self, metric: Metric, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        """One metric's scores of cases at hand."""
        return self._scores(metric, self._plan([Row(case.row, case) for case in cases], [metric], evidence))

    def _plan(self, rows: list[Row], metrics: Sequence[Metric], evidence: bool) -> _Batch:
        batch = _Batch(rows, evidence)
        cases = [row.case for row in rows if row.case is not None]
        digests: dict[frozenset[str], list[bytes]] = {}
        groups: list[list[_Slice]] = []
        for leaf in leaves(metrics):
            if id(leaf) not in self.broken:
                batch.columns[id(leaf)] = self._column(leaf, cases, evidence, digests, groups)
        for group in groups:
            futures = self.pool.submit([piece.unit for piece in group], texts=self.store is not None)
            for piece, future in zip(group, futures):
                self.open[future] = piece
        self._collect(block=False)
        return batch

    def _column(
        self,
        metric: Metric,
        cases: Sequence[Case],
        evidence: bool,
        digests: dict[frozenset[str], list[bytes]],
        groups: list[list[_Slice]],
    ) -> Column:
        """Where each case's score stands or will stand; slices that are to be measured for it join the groups."""
        keys = keys_of(metric, cases, evidence, digests, shared=self.store is not None)
        kept = self.store.find(keys) if self.store is not None else {}
        new = {key: i for i, key in reversed(list(enumerate(keys))) if key not in kept and key not in self.under_way}
        first = sorted(new.values())
        entries = self._cut(metric, [cases[i] for i in first], [keys[i] for i in first], evidence, groups)
        self.under_way.update(entries)
        pieces = {piece for piece, _ in entries.values()}
        if len(first) == len(cases) and len(pieces) == 1:
            return pieces.pop()
        return [kept[key] if key in kept else self.under_way[key] for key in keys]

    def _cut(
        self,
        metric: Metric,
        cases: Sequence[Case],
        keys: Sequence[bytes],
        evidence: bool,
        groups: list[list[_Slice]],
    ) -> dict[bytes, Entry]:
        """SliceRunner of a metric's cases, the k-th into the k-th group; and by key where each case stands in them."""
        if id(metric) not in self.sizes:
            self.sizes[id(metric)] = checkpoint_every(metric)
        size = self.sizes[id(metric)]
        entries: dict[bytes, Entry] = {}
        for k, start in enumerate(range(0, len(cases), size)):
            piece = _Slice(WorkUnit(metric, cases[start : start + size], evidence), list(keys[start : start + size]))
            if k == len(groups):
                groups.append([])
            groups[k].append(piece)
            entries.update((key, (piece, i)) for i, key in enumerate(piece.keys))
        return entries

    def _collect(self, *, block: bool) -> None:
        """Have kept what has been measured since the last look; release what has been kept."""
        if block:
            waiting: list[Future[Any]] = [*self.open, *self.writing]
            wait(waiting, return_when=FIRST_COMPLETED)
        done = {future: self.open.pop(future) for future in list(self.open) if future.done()}
        rows: list[tuple[bytes, str]] = []
        for future, piece in done.items():
            measured = future.result()
            piece.measured = measured.scores
            if measured.texts is not None:
                each = zip(piece.keys, measured.texts, measured.scores)
                rows += [(key, text) for key, text, score in each if score.failed is None]
        if self.store is not None and rows and self.pool.ahead:
            self.writing[self.store.write_soon(rows)] = list(done.values())
        else:
            if self.store is not None and rows:
                self.store.write(rows)
            self._release(done.values())
        for kept in [future for future in self.writing if future.done()]:
            kept.result()
            self._release(self.writing.pop(kept))

    def _release(self, slices: Iterable[_Slice]) -> None:
        """From here on the store knows them; whoever waits has their scores."""
        for piece in slices:
            piece.scores = piece.measured
            for key in piece.keys:
                self.under_way.pop(key, None)

    def _finish(self, batch: _Batch, metrics: Sequence[Metric]) -> list[Scored]:
        columns = {metric.name: iter(self._scores(metric, batch)) for metric in metrics}
        return [
            Scored(row, {name: next(column) for name, column in columns.items()} if row.case is not None else {})
            for row in batch.rows
        ]

    def _scores(self, metric: Metric, batch: _Batch) -> list[Score]:
        return composed(metric, lambda member: self._measured(member, batch), batch.evidence)

    def _measured(self, metric: Metric, batch: _Batch) -> list[Score] | None:
        if id(metric) in self.broken:
            return [self.broken[id(metric)] for row in batch.rows if row.case is not None]
        column = batch.columns.get(id(metric))
        if column is None:
            return None
        if isinstance(column, _Slice):
            return self._awaited(column)
        return [entry if isinstance(entry, Score) else self._awaited(entry[0])[entry[1]] for entry in column]

    def _awaited(self, piece: _Slice) -> list[Score]:
        while piece.scores is None:
            self._collect(block=True)
        return piece.scores
