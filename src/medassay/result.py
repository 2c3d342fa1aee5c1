"""What `medassay.score` returns: the scores of a set of cases in memory, with aggregates, tables and pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medassay.cases import Case
from medassay.engine.domain import DomainCheck
from medassay.engine.job import Failures
from medassay.engine.scores_file import FlatRecords, ScoresFile
from medassay.engine.sinks import Sink, feed, finish
from medassay.errors import InputError
from medassay.metrics.base import Metric
from medassay.scores import Score
from medassay.study import Aggregate, Tally, summarise

if TYPE_CHECKING:
    import pandas
    import polars


class Summary(Sink):
    """The summary of a run as one of its sinks.

    by: the column whose values are the groups. cluster: what is resampled together, see `Tally`.
    """

    def __init__(
        self,
        metrics: Sequence[Metric],
        by: str | None = None,
        cluster: str = "reference",
        resamples: int = 1000,
        seed: int = 1,
    ) -> None:
        if resamples < 0:
            raise InputError(f"resamples must be 0 or more, not {resamples}")
        self.tally = Tally(metrics, by=by, cluster=cluster)
        self.resamples, self.seed = resamples, seed
        self.aggregates: list[Aggregate] = []

    def add(self, case: Case, scores: Mapping[str, Score]) -> None:
        """Take in one case."""
        self.tally.add(case, scores)

    def finish(self) -> None:
        """Compute the aggregates."""
        self.aggregates = summarise(self.tally, resamples=self.resamples, seed=self.seed)


@dataclass(frozen=True)
class Result:
    """A finished run: every case with every metric's score, in input order.

    Aggregates leave unscored and failed cases out, and say how many there were.
    """

    cases: Sequence[Case]
    metrics: Sequence[Metric]
    scores: Mapping[str, Sequence[Score]]

    def __len__(self) -> int:
        return len(self.cases)

    def __getitem__(self, metric: str) -> Sequence[Score]:
        return self.scores[metric]

    @property
    def mean(self) -> dict[str, float]:
        """Each metric's aggregate over all scored cases (the mean, except where a metric defines its
        own, such as corpus BLEU); NaN where no case is scored."""
        return {row.metric: row.value for row in self.summary(resamples=0)}

    @property
    def signatures(self) -> dict[str, str]:
        """The signature of each metric, by name."""
        return {metric.name: str(metric.signature) for metric in self.metrics}

    @property
    def problems(self) -> list[str]:
        """The cases on which a metric failed, and the metrics that failed on every case."""
        failures = Failures(self.metrics)
        for i, case in enumerate(self.cases):
            failures.add(f"row {case.row}", case, self._scores(i))
        return failures.problems()

    @property
    def warnings(self) -> list[str]:
        """Warnings about the numbers, such as that a metric was given texts it is not made for."""
        watch = DomainCheck(self.metrics)
        for i, case in enumerate(self.cases):
            watch.add(case, self._scores(i))
        return list(watch.remarks())

    def summary(
        self, by: str | None = None, *, cluster: str = "reference", resamples: int = 1000, seed: int = 1
    ) -> list[Aggregate]:
        """Aggregates with 95 % studentised bootstrap intervals, over all cases or for each value of a column.

        Resampling draws whole clusters (`reference`: cases that share their references; or any column;
        or `none`), because several systems on one case are not several independent cases.
        """
        summary = Summary(self.metrics, by, cluster, resamples, seed)
        self._into([summary])
        return summary.aggregates

    def table(self, by: str | None = None) -> str:
        """The summary as plain text."""
        from medassay.report import summary_text

        return summary_text(self.summary(by))

    def rows(self) -> list[dict[str, Any]]:
        """One flat record per case, as in the scores file."""
        flat = FlatRecords(self.metrics)
        return [flat(case, self._scores(i)) for i, case in enumerate(self.cases)]

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame (pandas must be installed)."""
        import pandas

        return pandas.DataFrame(self.rows())

    def to_polars(self) -> polars.DataFrame:
        """The rows as a Polars frame (polars must be installed)."""
        import polars

        return polars.DataFrame(self.rows(), infer_schema_length=None)

    def save(self, path: str | Path) -> None:
        """Write the scores file (.csv, .tsv, .jsonl or .parquet) and its `.meta.json`."""
        self._into([DomainCheck(self.metrics), ScoresFile(Path(path), self.metrics)])

    def report(self, path: str | Path, *, title: str | None = None, resamples: int = 1000, seed: int = 1) -> None:
        """Write the report page: one HTML file, no network. By system, with a comparison where there are several."""
        from medassay.report import PageFile, page_settings

        summary = Summary(self.metrics, "system", "reference", resamples, seed)
        settings = page_settings(self.metrics, resamples=resamples, cluster="reference", seed=seed)
        page = PageFile(Path(path), self.metrics, lambda: summary.aggregates, title=title, settings=settings)
        self._into([summary, DomainCheck(self.metrics), page])

    def _scores(self, i: int) -> dict[str, Score]:
        """The scores of the i-th case by metric."""
        return {metric.name: self.scores[metric.name][i] for metric in self.metrics}

    def _into(self, sinks: Sequence[Sink]) -> None:
        """Feed all cases to sinks, as a run would."""
        with ExitStack() as stack:
            for sink in sinks:
                stack.enter_context(sink)
            failures = Failures(self.metrics)
            for i, case in enumerate(self.cases):
                scores = self._scores(i)
                failures.add(f"row {case.row}", case, scores)
                feed(sinks, case, scores)
            for problem in failures.problems():
                for sink in sinks:
                    sink.problem(problem)
            finish(sinks)

    def __repr__(self) -> str:
        head = f"<Result: {len(self.cases)} cases × {len(self.metrics)} metrics>"
        return "\n".join([head, self.table(), *(f"Warning: {warning}" for warning in self.warnings)])

    def _repr_html_(self) -> str:
        from medassay.report import summary_html

        return summary_html(self.summary()) + "".join(f"<p>Warning: {escape(warning)}</p>" for warning in self.warnings)
