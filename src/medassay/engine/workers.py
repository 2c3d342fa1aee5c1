"""Worker processes for the local engine: slices go out, scores come back, and a death costs one case at most.

A worker whose process dies is started anew and its slice tried again. Where that dies too, the slice is halved
until the case that kills stands alone: it has failed, with the reason, and every other case has its score. A metric
whose processes die whatever they are given fails on what is left of it; the other metrics go on.
"""

from __future__ import annotations

import atexit
import multiprocessing
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any

from medassay.cases import Case
from medassay.engine.base import DIED
from medassay.engine.slices import Measured, Unit
from medassay.engine.worker import ask, opened, work
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.scores import Score

_MOST_DEATHS = 64
"""Deaths in a row under one metric, no slice of it measured between them: then it is not a case that kills."""

STOPPED = "the run was stopped"

START = "fork" if sys.platform == "linux" else "spawn"
"""A forked worker starts in milliseconds and shares what is loaded; elsewhere forking is unsafe or absent."""


@dataclass
class _Unit:
    """Some cases for one metric, on their way."""

    metric: int
    evidence: bool
    cases: Sequence[Case]
    future: Future[Measured] = field(default_factory=Future)

    @property
    def asked(self) -> tuple[int, bool, Sequence[Case]]:
        return self.metric, self.evidence, self.cases


@dataclass
class _Job:
    """Units that one worker measures, one after the other."""

    units: list[_Unit]
    texts: bool
    message: bytes


_NOT_YET = _Job([], False, b"")


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
        self.pending = 0
        self.deaths: Counter[int] = Counter()
        self.closed = False
        atexit.register(self.close)

    def submit(self, units: Sequence[Unit], *, texts: bool) -> list[Future[Measured]]:
        """The scores of each unit, in time; one worker measures them all."""
        pending_units = [_Unit(self.index[id(unit.metric)], unit.evidence, unit.cases) for unit in units]
        job = _Job(pending_units, texts, ask([unit.asked for unit in pending_units], texts))
        with self.counting:
            if self.closed:
                raise MedassayError(STOPPED)
            self.pending += 1
            if self.pending > len(self.lanes):
                self._one_more()
            self.jobs.put(job)
        return [unit.future for unit in pending_units]

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

    def died(self, metric: int, code: int | None) -> str | None:
        """Count a death under a metric; where there are too many in a row, what to say of it."""
        with self.counting:
            self.deaths[metric] += 1
            if self.deaths[metric] <= _MOST_DEATHS:
                return None
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return (
            f"its worker processes keep dying ({how}), whatever they are given; is there enough memory for "
            f"{self.number} of them? Try fewer --workers"
        )

    def _waiting(self) -> _Job | None:
        try:
            return self.jobs.get_nowait()
        except Empty:
            return None

    def done(self) -> None:
        """Count a job that is over."""
        with self.counting:
            self.pending -= 1

    def close(self) -> None:
        """End all workers, whatever they are doing; who still waits for scores is told."""
        with self.counting, self.starting:  # no job is taken and no worker starts from here on
            if self.closed:
                return
            self.closed = True
        atexit.unregister(self.close)
        while (job := self._waiting()) is not None:
            for unit in job.units:
                unit.future.set_exception(MedassayError(STOPPED))
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
                raise MedassayError(STOPPED)
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
            following: _Job | None = _NOT_YET
            for k, unit in enumerate(job.units):
                rest = job.units[k + 1 :]
                reply = self._receive(unit)
                if reply is None:
                    _conclude(unit, partial(self._after_death, unit, job.texts))
                    if rest:
                        self._send(ask([unit.asked for unit in rest], job.texts))
                    continue
                if not rest:
                    following = self._next(wait=False)  # the worker has it before these scores are looked at
                _conclude(unit, partial(_open, reply))
            self.pool.done()
            job = self._next() if following is _NOT_YET else following

    def _next(self, *, wait: bool = True) -> _Job | None:
        """The next job, sent to the process; None at the end; `_NOT_YET` where none waits and none is waited for."""
        try:
            job = self.pool.jobs.get(block=wait)
        except Empty:
            return _NOT_YET
        if job is not None:
            self._send(job.message)
        return job

    def _send(self, message: bytes) -> None:
        try:
            self.pipe.send_bytes(message)
        except OSError:
            return  # it has died: the answer that does not come tells

    def _receive(self, unit: _Unit) -> bytes | None:
        try:
            reply: bytes = self.pipe.recv_bytes()
        except (EOFError, OSError):
            return None
        with self.pool.counting:
            self.pool.deaths[unit.metric] = 0
        return reply

    def _after_death(self, unit: _Unit, texts: bool) -> Measured:
        hopeless = self._anew(unit)
        if hopeless is not None:
            scores = [Score.failure(hopeless) for _ in unit.cases]
        else:
            scores = self._survivors(unit, unit.cases)  # whole once more: the death may have been an accident
        return Measured(scores, [score.to_json() for score in scores] if texts else None)

    def _survivors(self, unit: _Unit, cases: Sequence[Case]) -> list[Score]:
        """Scores of cases one of which may kill: that one has failed."""
        self._send(ask([(unit.metric, unit.evidence, cases)], False))
        reply = self._receive(unit)
        if reply is not None:
            return opened(reply)[0]
        hopeless = self._anew(unit)
        if hopeless is not None or len(cases) == 1:
            return [Score.failure(hopeless or DIED) for _ in cases]
        half = len(cases) // 2
        return self._survivors(unit, cases[:half]) + self._survivors(unit, cases[half:])

    def _anew(self, unit: _Unit) -> str | None:
        """Start the process again; why there is no use in trying this metric further, or None."""
        self.pipe.close()
        self.process.join(5)
        hopeless = self.pool.died(unit.metric, self.process.exitcode)
        self._open()
        return hopeless

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


def _open(reply: bytes) -> Measured:
    return Measured(*opened(reply))


def _conclude(unit: _Unit, make: Callable[[], Measured]) -> None:
    try:
        result = make()
    except BaseException as error:
        unit.future.set_exception(error)
    else:
        unit.future.set_result(result)
