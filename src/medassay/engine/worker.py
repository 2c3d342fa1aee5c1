"""The worker process: it holds its metrics, and their models once they are used, and measures slices.

Messages are pickled. A request holds cases and, for each of several metrics, which of them to measure. An answer
follows for each metric, in order: the scores as tuples and, where wanted, as JSON.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import pickle
import signal
import stat
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from medassay.cases import Case
from medassay.engine.base import case_fields
from medassay.metrics.base import Metric
from medassay.metrics.scoring import score_slice
from medassay.scores import Score

WARM_UP_CASE = Case(
    "warm", "Adenocarcinoma, grade 2.", ("Adenocarcinoma, moderately differentiated.",), source="Biopsy."
)
"""A case that opens the models of a metric."""

GC_THRESHOLDS = (50_000, 20, 50)
"""Thresholds of the garbage collector: rows and scores hold no cycles, and looking for some took a tenth of a run."""


_PR_SET_PDEATHSIG = 1
"""From linux/prctl.h."""


def work(connection: Connection, inherited: Sequence[Connection], metrics: Sequence[Metric], threads: int) -> None:
    """Answer slices until the other end is closed.

    inherited: ends that a fork has copied into this process and that only the parent may hold: a copy left open
    would keep its reader waiting for a parent that is gone. So would one of any other connection of the parent, a
    server's to its clients for instance; a metric opens its connections when it measures.
    """
    end_with_parent()
    for end in inherited:
        end.close()
    if inherited:
        close_inherited_sockets(connection.fileno())
    signal.set_wakeup_fd(-1)  # an event loop's of the parent
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends the run
    limit_threads(threads)
    gc.freeze()  # what came with the fork stays, and stays shared
    gc.set_threshold(*GC_THRESHOLDS)
    while True:
        try:
            message = connection.recv_bytes()
        except (EOFError, OSError):
            return
        try:
            for reply in encode_answers(message, metrics):
                connection.send_bytes(reply)
        except (BrokenPipeError, ConnectionResetError):
            return


def end_with_parent() -> None:
    """Have the system kill this process when its parent ends, whatever it is doing then.

    On Linux by PR_SET_PDEATHSIG, which also ends a process that is inside a regular expression and runs no Python
    code; it counts from the thread that started this process. Elsewhere a thread looks for the parent.
    """
    parent = multiprocessing.parent_process()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if parent is not None and os.getppid() != parent.pid:
            os._exit(1)  # it ended before this was asked for
    elif parent is not None:
        threading.Thread(target=_wait_for_end, args=(parent.sentinel,), name="medassay-parent", daemon=True).start()


def _wait_for_end(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def close_inherited_sockets(kept: int) -> None:
    """Close this process's copies of the parent's sockets, except for one.

    Only sockets: files may be a log, and the pipes tell either process of the other's end. Their numbers lead to the
    null device and are not free: objects that came with the fork may close them later, whatever is there by then.
    """
    try:
        copied = [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]
    except OSError:
        return  # no /proc: they stay open
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for number in copied:
        with suppress(OSError):  # the one that listed them is closed again
            if number > 2 and number != kept and stat.S_ISSOCK(os.fstat(number).st_mode):
                os.dup2(nowhere, number, inheritable=False)
    os.close(nowhere)


def limit_threads(threads: int) -> None:
    """Cores for models opened from now on in this process, and in those it starts."""
    os.environ["MEDASSAY_THREADS"] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def encode_request(units: Sequence[tuple[int, bool, Sequence[Case]]], texts: bool) -> bytes:
    """The message that asks for slices: (metric, evidence wanted, cases) each. A case of several travels once."""
    numbers: dict[int, int] = {}
    plain: list[tuple[Any, ...]] = []
    asked = []
    for metric, evidence, cases in units:
        at = []
        for c in cases:
            if id(c) not in numbers:
                numbers[id(c)] = len(plain)
                plain.append(case_fields(c))
            at.append(numbers[id(c)])
        asked.append((metric, evidence, at))
    return pickle.dumps((plain, asked, texts), pickle.HIGHEST_PROTOCOL)


def encode_answers(message: bytes, metrics: Sequence[Metric]) -> Iterator[bytes]:
    """Measure slices: for each the scores as tuples and, where wanted, as JSON."""
    plain, asked, texts = pickle.loads(message)  # noqa: S301 - from our own parent process
    cases = [Case(*fields) for fields in plain]
    for which, evidence, numbers in asked:
        scores, written = measure(metrics[which], [cases[i] for i in numbers], evidence, texts)
        try:
            yield pickle.dumps(([_plain(score) for score in scores], written), pickle.HIGHEST_PROTOCOL)
        except Exception:  # whatever a metric has put into its evidence
            scores, written = _as_json(scores)
            yield pickle.dumps(([_plain(score) for score in scores], written), pickle.HIGHEST_PROTOCOL)


def measure(metric: Metric, cases: Sequence[Case], evidence: bool, texts: bool) -> tuple[list[Score], list[str] | None]:
    """The scores of a slice and, where wanted, the same as JSON."""
    scores = score_slice(metric, cases, evidence)
    return _as_json(scores) if texts else (scores, None)


def _as_json(scores: Sequence[Score]) -> tuple[list[Score], list[str]]:
    """Scores with their JSON; one whose evidence is no plain JSON has failed."""
    checked, texts = list(scores), []
    for i, score in enumerate(scores):
        try:
            texts.append(score.to_json())
        except (TypeError, ValueError) as error:
            checked[i] = Score.failure(f"{type(error).__name__}: evidence is not plain JSON ({error})")
            texts.append(checked[i].to_json())
    return checked, texts


def decode_answer(reply: bytes) -> tuple[list[Score], list[str] | None]:
    """The scores of an answer."""
    content, texts = pickle.loads(reply)  # noqa: S301 - from our own worker process
    return [Score(*fields) for fields in content], texts


def _plain(score: Score) -> tuple[Any, ...]:
    return (
        score.value,
        score.unscored,
        dict(score.parts),
        dict(score.evidence),
        score.statistics,
        dict(score.labels),
        score.failed,
    )
