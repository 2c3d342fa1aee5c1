"""The process that measures: it holds its metrics, and their models once they are used, and answers slices.

Messages are pickled. What is asked: cases, and for each of several metrics which of them to measure. An answer
follows for each metric, in order: the scores as tuples and, where wanted, as JSON; or the kind and the text of what
went wrong with the whole slice.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import stat
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from medassay.cases import Case
from medassay.engine.base import measure
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.scores import Score

RARELY = (50_000, 20, 50)
"""Thresholds of the garbage collector: rows and scores hold no cycles, and looking for some took a tenth of a run."""


def work(here: Connection, others: Sequence[Connection], metrics: Sequence[Metric], threads: int) -> None:
    """Answer slices until the other end is closed.

    others: ends that a fork has copied into this process and that only the parent may hold: a copy left open
    would keep its reader waiting for a parent that is gone. So would one of any other connection of the parent, a
    server's to its clients for instance; a metric opens its connections when it measures.
    """
    for end in others:
        end.close()
    if others:
        let_go_of_sockets(here.fileno())
    signal.set_wakeup_fd(-1)  # an event loop's of the parent
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends the run
    limit_threads(threads)
    gc.freeze()  # what came with the fork stays, and stays shared
    gc.set_threshold(*RARELY)
    while True:
        try:
            message = here.recv_bytes()
        except (EOFError, OSError):
            return
        try:
            for reply in answers(message, metrics):
                here.send_bytes(reply)
        except (BrokenPipeError, ConnectionResetError):
            return


def let_go_of_sockets(kept: int) -> None:
    """Give up this process's copies of the parent's sockets, but for one.

    Only sockets: files may be a log, and the pipes tell either process of the other's end. Their numbers lead to the
    null device and are not free: objects that came with the fork may close them later, whatever is there by then.
    """
    try:
        copied = [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]
    except OSError:
        return  # no /proc here: they stay
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


def ask(units: Sequence[tuple[int, bool, Sequence[Case]]], texts: bool) -> bytes:
    """The message that asks for slices: (metric, evidence wanted, cases) each. A case of several travels once."""
    places: dict[int, int] = {}
    plain: list[tuple[Any, ...]] = []
    asked = []
    for metric, evidence, cases in units:
        at = []
        for c in cases:
            if id(c) not in places:
                places[id(c)] = len(plain)
                plain.append((c.id, c.candidate, c.references, c.source, c.image, c.system, dict(c.extra), c.row))
            at.append(places[id(c)])
        asked.append((metric, evidence, at))
    return pickle.dumps((plain, asked, texts), pickle.HIGHEST_PROTOCOL)


def answers(message: bytes, metrics: Sequence[Metric]) -> Iterator[bytes]:
    """Measure slices."""
    plain, asked, texts = pickle.loads(message)  # noqa: S301 - from our own parent process
    cases = [Case(*one) for one in plain]
    for which, evidence, places in asked:
        metrics[which].with_evidence = evidence
        yield pickle.dumps(_measured(metrics[which], [cases[i] for i in places], texts), pickle.HIGHEST_PROTOCOL)


def _measured(metric: Metric, cases: Sequence[Case], texts: bool) -> tuple[Any, ...]:
    try:
        scores = measure(metric, cases)
        said = [score.to_json() for score in scores] if texts else None
        return None, [_plain(score) for score in scores], said
    except MedassayError as error:
        return "user", str(error), None
    except MemoryError:
        return "user", f"metric '{metric.name}': not enough memory for {len(cases)} cases; use fewer --workers", None
    except ImportError as error:
        return "import", str(error), None
    except Exception:
        return "fault", f"metric '{metric.name}' in a worker process:\n{traceback.format_exc()}", None


def opened(reply: bytes) -> tuple[list[Score], list[str] | None]:
    """The scores of an answer; raises what went wrong with the slice."""
    kind, content, texts = pickle.loads(reply)  # noqa: S301 - from our own worker process
    if kind is None:
        return [Score(*one) for one in content], texts
    raise {"user": MedassayError, "import": ImportError}.get(kind, RuntimeError)(content)


def _plain(score: Score) -> tuple[Any, ...]:
    return (
        score.value,
        score.unscored,
        dict(score.parts),
        dict(score.evidence),
        score.statistics,
        dict(score.labels),
    )
