"""A stream of rows cut into slices, each measured once, put together again in order.

With a store, a content that occurs again is not measured again: not when it is in the store, and not while an
earlier slice that holds it is still being measured. Who measures what depends on the order of the rows alone,
never on time, so a resumed run cuts the same slices as a whole one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import Any, Protocol

from medassay.cases import Case, Row
from medassay.engine.base import DIED, Scored, chunks, leaves
from medassay.engine.store import Store, keys_of
from medassay.metrics.base import Metric
from medassay.scores import Score


@dataclass(frozen=True, slots=True)
class Measured:
    """The scores of a slice, and the same as JSON where they are to be kept."""

    scores: list[Score]
    texts: list[str] | None


Unit = tuple[Metric, Sequence[Case]]
"""Some cases for one metric."""


class Pool(Protocol):
    """Where slices are measured. ahead: batches worth planning before the first is finished."""

    ahead: int

    def submit(self, units: Sequence[Unit], *, texts: bool) -> list[Future[Measured]]:
        """Have each metric measure its cases. The units of one call share cases, and caches where they can."""


@dataclass(eq=False)
class _Slice:
    """Some cases for one metric, under way."""

    metric: Metric
    cases: Sequence[Case]
    keys: list[bytes]
    measured: list[Score] | None = None
    scores: list[Score] | None = None
    """None until it has been measured, and kept where there is a store."""


Place = tuple[_Slice, int]
Column = list[Score | Place] | _Slice
"""Each case's score, or the place where it will stand; or the one slice whose cases are exactly the column's."""


@dataclass
class _Batch:
    """Rows under way: for each metric that is measured, each case's score or the place where it will stand."""

    rows: list[Row]
    columns: dict[int, Column] = field(default_factory=dict)


class Slices:
    """One run over a stream of rows."""

    def __init__(self, pool: Pool, store: Store | None) -> None:
        self.pool = pool
        self.store = store
        self.open: dict[Future[Measured], _Slice] = {}
        self.keeping: dict[Future[None], list[_Slice]] = {}
        self.under_way: dict[bytes, Place] = {}

    def run(self, rows: Iterable[Row], metrics: Sequence[Metric], size: int) -> Iterator[list[Scored]]:
        """All rows with their scores, `size` at a time, in order."""
        planned: deque[_Batch] = deque()
        for chunk in chunks(rows, size):
            planned.append(self._plan(chunk, metrics))
            if len(planned) > self.pool.ahead:
                yield self._finish(planned.popleft(), metrics)
        while planned:
            yield self._finish(planned.popleft(), metrics)

    def scores(self, metric: Metric, cases: Sequence[Case]) -> list[Score]:
        """One metric's scores of cases at hand."""
        return self.columns([metric], cases)[metric.name]

    def columns(self, metrics: Sequence[Metric], cases: Sequence[Case]) -> dict[str, list[Score]]:
        """Several metrics' scores of cases at hand; a member that is also asked for alone is measured once."""
        batch = self._plan([Row(case.row, case) for case in cases], metrics)
        return {metric.name: self._scores(metric, batch) for metric in metrics}

    def _plan(self, rows: list[Row], metrics: Sequence[Metric]) -> _Batch:
        batch = _Batch(rows)
        cases = [row.case for row in rows if row.case is not None]
        digests: dict[frozenset[str], list[bytes]] = {}
        groups: list[list[_Slice]] = []
        for leaf in leaves(metrics):
            batch.columns[id(leaf)] = self._column(leaf, cases, digests, groups)
        for group in groups:
            futures = self.pool.submit([(one.metric, one.cases) for one in group], texts=self.store is not None)
            for one, future in zip(group, futures):
                one.cases = ()
                self.open[future] = one
        self._settle(block=False)
        return batch

    def _column(
        self,
        metric: Metric,
        cases: Sequence[Case],
        digests: dict[frozenset[str], list[bytes]],
        groups: list[list[_Slice]],
    ) -> Column:
        """Where each case's score stands or will stand; slices that are to be measured for it join the groups."""
        if self.store is None:
            return [place for place, _ in _cut(metric, cases, [], groups)]
        keys = keys_of(metric, cases, digests)
        found = self.store.find(keys)
        mine = {key: i for i, key in reversed(list(enumerate(keys))) if key not in found and key not in self.under_way}
        firsts = sorted(mine.values())
        places = _cut(metric, [cases[i] for i in firsts], [keys[i] for i in firsts], groups)
        self.under_way.update((key, place) for place, key in places)
        if len(firsts) == len(cases) and places and places[0][0][0] is places[-1][0][0]:
            return places[0][0][0]
        return [Score.from_json(found[key]) if key in found else self.under_way[key] for key in keys]

    def _settle(self, *, block: bool) -> None:
        """Have kept what has been measured since the last look; release what has been kept."""
        if block:
            waiting: list[Future[Any]] = [*self.open, *self.keeping]
            wait(waiting, return_when=FIRST_COMPLETED)
        done = {future: self.open.pop(future) for future in list(self.open) if future.done()}
        rows: list[tuple[bytes, str]] = []
        for future, one in done.items():
            measured = future.result()
            one.measured = measured.scores
            if measured.texts is not None:
                each = zip(one.keys, measured.texts, measured.scores)
                rows += [(key, text) for key, text, score in each if _lasting(one.metric, score)]
        if self.store is not None and rows and self.pool.ahead:
            self.keeping[self.store.keep_soon(rows)] = list(done.values())
        else:
            if self.store is not None and rows:
                self.store.keep(rows)
            self._release(done.values())
        for kept in [future for future in self.keeping if future.done()]:
            kept.result()
            self._release(self.keeping.pop(kept))

    def _release(self, slices: Iterable[_Slice]) -> None:
        """From here on the store knows them; whoever waits has their scores."""
        for one in slices:
            one.scores = one.measured
            for key in one.keys:
                self.under_way.pop(key, None)

    def _finish(self, batch: _Batch, metrics: Sequence[Metric]) -> list[Scored]:
        columns = {metric.name: iter(self._scores(metric, batch)) for metric in metrics}
        return [
            Scored(row, {name: next(column) for name, column in columns.items()} if row.case is not None else {})
            for row in batch.rows
        ]

    def _scores(self, metric: Metric, batch: _Batch) -> list[Score]:
        if metric.members:
            return metric.compose([self._scores(member, batch) for member in metric.members])
        column = batch.columns[id(metric)]
        if isinstance(column, _Slice):
            return self._awaited(column)
        return [one if isinstance(one, Score) else self._awaited(one[0])[one[1]] for one in column]

    def _awaited(self, made: _Slice) -> list[Score]:
        while made.scores is None:
            self._settle(block=True)
        return made.scores


def _lasting(metric: Metric, score: Score) -> bool:
    """Whether a score may be kept: a number always, a reason only where it will hold in the next run."""
    return score.value is not None or (metric.keeps_unscored and score.unscored != DIED)


def _cut(
    metric: Metric, cases: Sequence[Case], keys: Sequence[bytes], groups: list[list[_Slice]]
) -> list[tuple[Place, bytes]]:
    """Slices of a metric's cases, the k-th into the k-th group; and where each case stands in them."""
    places: list[tuple[Place, bytes]] = []
    for k, start in enumerate(range(0, len(cases), metric.keep_every)):
        stop = start + metric.keep_every
        made = _Slice(metric, cases[start:stop], list(keys[start:stop]))
        if k == len(groups):
            groups.append([])
        groups[k].append(made)
        places += [((made, i), made.keys[i] if made.keys else b"") for i in range(len(made.cases))]
    return places
