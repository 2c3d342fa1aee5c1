"""The local engine: batches of cases through each metric, kept in the store as they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from medassay.cases import Case, Row
from medassay.engine.store import Store, keys_of
from medassay.metrics.base import Metric, survey_all
from medassay.scores import Result, Score

Done = dict[int, list[Score]]
"""Scores of one slice of cases, by the metric object that made them."""

BATCH = 1024
"""Rows a batch where there is no metric to say."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A row that has been through all metrics: its case and their scores, or what was wrong with it."""

    row: Row
    scores: dict[str, Score]


def run(
    rows: Iterable[Row], metrics: Sequence[Metric], store: Store | None = None, *, batch: int | None = None
) -> Iterator[list[Scored]]:
    """Score a stream of rows, batch by batch, in order, in bounded memory.

    A batch has as many rows as the slowest metric likes between two writes, so that progress shows.
    """
    batch = batch or min((metric.keep_every for metric in metrics), default=BATCH)
    stream = iter(rows)
    while chunk := list(islice(stream, batch)):
        cases = [row.case for row in chunk if row.case is not None]
        done: Done = {}
        columns = {metric.name: iter(_through(metric, cases, store, done)) for metric in metrics}
        yield [
            Scored(row, {name: next(column) for name, column in columns.items()} if row.case is not None else {})
            for row in chunk
        ]


def survey(rows: Callable[[], Iterable[Row]], metrics: Sequence[Metric], store: Store | None = None) -> None:
    """Before a run: let metrics whose numbers depend on the whole set see it, in bounded memory.

    `rows` opens the stream anew, once for each such metric. What has to be scored on the way is kept in the
    store, where the run then finds it.
    """
    survey_all(metrics, _Slices(rows), lambda metric, cases: _through(metric, cases, store))


class _Slices:
    """The cases of a stream in slices, from the start with each loop."""

    def __init__(self, rows: Callable[[], Iterable[Row]]) -> None:
        self.rows = rows

    def __iter__(self) -> Iterator[list[Case]]:
        stream = (row.case for row in self.rows() if row.case is not None)
        while slice_ := list(islice(stream, BATCH)):
            yield slice_


def score_cases(cases: Sequence[Case], metrics: Sequence[Metric]) -> Result:
    """Score cases held in memory."""
    survey_all(metrics, [cases], lambda metric, some: _through(metric, some, None))
    done: Done = {}
    return Result(
        cases=tuple(cases),
        metrics=tuple(metrics),
        scores={metric.name: _through(metric, cases, None, done) for metric in metrics},
    )


def _through(metric: Metric, cases: Sequence[Case], store: Store | None, done: Done | None = None) -> list[Score]:
    """Scores of all cases: from the store where it has them, measured and kept where not.

    done: what this very metric object has made of these cases already; a member that is also asked for by
    itself is measured once.
    """
    if done is not None:
        if id(metric) not in done:
            done[id(metric)] = _made(metric, cases, store, done)
        return done[id(metric)]
    return _made(metric, cases, store, None)


def _made(metric: Metric, cases: Sequence[Case], store: Store | None, done: Done | None) -> list[Score]:
    if metric.members:
        return metric.compose([_through(member, cases, store, done) for member in metric.members])
    measured = metric.score_slice if metric.over_set else metric.score
    if store is None:
        return measured(cases)
    scores = store.get(metric, cases)
    missing = [i for i, score in enumerate(scores) if score is None]
    # Equal content is measured once, in order, so that a resumed run cuts the same slices as a whole one.
    owners: dict[bytes, list[int]] = {}
    for i, key in zip(missing, keys_of(metric, [cases[i] for i in missing])):
        owners.setdefault(key, []).append(i)
    places = list(owners.values())
    for start in range(0, len(places), metric.keep_every):
        some = places[start : start + metric.keep_every]
        todo = [cases[same[0]] for same in some]
        made = measured(todo)
        kept = [i for i, score in enumerate(made) if score.value is not None or metric.keeps_unscored]
        store.put(metric, [todo[i] for i in kept], [made[i] for i in kept])
        for same, score in zip(some, made):
            for i in same:
                scores[i] = score
    return [score for score in scores if score is not None]
