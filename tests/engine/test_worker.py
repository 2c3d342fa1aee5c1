"""The worker process lets go of what a fork has copied into it."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from medassay.cases import Case
from medassay.engine.base import DIED
from medassay.engine.slices import WorkUnit
from medassay.engine.workers import START, WorkerPool
from medassay.metrics.base import Metric
from medassay.scores import Score


class Looking(Metric):
    """How many sockets above the standard streams its process has open; `killer` ends the process."""

    name = "looking"
    summary = defined = "here"
    needs = frozenset({"candidate"})
    bounds = (0, None)

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return [self._one(case.candidate) for case in cases]

    def _one(self, text: str) -> Score:
        if text == "killer":
            os.kill(os.getpid(), signal.SIGKILL)
        if text == "file":
            with tempfile.TemporaryFile() as file:  # takes a number that is free
                file.write(b"x")
        return Score(float(sum(map(is_socket, Path("/proc/self/fd").iterdir()))))


def is_socket(entry: Path) -> bool:
    return int(entry.name) > 2 and entry.is_socket()


def scores(pool: WorkerPool, metric: Metric, *texts: str) -> list[Score]:
    (future,) = pool.submit([WorkUnit(metric, [Case(str(i), text) for i, text in enumerate(texts)])], texts=False)
    return list(future.result(60).scores)


@pytest.mark.skipif(START != "fork", reason="only a fork copies what is open")
@pytest.mark.parametrize("anew", [False, True])
def test_a_connection_of_the_parent_ends_when_the_parent_closes_it(anew: bool) -> None:
    metric = Looking()
    pool = WorkerPool([metric], 2)
    try:
        if anew:
            scores(pool, metric, "first")
        ours, theirs = socket.socketpair()
        if anew:
            assert scores(pool, metric, "killer")[0].failed == DIED
        scores(pool, metric, "started by now")
        theirs.settimeout(20)
        ours.close()
        assert theirs.recv(1) == b""  # as a client sees it; a copy in a worker would leave it waiting
        theirs.close()
        assert [score.value for score in scores(pool, metric, "now", "file", "now")] == [1.0, 1.0, 1.0]  # its pipe
    finally:
        pool.close()


@pytest.mark.skipif(START != "fork", reason="only a fork copies what is open")
def test_the_parent_still_sees_that_a_worker_ends() -> None:
    metric = Looking()
    pool = WorkerPool([metric], 1)
    try:
        scores(pool, metric, "started")
        process = pool.worker_threads[0].process
        process.join(0.2)
        assert process.exitcode is None  # comes back: what tells of the end is open
    finally:
        pool.close()
    assert process.exitcode == -signal.SIGTERM
