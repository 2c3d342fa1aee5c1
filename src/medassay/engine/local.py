"""The local engine: this machine's cores filled with worker processes, or everything in this process.

Metrics that need the cores are measured by worker processes, whose models share the cores out among them.
Metrics that wait for an endpoint run in a thread each; those whose models run on torch, and fill a graphics card by
themselves, share one.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from copy import copy

from medassay.cases import Case, Row
from medassay.cores import cores
from medassay.engine.base import BATCH, Scored, Source, batch_size, chunks, leaves, measure, place
from medassay.engine.slices import Measured, Pool, Slices, Unit
from medassay.engine.store import Store
from medassay.errors import MedassayError
from medassay.metrics.base import Metric, survey_all
from medassay.scores import Result, Score

_ONE_AT_A_TIME = threading.RLock()


class Here:
    """The pool of one: slices are measured at once, in this thread."""

    ahead = 0

    def submit(self, units: Sequence[Unit], *, texts: bool) -> list[Future[Measured]]:
        """Futures that are done already."""
        futures: list[Future[Measured]] = []
        for metric, cases in units:
            futures.append(Future())
            futures[-1].set_result(_measure(metric, cases, texts))
        return futures


class Machine:
    """Worker processes for the metrics that need cores, threads for the others."""

    def __init__(self, metrics: Sequence[Metric], workers: int) -> None:
        from medassay.engine.workers import Workers

        places = {id(metric): place(metric) for metric in metrics}
        fit = [metric for metric in metrics if places[id(metric)] == "cores"]
        self.workers = Workers(fit, workers, threads=max(1, cores() // workers))
        self.ahead = self.workers.ahead
        self.waiting = [metric for metric in metrics if places[id(metric)] != "cores"]
        # One thread for all work on a device: metrics share models, and a model is made for one thread.
        device = ThreadPoolExecutor(1, thread_name_prefix="medassay-device")
        self.threads = {
            id(metric): device
            if places[id(metric)] == "device"
            else ThreadPoolExecutor(1, thread_name_prefix=f"medassay-{metric.name}")
            for metric in self.waiting
        }

    def submit(self, units: Sequence[Unit], *, texts: bool) -> list[Future[Measured]]:
        """The scores of each unit, in time."""
        fit = [unit for unit in units if id(unit[0]) not in self.threads]
        measured = iter(self.workers.submit(fit, texts=texts) if fit else ())
        # A copy, as the run may stop asking for evidence while this slice waits.
        return [
            self.threads[id(metric)].submit(_measure, copy(metric), cases, texts)
            if id(metric) in self.threads
            else next(measured)
            for metric, cases in units
        ]

    def close(self) -> None:
        """End everything: what is being measured is dropped."""
        self.workers.close()
        for metric in self.waiting:
            metric.stop()
        for thread in self.threads.values():
            thread.shutdown(wait=True, cancel_futures=True)


class Local:
    """Scores on this machine.

    workers: processes to fill; None: one a core; 0: none, everything is measured in this process.
    """

    name = "local"

    def __init__(self, workers: int | None = None) -> None:
        self.workers = cores() if workers is None else workers
        if self.workers < 0:
            raise MedassayError(f"workers: {workers} is less than 0; give a number of processes")

    def score(
        self, source: Source, metrics: Sequence[Metric], store: Store | None, *, batch: int | None = None
    ) -> Generator[list[Scored], None, None]:
        """The rows with their scores, batch by batch. A metric over the set sees all of it first."""
        survey_leaves(source, metrics)  # before workers start: they take along what a metric knows
        with self._pool(metrics) as pool:
            slices = Slices(pool, store)
            self._survey(source, metrics, slices)
            yield from slices.run(source(), metrics, batch or batch_size(metrics))

    def _survey(self, source: Source, metrics: Sequence[Metric], slices: Slices) -> None:
        """Let ensembles over the set see it. Their members are measured side by side first and found in the store."""
        for metric in metrics:
            if not metric.members or not metric.depends_on_set:
                continue
            self._survey(source, metric.members, slices)
            if metric.over_set:
                if slices.store is not None and slices.pool.ahead:
                    for _ in slices.run(source(), metric.members, batch_size(metric.members)):
                        pass
                metric.survey(Batches(source), slices.scores)

    @contextmanager
    def _pool(self, metrics: Sequence[Metric]) -> Iterator[Pool]:
        if self.workers == 0:
            yield Here()
            return
        machine = Machine(leaves(metrics), self.workers)
        try:
            yield machine
        finally:
            machine.close()


class Batches:
    """The cases of a stream in slices, from the start with each loop."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __iter__(self) -> Iterator[list[Case]]:
        for rows in chunks(self.source(), BATCH):
            if cases := [row.case for row in rows if row.case is not None]:
                yield cases


def survey_leaves(source: Source, metrics: Sequence[Metric]) -> None:
    """Let metrics that are measured, and depend on the set, see it (document frequencies and the like)."""

    def alone(metric: Metric, cases: Sequence[Case]) -> list[Score]:
        return metric.score_slice(cases)

    for leaf in leaves(metrics):
        if leaf.over_set:
            leaf.survey(Batches(source), alone)


def run(
    rows: Iterable[Row], metrics: Sequence[Metric], store: Store | None = None, *, batch: int | None = None
) -> Iterator[list[Scored]]:
    """Score a stream that can be read once, in this process; metrics over the set must have seen it."""
    return Slices(Here(), store).run(rows, metrics, batch or batch_size(metrics))


def score_cases(cases: Sequence[Case], metrics: Sequence[Metric], *, workers: int = 0) -> Result:
    """Score cases held in memory: in this process, or with worker processes."""
    if workers == 0:
        slices = Slices(Here(), None)
        survey_all(metrics, [cases], slices.scores)
        return Result(tuple(cases), tuple(metrics), slices.columns(metrics, cases))
    rows = [Row(case.row, case) for case in cases]
    made = [scored for batch in Local(workers).score(lambda: rows, metrics, None) for scored in batch]
    return Result(
        tuple(cases),
        tuple(metrics),
        {metric.name: [scored.scores[metric.name] for scored in made] for metric in metrics},
    )


def _measure(metric: Metric, cases: Sequence[Case], texts: bool) -> Measured:
    # Models and their caches are shared by all metrics of a process, and made for one thread.
    with nullcontext() if place(metric) == "network" else _ONE_AT_A_TIME:
        scores = measure(metric, cases)
    return Measured(scores, [score.to_json() for score in scores] if texts else None)
