"""The local engine: worker processes on this machine's cores, or everything in this process.

Metrics that need the cores are measured by worker processes, which share the cores. A metric that waits for an
endpoint has its own process. Metrics whose models run on torch, and fill a graphics card by themselves, share one
thread.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from queue import SimpleQueue

from medassay.cases import Case, Row
from medassay.cores import cores
from medassay.engine.base import Batches, Scored, Source
from medassay.engine.placement import batch_size, placement
from medassay.engine.slices import Measured, Pool, SliceRunner, WorkUnit
from medassay.engine.store import Store
from medassay.engine.worker import measure
from medassay.errors import MedassayError
from medassay.metrics.base import Metric, SetMetric
from medassay.metrics.scoring import leaves, score_slice
from medassay.scores import Score

_ONE_AT_A_TIME = threading.RLock()


class InProcessPool:
    """A pool without processes: slices are measured at once, in this thread."""

    ahead = 0

    def submit(self, units: Sequence[WorkUnit], *, texts: bool) -> list[Future[Measured]]:
        """Futures that are done already."""
        futures: list[Future[Measured]] = []
        for unit in units:
            futures.append(Future())
            futures[-1].set_result(_measure(unit, texts))
        return futures

    def close(self) -> None:
        """Nothing is left open."""


class LocalPool:
    """Worker processes for the metrics that need cores, one for each that waits for a network, a thread for the rest.

    workers: processes for the metrics that need cores. case_timeout: seconds that each of these may take for a case.
    """

    def __init__(self, metrics: Sequence[Metric], workers: int, case_timeout: float | None = None) -> None:
        from medassay.engine.workers import WorkerPool

        placed = {id(metric): placement(metric) for metric in metrics}
        on_cores = WorkerPool(
            [metric for metric in metrics if placed[id(metric)] == "cores"],
            workers,
            threads=max(1, cores() // workers),
            limit=case_timeout,
        )
        # One thread for all work on a device: metrics share models, and a model is made for one thread.
        device = DeviceThread()
        self.ahead = on_cores.ahead
        self.cores = on_cores
        self.pools: dict[int, WorkerPool | DeviceThread] = {
            id(metric): WorkerPool([metric], 1)
            if placed[id(metric)] == "network"
            else device
            if placed[id(metric)] == "device"
            else on_cores
            for metric in metrics
        }

    def submit(self, units: Sequence[WorkUnit], *, texts: bool) -> list[Future[Measured]]:
        """The scores of each unit, in time."""
        futures: dict[int, Future[Measured]] = {}
        for pool in dict.fromkeys(self.pools[id(unit.metric)] for unit in units):
            share = [unit for unit in units if self.pools[id(unit.metric)] is pool]
            futures.update(zip(map(id, share), pool.submit(share, texts=texts)))
        return [futures[id(unit)] for unit in units]

    def close(self) -> None:
        """End all processes and the thread; what is being measured is dropped."""
        for pool in {self.cores, *self.pools.values()}:
            pool.close()


class DeviceThread:
    """One thread that measures what it is given, in order. A run that ends does not wait for it."""

    def __init__(self) -> None:
        self.queue: SimpleQueue[tuple[WorkUnit, bool, Future[Measured]] | None] = SimpleQueue()
        self.thread: threading.Thread | None = None

    def submit(self, units: Sequence[WorkUnit], *, texts: bool) -> list[Future[Measured]]:
        """The scores of each unit, in time."""
        if self.thread is None:
            # A daemon: neither Ctrl-C nor the end of the process waits for a metric that hangs.
            self.thread = threading.Thread(target=self._work, name="medassay-device", daemon=True)
            self.thread.start()
        futures: list[Future[Measured]] = [Future() for _ in units]
        for unit, future in zip(units, futures):
            self.queue.put((unit, texts, future))
        return futures

    def _work(self) -> None:
        while (task := self.queue.get()) is not None:
            unit, texts, future = task
            try:
                future.set_result(_measure(unit, texts))
            except BaseException as error:
                future.set_exception(error)

    def close(self) -> None:
        """Take no more; what is being measured is not waited for."""
        self.queue.put(None)


class Local:
    """Scores on this machine.

    workers: processes to fill; None: one per core; 0: none, everything is measured in this process.
    case_timeout: seconds that a metric may take for one case, None: any. A case that takes longer has failed. It needs
    a process that can be replaced, so that with 0 workers there is one. Metrics that wait for an endpoint, or run on
    torch, have no such limit (`placement.unlimited`).
    """

    name = "local"

    def __init__(self, workers: int | None = None, *, case_timeout: float | None = None) -> None:
        self.workers = process_count(cores() if workers is None else workers, case_timeout)
        self.case_timeout = case_timeout

    def score(
        self,
        source: Source,
        metrics: Sequence[Metric],
        store: Store | None,
        *,
        batch: int | None = None,
        evidence: float = 0,
    ) -> Generator[list[Scored], None, None]:
        """The rows with their scores, batch by batch. A metric over the set sees all of it first."""
        # Before workers start: they take along what a metric knows of the set.
        broken = survey_leaves(source, metrics)
        with self._pool(metrics) as pool:
            slices = SliceRunner(pool, store, broken)
            slices.survey_ensembles(source, metrics)
            yield from slices.run(source(), metrics, batch or batch_size(metrics), evidence)

    @contextmanager
    def _pool(self, metrics: Sequence[Metric]) -> Iterator[Pool]:
        pool = LocalPool(leaves(metrics), self.workers, self.case_timeout) if self.workers else InProcessPool()
        try:
            yield pool
        finally:
            pool.close()


def process_count(workers: int, case_timeout: float | None) -> int:
    """Processes that measure: as many as were asked for, and at least one where one may have to be replaced."""
    if workers < 0:
        raise MedassayError(f"workers: {workers} is less than 0; give a number of processes")
    if case_timeout is None:
        return workers
    if not 0 < case_timeout < math.inf:
        raise MedassayError(f"case timeout: {case_timeout:g} is no time; give seconds, more than 0")
    return max(1, workers)


def survey_leaves(source: Source, metrics: Sequence[Metric]) -> dict[int, Score]:
    """Let metrics that are measured, and depend on the set, see it (document frequencies and the like).

    Returns:
        The failure of each metric whose survey raised, by its id.
    """
    broken: dict[int, Score] = {}
    for leaf in leaves(metrics):
        if isinstance(leaf, SetMetric) and leaf.over_set:
            try:
                leaf.survey(Batches(source), score_slice)
            except (Exception, SystemExit) as error:
                broken[id(leaf)] = Score.failure(error)
    return broken


def run(
    rows: Iterable[Row],
    metrics: Sequence[Metric],
    store: Store | None = None,
    *,
    batch: int | None = None,
    evidence: float = 0,
) -> Iterator[list[Scored]]:
    """Score a stream that can be read once, in this process; metrics over the set must have seen it."""
    return SliceRunner(InProcessPool(), store).run(rows, metrics, batch or batch_size(metrics), evidence)


def score_cases(
    cases: Sequence[Case],
    metrics: Sequence[Metric],
    *,
    workers: int = 0,
    evidence: bool = False,
    case_timeout: float | None = None,
) -> dict[str, list[Score]]:
    """Each metric's scores of cases held in memory: measured in this process, or by worker processes."""
    rows = [Row(case.row, case) for case in cases]
    batches = Local(workers, case_timeout=case_timeout).score(
        lambda: rows, metrics, None, evidence=len(rows) if evidence else 0
    )
    return columns_of(batches, metrics)


def columns_of(batches: Iterable[list[Scored]], metrics: Sequence[Metric]) -> dict[str, list[Score]]:
    """The scores of a whole run by metric."""
    columns: dict[str, list[Score]] = {metric.name: [] for metric in metrics}
    for batch in batches:
        for scored in batch:
            for name, score in scored.scores.items():
                columns[name].append(score)
    return columns


def _measure(unit: WorkUnit, texts: bool) -> Measured:
    # Models and their caches are shared by all metrics of a process, and made for one thread.
    with nullcontext() if unit.metric.waits_for_network else _ONE_AT_A_TIME:
        return Measured(*measure(unit.metric, unit.cases, unit.evidence, texts))
