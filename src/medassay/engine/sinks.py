"""Where the scored cases of a run go: `source -> engine -> sinks`.

A sink takes in a run case by case, in bounded memory. What belongs to other rooms (the tally of a summary, the report
page) is a sink of theirs; a run is put together where all of them are known, in `medassay.api`.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self

from medassay.cases import Case
from medassay.files import json_text, open_output
from medassay.metrics.base import Metric
from medassay.metrics.ensemble import save_distributions
from medassay.metrics.statement_check import StatementCheck
from medassay.metrics.trust import PARTIAL, ROUTE
from medassay.scores import Score


class Sink(Protocol):
    """Takes in a run. It is entered before the first case; left without `finish`, it keeps nothing.

    explained: of so many cases, from the start, it wants the evidence (`math.inf`: of all).
    """

    explained: float = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def add(self, case: Case, scores: Mapping[str, Score]) -> None:
        """Take in one case with its score on every metric."""
        return

    def problem(self, text: str) -> None:
        """Record a row that could not be read, or another problem."""
        return

    def remarks(self) -> Sequence[str]:
        """What a reader of all results must know, asked for once all cases are in."""
        return ()

    def remark(self, text: str) -> None:
        """Record such a remark, its own or another sink's."""
        return

    def finish(self) -> None:
        """There are no more cases: write what is to be written. Sinks finish in the order they are listed in."""
        return


def feed(sinks: Sequence[Sink], case: Case, scores: Mapping[str, Score]) -> None:
    """Give one case to every sink."""
    for sink in sinks:
        sink.add(case, scores)


def finish(sinks: Sequence[Sink]) -> list[str]:
    """Tell every sink the remarks of all, then finish them; returns the remarks."""
    remarks = [text for sink in sinks for text in sink.remarks()]
    for sink in sinks:
        for text in remarks:
            sink.remark(text)
    for sink in sinks:
        sink.finish()
    return remarks


class EvidenceFile(Sink):
    """JSON lines, one per case: every metric's value or reason, and what it rests on.

    record: makes the line of a case, where it is to be another.
    """

    explained = float("inf")

    def __init__(self, path: Path, record: Callable[[Case, Mapping[str, Score]], dict[str, Any]] | None = None) -> None:
        self.output: AbstractContextManager[IO[str]] = open_output(path)
        self.record = record or evidence_record

    def __enter__(self) -> Self:
        self.stream = self.output.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.output.__exit__(kind, error, trace)

    def add(self, case: Case, scores: Mapping[str, Score]) -> None:
        """Write one line."""
        self.stream.write(json_text(self.record(case, scores)) + "\n")


def evidence_record(case: Case, scores: Mapping[str, Score]) -> dict[str, Any]:
    """One line of the evidence file."""
    record: dict[str, Any] = {"id": case.id, "system": case.system, "image": case.image, "candidate": case.candidate}
    for name, score in scores.items():
        entry: dict[str, Any] = {"value": score.value, "unscored": score.unscored, "failed": score.failed}
        entry |= {"parts": dict(score.parts), "evidence": dict(score.evidence)}
        record[name] = entry | ({"labels": dict(score.labels)} if score.labels else {})
    return record


def ledger_record(case: Case, scores: Mapping[str, Score]) -> dict[str, Any]:
    """One line of the file of `medassay check`: statements and counts, or why there are none."""
    score = scores[StatementCheck.name]
    identity = {"id": case.id, **({"system": case.system} if case.system else {})}
    if score.value is not None:
        return identity | dict(score.evidence)
    reason = {"unscored": score.unscored} if score.failed is None else {"failed": score.failed}
    return identity | {"statements": [], "counts": {}} | reason


class RouteCount(Sink):
    """How many cases take each route, `none` for those that have none; and how many have partial trust."""

    def __init__(self) -> None:
        self.routes: Counter[str] = Counter()
        self.partial = 0

    def add(self, case: Case, scores: Mapping[str, Score]) -> None:
        """Count one case."""
        self.routes[route_of(scores)] += 1
        self.partial += is_partial(scores)


def route_of(scores: Mapping[str, Score]) -> str:
    """The route that a case's scores name, or `none`."""
    return next((score.labels[ROUTE] for score in scores.values() if ROUTE in score.labels), "none")


def is_partial(scores: Mapping[str, Score]) -> bool:
    """Whether a dimension of trust could not be assessed, so that there is no trust on the scale of the whole."""
    return any(PARTIAL in score.labels for score in scores.values())


class DistributionFile(Sink):
    """Stores how each metric is distributed over the run, for `z(…,reference=FILE)`."""

    def __init__(self, path: Path, metrics: Sequence[Metric]) -> None:
        self.path = path
        self.metrics = metrics
        self.values: dict[str, array[float]] = {metric.name: array("d") for metric in metrics}

    def add(self, case: Case, scores: Mapping[str, Score]) -> None:
        """Take in the values of one case."""
        for name, column in self.values.items():
            value = scores[name].value
            if value is not None:
                column.append(value)

    def finish(self) -> None:
        """Write means and deviations."""
        save_distributions(self.path, self.metrics, self.values)
