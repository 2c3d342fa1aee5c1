"""A whole run as the command line does it: read, score, keep, write, summarise.

Rows stream through; what stays in memory are the numbers for the summary and, where a page is
wanted, the cases it shows.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from medassay.engine.base import DIED, CaseFiles, Engine, Scored, Source
from medassay.engine.local import Local
from medassay.engine.store import Store
from medassay.errors import InputError
from medassay.metrics.base import Metric
from medassay.outputs import ScoresWriter

if TYPE_CHECKING:
    from medassay.report.page import PageWriter
    from medassay.study.summary import Aggregate, Tally


@dataclass(frozen=True)
class Outcome:
    """What a run came to: the summary, and the rows that had problems."""

    aggregates: Sequence[Aggregate]
    problems: Sequence[str]


@dataclass
class Job:
    """One `medassay score` command. engine: where it is measured; by default in this process."""

    cases: str
    metrics: Sequence[Metric]
    columns: Mapping[str, str] = field(default_factory=dict)
    format: str | None = None
    out: Path | None = None
    page: Path | None = None
    by: str | None = None
    cluster: str = "reference"
    resamples: int = 1000
    seed: int = 1
    strict: bool = False
    store: Path | None = None
    keep: bool = True
    distribution: Path | None = None
    batch: int | None = None
    """Rows scored between two steps of the progress bar; by default what the slowest metric likes."""
    engine: Engine = field(default_factory=lambda: Local(0))

    def run(self) -> Outcome:
        """Do it."""
        from medassay.study.summary import Tally, summarise

        self._check_writable()
        tally = Tally(self.metrics, by=self.by or "system", cluster=self.cluster)
        page = self._page_writer() if self.page else None
        for metric in self.metrics:
            metric.with_evidence = metric.with_evidence or page is not None or self._explained
        problems: list[str] = []
        with self._open_store() as store, self._rereadable() as rows:
            scored = self.engine.score(rows, self.metrics, store, batch=self.batch)
            with self._writer() as writer, closing(scored) as batches:
                for batch in self._progress(batches):
                    self._take(batch, tally, writer, page, problems)
                    if page is not None and page.full and not self._explained:
                        # The page carries no further case; evidence for the rest would be thrown away.
                        for metric in self.metrics:
                            metric.with_evidence = False
                if tally.count == 0:
                    raise InputError(f"{self.cases}: no usable row. First problem: {problems[0]}")
                if writer is not None:
                    writer.finish(problems, {"references": self.metrics[0].references, "seed": self.seed})
            aggregates = summarise(tally, resamples=self.resamples, seed=self.seed)
            if page is not None and self.page is not None:
                page.write(self.page, aggregates, settings=self._said())
            if self.distribution is not None:
                from medassay.metrics.ensemble import save_distributions

                plain = {metric.name: tally.values(metric.name) for metric in self.metrics}
                save_distributions(self.distribution, self.metrics, plain)
            if store is not None and self.store is None:
                store.delete()
        return Outcome(aggregates, problems)

    def _page_writer(self) -> PageWriter:
        from medassay.report.page import PageWriter

        return PageWriter(self.metrics)

    @property
    def _explained(self) -> bool:
        """Whether evidence is wanted for every case, page or not."""
        return False

    @property
    def _over_set(self) -> bool:
        return any(metric.depends_on_set for metric in self.metrics)

    @contextmanager
    def _rereadable(self) -> Iterator[Source]:
        """What opens the case file, again and again where the whole set must be seen before it is scored."""
        if self.cases != "-" or not self._over_set:
            yield self._source(self.cases, self.format)
            return
        # Standard input can be read only once.
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "standard input"
            with copy.open("wb") as stream:
                shutil.copyfileobj(sys.stdin.buffer, stream)
            with copy.open("rb") as stream:
                kind = "jsonl" if stream.read(64).decode("utf-8-sig", "ignore").lstrip()[:1] == "{" else "csv"
            yield self._source(str(copy), self.format or kind)

    def _source(self, cases: str, format: str | None) -> Source:
        return CaseFiles(cases, self.columns, format, self.strict)

    def _take(
        self,
        batch: Sequence[Scored],
        tally: Tally,
        writer: ScoresWriter | None,
        page: PageWriter | None,
        problems: list[str],
    ) -> None:
        for scored in batch:
            case = scored.row.case
            if case is None:
                problems.append(f"{scored.row.place}: {scored.row.problem}")
                if page is not None:
                    page.problem(problems[-1])
                continue
            if not case.has("candidate"):
                column = self.columns.get("candidate", "candidate")
                problems.append(f"{scored.row.place}: column '{column}' is empty; the case is unscored")
                if self.strict:
                    raise InputError(f"{self.cases}, {problems[-1]}")
            problems += [
                f"{scored.row.place}: metric '{name}': {DIED}"
                for name, score in scored.scores.items()
                if score.unscored == DIED
            ]
            tally.add(case, scored.scores)
            if writer is not None:
                writer.add(case, scored.scores)
            if page is not None:
                page.add(case, scored.scores)

    def _said(self) -> dict[str, object]:
        """What the page lists beside the signatures; no path, so that the same cases give the same bytes."""
        return {
            "intervals": f"{self.resamples:,} bootstrap resamples, clustered by {self.cluster}",
            "seed": self.seed,
            "several references": self.metrics[0].references,
        }

    def _check_writable(self) -> None:
        for path in (self.out, self.page, self.distribution):
            if path is not None and not path.resolve().parent.is_dir():
                raise InputError(f"{path}: the folder {path.resolve().parent} does not exist; create it first")
            if path is not None and not os.access(path.resolve().parent, os.W_OK):
                raise InputError(f"{path}: the folder {path.resolve().parent} cannot be written to; choose another")
            if path is not None and path.is_dir():
                raise InputError(f"{path}: is a folder; name a file in it")
            if path is not None and path.exists() and Path(self.cases).exists() and path.samefile(self.cases):
                raise InputError(f"{path}: is the case file itself; write the scores to another file")
        if self.store is not None and self.engine.name == "ray":
            raise InputError(f"--store {self.store}: keeps results of the local engine; leave it out with --engine ray")
        if self.out is not None and Path(self.cases).is_dir() and Path(self.cases).samefile(self.out.resolve().parent):
            raise InputError(f"{self.out}: would be read as a case file by the next run; write it to another folder")
        if self.out is not None and self.page is not None and self.out.resolve() == self.page.resolve():
            raise InputError(f"{self.out}: scores and report cannot be one file; name two")

    def _writer(self) -> AbstractContextManager[ScoresWriter | None]:
        return ScoresWriter(self.out, self.metrics) if self.out else nullcontext()

    @contextmanager
    def _open_store(self) -> Iterator[Store | None]:
        """The lasting store if one is named, else a file beside the output that goes when the run is whole."""
        path = self.store
        if path is None and self.keep and (self.out or self.page) is not None:
            target = self.out or self.page
            path = target.with_name(target.name + ".resume") if target is not None else None
        if path is None and self._over_set:
            # Between seeing the set and scoring it, what has been scored is kept here.
            with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "scores") as store:
                yield store
            return
        if path is None:
            yield None
            return
        with Store(path) as store:
            yield store

    def _progress(self, batches: Iterator[list[Scored]]) -> Iterator[list[Scored]]:
        """A bar on a terminal, silence in a pipe."""
        if not sys.stderr.isatty():
            yield from batches
            return
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("scoring, {task.completed:,} cases"), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("scoring", total=None)
            for batch in batches:
                bar.advance(task, len(batch))
                yield batch
