"""The process that measures: it holds its metrics, and their models once they are used, and answers slices.

Messages are pickled tuples. A slice: (metric, evidence wanted, JSON wanted, cases). An answer: the scores as
tuples and, where wanted, as JSON; or the kind and the text of what went wrong with the whole slice.
"""

from __future__ import annotations

import os
import pickle
import signal
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from medassay.cases import Case
from medassay.engine.base import measure
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.scores import Score


def work(here: Connection, others: Sequence[Connection], metrics: Sequence[Metric], threads: int) -> None:
    """Answer slices until the other end is closed.

    others: ends that a fork has copied into this process and that only the parent may hold: a copy left open
    would keep its reader waiting for a parent that is gone.
    """
    for end in others:
        end.close()
    signal.set_wakeup_fd(-1)  # an event loop's of the parent
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends the run
    limit_threads(threads)
    while True:
        try:
            message = here.recv_bytes()
        except (EOFError, OSError):
            return
        try:
            here.send_bytes(answer(message, metrics))
        except (BrokenPipeError, ConnectionResetError):
            return


def limit_threads(threads: int) -> None:
    """Cores for models opened from now on in this process, and in those it starts."""
    os.environ["MEDASSAY_THREADS"] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def ask(metric: int, evidence: bool, texts: bool, cases: Sequence[Case]) -> bytes:
    """The message that asks for a slice."""
    plain = [(c.id, c.candidate, c.references, c.source, c.image, c.system, dict(c.extra), c.row) for c in cases]
    return pickle.dumps((metric, evidence, texts, plain), pickle.HIGHEST_PROTOCOL)


def answer(message: bytes, metrics: Sequence[Metric]) -> bytes:
    """Measure a slice."""
    which, evidence, texts, plain = pickle.loads(message)  # noqa: S301 - from our own parent process
    metric = metrics[which]
    metric.with_evidence = evidence
    reply: tuple[Any, ...]
    try:
        scores = measure(metric, [Case(*one) for one in plain])
        said = [score.to_json() for score in scores] if texts else None
        reply = (None, [_plain(score) for score in scores], said)
    except MedassayError as error:
        reply = ("user", str(error), None)
    except MemoryError:
        text = f"metric '{metric.name}': not enough memory for {len(plain)} cases; use fewer --workers"
        reply = ("user", text, None)
    except ImportError as error:
        reply = ("import", str(error), None)
    except Exception:
        reply = ("fault", f"metric '{metric.name}' in a worker process:\n{traceback.format_exc()}", None)
    return pickle.dumps(reply, pickle.HIGHEST_PROTOCOL)


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
