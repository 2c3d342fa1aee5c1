"""Worker processes for the local engine: slices go out, scores come back, and a death costs one case at most.

A worker whose process dies is started anew and its slice tried again. Where that dies too, the slice is halved
until the case that kills stands alone: it is unscored, with the reason, and every other case has its score.
"""

from __future__ import annotations

import atexit
import multiprocessing
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from medassay.cases import Case
from medassay.engine.base import DIED
from medassay.engine.slices import Measured
from medassay.engine.worker import ask, opened, work
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.scores import Score

_MOST_DEATHS = 64
"""Deaths in a row, no slice between them measured: then it is not a case that kills."""

START = "fork" if sys.platform == "linux" else "spawn"
"""A forked worker starts in milliseconds and shares what is loaded; elsewhere forking is unsafe or absent."""


@dataclass
class _Job:
    """A slice on its way."""

    metric: int
    cases: Sequence[Case]
    evidence: bool
    texts: bool
    message: bytes
    future: Future[Measured] = field(default_factory=Future)


class Workers:
    """Up to `number` processes with these metrics, started as there is work for them. Safe from any thread.

    threads: cores that each may use for its models.
    """

    def __init__(self, metrics: Sequence[Metric], number: int, threads: int = 1) -> None:
        self.metrics = list(metrics)
        self.index = {id(metric): i for i, metric in enumerate(self.metrics)}
        self.number, self.threads = number, threads
        self.ahead = 2 * number + 1
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self.lanes: list[_Lane] = []
        self.starting = threading.Lock()
        self.counting = threading.Lock()
        self.pending = self.deaths = 0
        self.closed = False
        atexit.register(self.close)

    def submit(self, metric: Metric, cases: Sequence[Case], *, texts: bool) -> Future[Measured]:
        """The slice's scores, in time."""
        which = self.index[id(metric)]
        job = _Job(which, cases, metric.with_evidence, texts, ask(which, metric.with_evidence, texts, cases))
        with self.counting:
            self.pending += 1
            if self.pending > len(self.lanes):
                self._one_more()
        self.jobs.put(job)
        return job.future

    def warm(self) -> None:
        """Start every worker now."""
        with self.counting:
            while self._one_more():
                pass

    def _one_more(self) -> bool:
        if len(self.lanes) >= self.number:
            return False
        lane = _Lane(self)
        self.lanes.append(lane)
        lane.start()
        return True

    def died(self, code: int | None) -> None:
        """Count a death; too many in a row are told."""
        with self.counting:
            self.deaths += 1
        if self.deaths > _MOST_DEATHS:
            how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
            raise MedassayError(
                f"worker processes keep dying ({how}), whatever they are given; is there enough memory for "
                f"{self.number} of them? Try fewer --workers"
            )

    def done(self) -> None:
        """Count a slice that is over."""
        with self.counting:
            self.pending -= 1

    def close(self) -> None:
        """End all workers, whatever they are doing."""
        with self.starting:  # no worker starts from here on
            if self.closed:
                return
            self.closed = True
        atexit.unregister(self.close)
        for _ in self.lanes:
            self.jobs.put(None)
        for lane in self.lanes:
            lane.end()


class _Lane(threading.Thread):
    """One worker process and the thread that feeds it."""

    def __init__(self, pool: Workers) -> None:
        super().__init__(name="medassay-worker", daemon=True)
        self.pool = pool
        self.context: Any = multiprocessing.get_context(START)
        self.process: Any = None
        self.pipe: Connection
        self._open()

    def _open(self) -> None:
        # One at a time: a fork must know every end that it copies.
        with self.pool.starting:
            if self.pool.closed:
                raise MedassayError("the run was stopped")
            self.pipe, there = self.context.Pipe()
            known = [lane.pipe for lane in self.pool.lanes if lane is not self]
            copies = [*known, self.pipe] if START == "fork" else []
            process = self.context.Process(
                target=work, args=(there, copies, self.pool.metrics, self.pool.threads), name="medassay-worker"
            )
            process.start()
            self.process = process
            there.close()

    def run(self) -> None:
        job = self._next()
        while job is not None:
            reply = self._receive()
            if reply is None:
                self._conclude(job, self._after_death, job)
                job = self._next()
                continue
            # The worker has its next slice before this one's scores are looked at.
            following = None if self.pool.jobs.empty() else self._next()
            self._conclude(job, _measured, reply)
            job = following or self._next()

    def _next(self) -> _Job | None:
        job = self.pool.jobs.get()
        if job is not None:
            self._send(job.message)
        return job

    def _conclude(self, job: _Job, make: Any, *given: Any) -> None:
        try:
            result = make(*given)
        except BaseException as error:
            self.pool.done()
            job.future.set_exception(error)
        else:
            self.pool.done()
            job.future.set_result(result)

    def _send(self, message: bytes) -> None:
        try:
            self.pipe.send_bytes(message)
        except OSError:
            return  # it has died: the answer that does not come tells

    def _receive(self) -> bytes | None:
        try:
            reply: bytes = self.pipe.recv_bytes()
        except (EOFError, OSError):
            return None
        with self.pool.counting:
            self.pool.deaths = 0
        return reply

    def _after_death(self, job: _Job) -> Measured:
        self._anew()
        scores = self._survivors(job, job.cases)  # whole once more: the death may have been an accident
        return Measured(scores, [score.to_json() for score in scores] if job.texts else None)

    def _survivors(self, job: _Job, cases: Sequence[Case]) -> list[Score]:
        """Scores of cases one of which may kill: that one is unscored."""
        self._send(ask(job.metric, job.evidence, False, cases))
        reply = self._receive()
        if reply is not None:
            return opened(reply)[0]
        self._anew()
        if len(cases) == 1:
            return [Score.none(DIED)]
        half = len(cases) // 2
        return self._survivors(job, cases[:half]) + self._survivors(job, cases[half:])

    def _anew(self) -> None:
        self.pipe.close()
        self.process.join(5)
        self.pool.died(self.process.exitcode)
        self._open()

    def end(self) -> None:
        """End the process; the thread follows."""
        self.process.terminate()
        self.process.join(2)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
        if threading.current_thread() is not self:
            self.join(2)
        self.pipe.close()


def _measured(reply: bytes) -> Measured:
    return Measured(*opened(reply))
