"""What runs on the workers of a Ray cluster: files cut into slices, slices measured, parts written.

Between the stages a slice is one row of an Arrow table, its cases and scores pickled, so that Ray neither splits
nor joins slices.
"""

from __future__ import annotations

import errno
import pickle
import socket
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from medassay.cases import read_file
from medassay.engine.base import DIED, chunks
from medassay.engine.ray_parts import AttemptLog, Parts
from medassay.engine.slices import Measured, SliceRunner, WorkUnit
from medassay.engine.worker import limit_threads, measure
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.scores import Score

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
END = -1
"""In place of a slice's number: the file has come to its end, and `total` says after how many slices."""


def table(file: int, index: int, *, total: int = 0, error: str = "", load: bytes = b"") -> Any:
    """One slice, or one thing to be told about a file, as an Arrow table of one row."""
    import pyarrow

    return pyarrow.table(
        {
            "file": pyarrow.array([file], pyarrow.int64()),
            "slice": pyarrow.array([index], pyarrow.int64()),
            "total": pyarrow.array([total], pyarrow.int64()),
            "error": pyarrow.array([error], pyarrow.string()),
            "load": pyarrow.array([load], pyarrow.binary()),
        }
    )


def read_slices(
    files: Any,
    *,
    columns: Mapping[str, str],
    format: str | None,
    folder: bool,
    size: int,
    kept: Mapping[int, Set[int]],
) -> Iterator[Any]:
    """The slices of each file that are not kept, then its end. files: a table of numbers and paths.

    kept: the slices of each file that had a part when the run began. Parts that came since do not count: Ray runs a
    reader that died again and passes over as many slices as it has seen, which must be the same ones.
    """
    for record in files.to_pylist():
        file, total = record["file"], 0
        try:
            for index, rows in enumerate(
                chunks(read_file(record["path"], columns, format=format, folder=folder), size)
            ):
                total += 1
                if index not in kept.get(file, ()):
                    yield table(file, index, load=pickle.dumps((rows, {}), pickle.HIGHEST_PROTOCOL))
        except MedassayError as error:
            yield table(file, END, error=str(error))
        else:
            yield table(file, END, total=total)


class Measurer:
    """One worker: holds its metrics, and their models once used. The last stage writes the parts.

    shipped: the pickled metrics; `which` of them this stage measures. paths: where their modules are found.
    """

    def __init__(
        self, shipped: bytes, which: Sequence[int], last: bool, parts: str, paths: Sequence[str], evidence: bool
    ) -> None:
        self.which, self.last, self.parts, self.evidence = which, last, Parts(Path(parts)), evidence
        self.metrics: Sequence[Metric] = []
        self.fault = ""
        sys.path += [path for path in paths if path not in sys.path]
        try:
            self.parts.check()
            self.metrics = pickle.loads(shipped)  # noqa: S301 - from our own driver
        except Exception as error:  # a model, module or folder that this machine lacks: told with the first slice
            self.fault = _describe(error)

    def __call__(self, slices: Any) -> Iterator[Any]:
        for record in slices.to_pylist():
            file, index = record["file"], record["slice"]
            if index == END or record["error"]:
                yield table(file, index, total=record["total"], error=record["error"])
            elif self.fault:
                yield table(file, index, error=self.fault)
            else:
                yield self._slice(file, index, record["load"])

    def _slice(self, file: int, index: int, load: bytes) -> Any:
        rows, columns = pickle.loads(load)  # noqa: S301 - from an earlier stage
        cases = [row.case for row in rows if row.case is not None]
        attempts = self.parts.attempts(file, index)
        try:
            for k in self.which:
                slices = SliceRunner(_LoggedPool(k, attempts), None)
                columns[k] = [score.to_json() for score in slices.scores(self.metrics[k], cases, self.evidence)]
            if not self.last:
                return table(file, index, load=pickle.dumps((rows, columns), pickle.HIGHEST_PROTOCOL))
            named = [(metric.name, columns[k]) for k, metric in enumerate(self.metrics)]
            self.parts.write(file, index, rows, named)
        except Exception as error:
            return table(file, index, error=_describe(error))
        attempts.remove()
        return table(file, index)


class CoreMeasurer(Measurer):
    """A worker with one core to itself."""

    def __init__(self, *given: Any) -> None:
        limit_threads(1)
        super().__init__(*given)


class _LoggedPool:
    """The pool of a cluster's worker: slices are measured at once, and what was begun is written down before.

    number: of the metric.
    """

    ahead = 0

    def __init__(self, number: int, attempts: AttemptLog) -> None:
        self.number, self.attempts = number, attempts
        self.done = 0

    def submit(self, units: Sequence[WorkUnit], *, texts: bool) -> list[Future[Measured]]:
        """Futures that are done already."""
        futures: list[Future[Measured]] = []
        for unit in units:
            futures.append(Future())
            futures[-1].set_result(Measured(self._survivors(unit, 0, len(unit.cases)), None))
            self.done += len(unit.cases)
        return futures

    def _survivors(self, unit: WorkUnit, start: int, stop: int) -> list[Score]:
        """Scores of cases [start, stop), one of which may end this process: Ray then starts another, which comes here.

        A slice is tried whole a second time, as a death may be an accident; then it is halved until the case that
        kills stands alone, and that one has failed.
        """
        mark = self.number, self.done + start, self.done + stop
        whole = stop - start == len(unit.cases)
        if stop > start and self.attempts.deaths(*mark) >= (2 if whole else 1):
            if stop - start == 1:
                return [Score.failure(DIED)]
            half = (start + stop) // 2
            return self._survivors(unit, start, half) + self._survivors(unit, half, stop)
        self.attempts.begin(*mark)
        scores, _ = measure(unit.metric, unit.cases[start:stop], unit.evidence, True)
        self.attempts.finish(*mark)
        return scores


def _describe(error: Exception) -> str:
    """What went wrong, for the user of the driver: the machine it happened on, and a trace where it is a fault."""
    if isinstance(error, MedassayError | ImportError):
        return f"on the worker {socket.gethostname()}: {error}"
    if isinstance(error, OSError):
        full = "; is the disk full?" if error.errno in _FULL else ""
        return f"on the worker {socket.gethostname()}: {error}{full}"
    return f"on the worker {socket.gethostname()}:\n{traceback.format_exc()}"
