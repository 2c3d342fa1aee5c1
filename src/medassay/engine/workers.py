"""A pool of worker processes for the local engine; a process that dies costs at most one case.

A process that dies is started again and its slice is measured again. If it dies again, the slice is halved until the
case that ends the process is alone: that case has failed, with the reason, and every other case has its score. A
metric whose processes die on every case fails on the rest of its cases; the other metrics go on.

With a time limit per case, a process that takes longer is killed and replaced. A slice of several cases that is late
is measured again case by case: the case that takes longer than the limit has failed, every other has its score.
"""

from __future__ import annotations

import atexit
import multiprocessing
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any, Literal

from medassay.cases import Case
from medassay.engine.base import DIED, too_long
from medassay.engine.slices import Measured, WorkUnit
from medassay.engine.worker import WARM_UP_CASE, decode_answer, encode_request, work
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.scores import Score

_MOST_DEATHS = 64
"""Deaths in a row under one metric, no slice of it measured between them: then it is not a case that kills."""

STOPPED = "the run was stopped"

_SHARE_OF_LIMIT = 0.1
"""Of the time limit per case: how long a slice of several cases may take before its cases are measured one by one."""
_SHORTEST = 1.0
"""Seconds that such a slice may take whatever the limit, where the limit itself is not shorter."""

START = "fork" if sys.platform == "linux" else "spawn"
"""A forked worker starts in milliseconds and shares what is loaded; elsewhere forking is unsafe or absent."""


@dataclass(eq=False)
class _PendingUnit:
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
    """Units that one worker measures, one after the other: those that the message asks for, then those in pieces."""

    units: list[_PendingUnit]
    texts: bool
    message: bytes
    piecewise: Sequence[_PendingUnit] = ()


_NOT_YET = _Job([], False, b"")


End = Literal["dead", "late"]
"""Why there is no answer: the process has died, or takes longer than it may."""


class WorkerPool:
    """Up to `number` processes with these metrics, started as there is work for them. Safe from any thread.

    threads: cores that each may use for its models. limit: seconds that a metric may take for a case, None: any.
    """

    def __init__(self, metrics: Sequence[Metric], number: int, threads: int = 1, *, limit: float | None = None) -> None:
        self.metrics = list(metrics)
        self.index = {id(metric): i for i, metric in enumerate(self.metrics)}
        self.number, self.threads, self.limit = number, threads, limit
        self.largest: dict[int, int] = {}
        """By metric, the cases that were seen to be too many for a slice under the time limit."""
        self.ahead = 2 * number + 1
        self.jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self.worker_threads: list[_WorkerThread] = []
        self.starting = threading.Lock()
        self.counting = threading.Lock()
        self.pending = 0
        self.deaths: Counter[int] = Counter()
        self.closed = False
        atexit.register(self.close)

    def submit(self, units: Sequence[WorkUnit], *, texts: bool) -> list[Future[Measured]]:
        """The scores of each unit, in time; one worker measures them all."""
        pending_units = [_PendingUnit(self.index[id(unit.metric)], unit.evidence, unit.cases) for unit in units]
        large = [unit for unit in pending_units if len(unit.cases) > self.largest.get(unit.metric, len(unit.cases))]
        small = [unit for unit in pending_units if unit not in large] if large else pending_units
        job = _Job(small, texts, encode_request([unit.asked for unit in small], texts), large)
        with self.counting:
            if self.closed:
                raise MedassayError(STOPPED)
            self.pending += 1
            if self.pending > len(self.worker_threads):
                self._start_one()
            self.jobs.put(job)
        return [unit.future for unit in pending_units]

    def warm(self) -> None:
        """Start every worker now."""
        with self.counting:
            while self._start_one():
                pass

    def _start_one(self) -> bool:
        if len(self.worker_threads) >= self.number:
            return False
        thread = _WorkerThread(self)
        self.worker_threads.append(thread)
        thread.start()
        thread.opened.wait()  # as if forked here: whoever asks for scores is not in the middle of something else
        if thread.error is not None:
            self.worker_threads.remove(thread)
            raise thread.error
        return True

    def allowed(self, number: int) -> float | None:
        """Seconds that so many cases of one metric may take; None: any."""
        if self.limit is None or number == 1:
            return self.limit
        return min(self.limit, max(_SHORTEST, _SHARE_OF_LIMIT * self.limit))

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
            for unit in (*job.units, *job.piecewise):
                unit.future.set_exception(MedassayError(STOPPED))
        for _ in self.worker_threads:
            self.jobs.put(None)
        for thread in self.worker_threads:
            thread.end()


class _WorkerThread(threading.Thread):
    """One worker process and the thread that starts it, feeds it, and starts it again."""

    def __init__(self, pool: WorkerPool) -> None:
        super().__init__(name="medassay-worker", daemon=True)
        self.pool = pool
        self.context: Any = multiprocessing.get_context(START)
        self.process: Any = None
        self.pipe: Connection | None = None
        self.warm: set[int] = set()
        """Metrics whose models this process has opened."""
        self.opened = threading.Event()
        self.error: BaseException | None = None

    def _open(self) -> None:
        # One at a time: a fork must know every end that it copies.
        with self.pool.starting:
            if self.pool.closed:
                raise MedassayError(STOPPED)
            self.pipe, there = self.context.Pipe()
            copies = (
                [thread.pipe for thread in self.pool.worker_threads if thread.pipe is not None]
                if START == "fork"
                else []
            )
            process = self.context.Process(
                target=work, args=(there, copies, self.pool.metrics, self.pool.threads), name="medassay-worker"
            )
            process.start()
            self.process = process
            self.warm = set()
            there.close()

    def run(self) -> None:
        """Start the process, then have it measure job after job.

        The process is started here because it ends with the thread that started it (`engine/worker.py`).
        """
        try:
            self._open()
        except BaseException as error:
            self.error = error
            return
        finally:
            self.opened.set()
        job = self._next()
        while job is not None:
            following = self._measure(job)
            self.pool.done()
            job = self._next() if following is _NOT_YET else following

    def _measure(self, job: _Job) -> _Job | None:
        """Conclude every unit of a job; the next job where that was sent already, else `_NOT_YET`."""
        following: _Job | None = _NOT_YET
        for k, unit in enumerate(job.units):
            rest = job.units[k + 1 :]
            reply = self._receive(unit, len(unit.cases))
            if not isinstance(reply, bytes):
                _conclude(unit, partial(self._after, reply, unit, job.texts))
                if rest:
                    self._open_models(rest)
                    self._send(encode_request([unit.asked for unit in rest], job.texts))
                continue
            if not rest and not job.piecewise:
                following = self._next(wait=False)  # the worker has it before these scores are looked at
            _conclude(unit, partial(_read, reply))
        for unit in job.piecewise:
            _conclude(unit, partial(self._piecewise, unit, job.texts))
        return following

    def _next(self, *, wait: bool = True) -> _Job | None:
        """The next job, sent to the process; None at the end; `_NOT_YET` where none waits and none is waited for."""
        try:
            job = self.pool.jobs.get(block=wait)
        except Empty:
            return _NOT_YET
        if job is not None:
            self._open_models([*job.units, *job.piecewise])
            if job.units:
                self._send(job.message)
        return job

    def _open_models(self, units: Sequence[_PendingUnit]) -> None:
        """Under a time limit, have the process open the models of these metrics first: no case pays for that."""
        if self.pool.limit is None:
            return
        for metric in dict.fromkeys(unit.metric for unit in units):
            if metric not in self.warm and self.pool.metrics[metric].roles:
                self.warm.add(metric)
                self._send(encode_request([(metric, False, [WARM_UP_CASE])], False))
                with suppress(EOFError, OSError):  # it dies of the first case, too
                    self._connection.recv_bytes()

    @property
    def _connection(self) -> Connection:
        assert self.pipe is not None
        return self.pipe

    def _send(self, message: bytes) -> None:
        try:
            self._connection.send_bytes(message)
        except OSError:
            return  # it has died: the answer that does not come tells

    def _receive(self, unit: _PendingUnit, number: int) -> bytes | End:
        """The answer about so many cases of a unit, or why there is none."""
        allowed = self.pool.allowed(number)
        try:
            if allowed is not None and not self._connection.poll(allowed):
                return "late"
            reply: bytes = self._connection.recv_bytes()
        except (EOFError, OSError):
            return "dead"
        with self.pool.counting:
            self.pool.deaths[unit.metric] = 0
        return reply

    def _after(self, end: End, unit: _PendingUnit, texts: bool) -> Measured:
        """Measure a unit again whose first try came to that end."""
        reason = self._restart(end, unit)
        if reason is not None:
            return _failed(reason, unit.cases, texts)
        if end == "late":
            return self._one_by_one(unit, unit.cases, texts)
        return self._again(unit, unit.cases, texts)  # whole once more: the death may have been an accident

    def _again(self, unit: _PendingUnit, cases: Sequence[Case], texts: bool) -> Measured:
        """Scores of cases one of which may kill or hang: that one has failed."""
        self._open_models([unit])
        self._send(encode_request([(unit.metric, unit.evidence, cases)], texts))
        reply = self._receive(unit, len(cases))
        if isinstance(reply, bytes):
            return _read(reply)
        reason = self._restart(reply, unit)
        if reason is not None:
            return _failed(reason, cases, texts)
        if reply == "late":
            return self._one_by_one(unit, cases, texts)
        if len(cases) == 1:
            return _failed(DIED, cases, texts)
        half = len(cases) // 2
        return _joined([self._again(unit, cases[:half], texts), self._again(unit, cases[half:], texts)])

    def _one_by_one(self, unit: _PendingUnit, cases: Sequence[Case], texts: bool) -> Measured:
        """Scores of cases that took too long: each alone, or the failure of the one there is."""
        late = too_long(self.pool.limit or 0.0)
        if len(cases) == 1:
            return _failed(late, cases, texts)
        each = _joined([self._again(unit, [case], texts) for case in cases])
        if all(score.failed != late for score in each.scores):
            # No case hangs: there were too many of them.
            self.pool.largest[unit.metric] = max(1, len(cases) // 2)
        return each

    def _piecewise(self, unit: _PendingUnit, texts: bool) -> Measured:
        """Scores of a unit that is too large to be measured as a whole within the time limit."""
        pieces, rest = [], list(unit.cases)
        while rest:
            some = self.pool.largest[unit.metric]
            began = time.monotonic()
            pieces.append(self._again(unit, rest[:some], texts))
            rest = rest[some:]
            if time.monotonic() - began < (self.pool.allowed(some) or 0.0) / 4:
                self.pool.largest[unit.metric] = 2 * some  # it was slow for a while
        return _joined(pieces)

    def _restart(self, end: End, unit: _PendingUnit) -> str | None:
        """Start the process again; why there is no use in trying this metric further, or None."""
        if end == "late":
            self.process.kill()
        self._connection.close()
        self.process.join(5)
        reason = self.pool.died(unit.metric, self.process.exitcode) if end == "dead" else None
        self._open()
        return reason

    def end(self) -> None:
        """End the process; the thread follows."""
        if self.process is not None:
            self.process.terminate()
            self.process.join(2)
            if self.process.exitcode is None:
                self.process.kill()
                self.process.join()
        if threading.current_thread() is not self:
            self.join(2)
        if self.pipe is not None:
            self.pipe.close()


def _read(reply: bytes) -> Measured:
    return Measured(*decode_answer(reply))


def _failed(reason: str, cases: Sequence[Case], texts: bool) -> Measured:
    score = Score.failure(reason)
    return Measured([score for _ in cases], [score.to_json() for _ in cases] if texts else None)


def _joined(pieces: Sequence[Measured]) -> Measured:
    texts = [text for piece in pieces for text in piece.texts or ()]
    whole = any(piece.texts is not None for piece in pieces)
    return Measured([score for piece in pieces for score in piece.scores], texts if whole else None)


def _conclude(unit: _PendingUnit, make: Callable[[], Measured]) -> None:
    try:
        result = make()
    except BaseException as error:
        unit.future.set_exception(error)
    else:
        unit.future.set_result(result)
