"""A whole run: rows from a source, through an engine, into sinks; and the problems of its rows and metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

from medassay.cases import Case
from medassay.engine.base import Engine, Scored, Source
from medassay.engine.local import Local
from medassay.engine.sinks import Sink, feed, finish
from medassay.engine.store import Store
from medassay.errors import InputError
from medassay.metrics.base import Metric
from medassay.metrics.scoring import lacking
from medassay.scores import Score

Progress = Callable[[Iterable[list[Scored]]], Iterator[list[Scored]]]
"""Passes batches on while it shows how far the run is."""
Check = Callable[[Case, Mapping[str, Score]], Sequence[str]]
"""What else is wrong with a case that has been scored."""


@dataclass(frozen=True)
class Outcome:
    """The result of a run, apart from what its sinks hold.

    problems: rows that could not be read, that lack something, or on which a metric failed; then the metrics below.
    ended: metrics that failed on every case, each with its error. remarks: what a reader of the results must know.
    """

    problems: Sequence[str]
    ended: Mapping[str, str]
    remarks: Sequence[str] = ()


class Failures:
    """The cases on which metrics failed, and the metrics that failed on every case they could have scored."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.metrics = metrics
        self.rows: dict[str, list[str]] = {}
        self.first: dict[str, Score] = {}
        self.reached: set[str] = set()
        """Metrics that came to a verdict on some complete case."""

    def add(self, location: str, case: Case, scores: Mapping[str, Score]) -> str | None:
        """Take in one case; the first failure, where there is one."""
        line = None
        for metric in self.metrics:
            score = scores[metric.name]
            if score.failed is not None:
                line = f"{location}: metric '{metric.name}': {score.failed}"
                self.rows.setdefault(metric.name, []).append(line)
                self.first.setdefault(metric.name, score)
            elif score.value is not None or lacking(case, metric.needs) is None:
                self.reached.add(metric.name)
        return line

    @property
    def ended(self) -> dict[str, str]:
        """The error of each metric that failed on every case, and the line of code that raised it."""
        errors = {}
        for name, score in self.first.items():
            if name not in self.reached:
                raised = score.evidence.get("raised")
                errors[name] = f"{score.failed}{f' ({raised})' if raised else ''}"
        return errors

    def problems(self) -> list[str]:
        """A line per case and metric that failed; one line for a metric that failed on every case."""
        ended = self.ended
        rows = [row for name, failed in self.rows.items() if name not in ended for row in failed]
        return rows + [f"metric '{name}' failed on every case: {error}" for name, error in ended.items()]


@dataclass
class Job:
    """Rows through metrics into sinks.

    name: what messages call the source. candidate: its column of the candidates. strict: the first problem raises.
    checks: what else to look for in a scored case. batch: rows per batch; by default as the slowest metric takes.
    """

    source: Source
    metrics: Sequence[Metric]
    sinks: Sequence[Sink] = ()
    engine: Engine = field(default_factory=lambda: Local(0))
    store: Store | None = None
    name: str = "cases"
    candidate: str = "candidate"
    strict: bool = False
    checks: Sequence[Check] = ()
    batch: int | None = None
    progress: Progress = iter

    def run(self) -> Outcome:
        """Score all rows and finish the sinks. Raises InputError where no row is usable."""
        self._problems: list[str] = []
        self._widths: dict[str, int] = {}
        failures = Failures(self.metrics)
        count = 0
        with ExitStack() as stack:
            for sink in self.sinks:
                stack.enter_context(sink)
            evidence = max((sink.explained for sink in self.sinks), default=0)
            batches = self.engine.score(self.source, self.metrics, self.store, batch=self.batch, evidence=evidence)
            with closing(batches):
                for batch in self.progress(batches):
                    count += sum(self._pass_on(scored, failures) for scored in batch)
            if count == 0:
                raise InputError(f"{self.name}: no usable row. First problem: {self._problems[0]}")
            for problem in failures.problems():
                self._report(problem)
            remarks = finish(self.sinks)
        return Outcome(self._problems, failures.ended, remarks)

    def _pass_on(self, scored: Scored, failures: Failures) -> bool:
        """Hand one row to the sinks; whether it is a case."""
        case, location = scored.row.case, scored.row.location
        if case is None:
            self._report(f"{location}: {scored.row.problem}")
            return False
        if not case.has("candidate"):
            self._report(f"{location}: column '{self.candidate}' is empty; the case is unscored", stop=self.strict)
        scores = self._check_statistics(scored.scores)
        failed = failures.add(location, case, scores)
        if failed is not None and self.strict:
            raise InputError(f"{self.name}, {failed}")
        feed(self.sinks, case, scores)
        for check in self.checks:
            for problem in check(case, scores):
                self._report(f"{location}: {problem}", stop=self.strict)
        return True

    def _check_statistics(self, scores: Mapping[str, Score]) -> Mapping[str, Score]:
        """The scores; one with another number of statistics than those before it cannot be added up and has failed."""
        odd: dict[str, Score] = {}
        for name, score in scores.items():
            if score.value is not None:
                number, first = len(score.statistics), self._widths.setdefault(name, len(score.statistics))
                if number != first:
                    odd[name] = Score.failure(f"ValueError: {number} statistics, and {first} for the cases before")
        return {**scores, **odd} if odd else scores

    def _report(self, problem: str, *, stop: bool = False) -> None:
        if stop:
            raise InputError(f"{self.name}, {problem}")
        self._problems.append(problem)
        for sink in self.sinks:
            sink.problem(problem)
