"""The functions behind `import medassay`, and whole runs over files: where engine, sinks, study and report meet."""

from __future__ import annotations

import logging
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from medassay.cases import Case, Row, make_cases
from medassay.columns import FIELDS
from medassay.engine.base import CaseFiles, Engine, Source
from medassay.engine.domain import DomainCheck
from medassay.engine.job import Check, Job, Progress
from medassay.engine.local import Local, score_cases
from medassay.engine.observable import ObservableCases, observable_case, signed_observable
from medassay.engine.run_paths import RunPaths, copied
from medassay.engine.scores_file import ScoresFile
from medassay.engine.sinks import DistributionFile, EvidenceFile, RouteCount, Sink
from medassay.engine.store import Store
from medassay.errors import InputError
from medassay.hub_data import is_data_set
from medassay.metrics.base import Metric, depends_on_set
from medassay.metrics.registry import DEFAULT, default_metrics, load_metrics
from medassay.metrics.registry import load_metric as _load_metric
from medassay.paths import Given, ReadFolder, hold
from medassay.records import kind_of
from medassay.result import Result, Summary
from medassay.study.summary import check_columns, wanted_columns

if TYPE_CHECKING:
    from medassay.language.ledger import Ledger
    from medassay.metrics.subject import Prompts, Subject
    from medassay.metrics.trust import Trust
    from medassay.study import Aggregate

_LOG = logging.getLogger(__name__)

_EXPLAINED = 2_000
"""Cases that a report page carries: a result of no more keeps its evidence without being asked."""

_LOOKED_AT = 100
"""Rows of a file that decide which metrics are computed when none is named."""

OpenSource = Callable[[str, str | None, Store | None, ExitStack], Source]
"""The source of a run: from the path of the cases, their format, the run's store, and what is closed after it."""


def score(
    candidates: Sequence[str] | Sequence[Case],
    references: Sequence[str | Sequence[str]] | None = None,
    *,
    metrics: str | Metric | Iterable[str | Metric] | None = None,
    sources: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
    systems: Sequence[str] | None = None,
    models: str | None = None,
    evidence: bool | None = None,
    workers: int = 0,
    case_timeout: float | None = None,
    observable_only: bool = False,
) -> Result:
    """Score texts (or ready-made cases) with the named metrics.

    A case on which a metric broke has failed (`Score.failed`), and `Result.problems` names it; nothing is raised.

    Args:
        metrics: names, families or metrics; by default those that hold up for what the cases have (docs/cases.md).
        workers: processes that measure; 0: this one does.
        case_timeout: seconds that a metric may take for one case; a case that takes longer has failed. Cases are
            then measured by at least one process of their own.
        evidence: keep what each number rests on, for the report page; by default where the page would carry
            every case (up to 2,000).
        observable_only: leave template text and what a slide cannot show out of candidates and references first.
    """
    cases = _ready(candidates)
    if cases is None:
        cases = make_cases(cast("Sequence[str]", candidates), references, sources=sources, ids=ids, systems=systems)
    requested = default_metrics(cases) if metrics is None else metrics
    loaded = load_metrics(requested, models=models, observable_only=observable_only or None)
    if observable_only:
        cases, loaded = [observable_case(case) for case in cases], signed_observable(loaded)
    return _result(cases, loaded, evidence, workers, case_timeout)


def metrics_for(path: str, columns: Mapping[str, str] | None = None, format: str | None = None) -> str:
    """The metrics to compute on a case file when none is named, by the fields of its first cases.

    A stream cannot be inspected before it is read: it is assumed to have references. Problems of the file are reported
    by the run.
    """
    if not is_data_set(path) and not Path(path).is_file() and not Path(path).is_dir():
        return ",".join(DEFAULT)
    try:
        rows = list(islice(CaseFiles(path, columns or {}, format)(), _LOOKED_AT))
    except InputError:
        return ",".join(DEFAULT)
    return ",".join(default_metrics(row.case for row in rows if row.case is not None))


def trust(
    candidates: Sequence[str] | Sequence[Case],
    images: Sequence[str | Path | None] | None = None,
    *,
    stained: Sequence[str | None] | None = None,
    attacked: Sequence[str | None] | None = None,
    ids: Sequence[str] | None = None,
    systems: Sequence[str] | None = None,
    weights: str | None = None,
    policy: str | Path | None = None,
    models: str | None = None,
    evidence: bool | None = None,
    case_timeout: float | None = None,
    **settings: Any,
) -> Result:
    """Grounding, logic, stability and trust of reports (or ready-made cases), each with a route; no reference.

    The route of a case is in `result["trust"][i].labels["route"]` and in `result.rows()`. A case of which a dimension
    could not be assessed has no trust: it is unscored as partial, and what is missing is in `labels["trust.partial"]`.
    For research and quality assurance.

    Args:
        images: an image or slide file per report.
        stained, attacked: the reports that the same model wrote about the image with perturbed stains and under a
            false clinical history; an empty text is a failed generation.
        case_timeout: seconds that a dimension may take for one case; a case that takes longer has failed.
        settings: go to the dimensions that know them (mpp, budget, distance …).
    """
    from medassay.metrics.trust import load_trust

    cases = _ready(candidates)
    if cases is None:
        cases = make_cases(cast("Sequence[str]", candidates), ids=ids, systems=systems)
    columns = {"images": images, "stained": stained, "attacked": attacked}
    for name, values in columns.items():
        if values is not None and (isinstance(values, str) or len(values) != len(cases)):
            raise InputError(f"{len(cases)} candidates but {name} is not a list of as many")
    for i, case in enumerate(cases):
        extra = dict(case.extra)
        for column, texts in (("candidate_stain", stained), ("candidate_attack", attacked)):
            if texts is not None and texts[i] is not None:
                extra[column] = texts[i]
        image = images[i] if images is not None else None
        cases[i] = replace(case, extra=extra, image=case.image if image is None else str(image))
    metric = load_trust(weights, policy, models, **settings)
    return _result(cases, [*metric.members, metric], evidence, case_timeout=case_timeout)


def check(
    candidate: str, reference: str | None = None, source: str | None = None, *, models: str | None = None
) -> Ledger:
    """The ledger of one text: every statement with its verdict and the words that decide it.

    Statements of the candidate are judged against the reference and, where that does not support them, against the
    source; statements of the reference (without one, those of the source) against the candidate. Raises InputError
    where there is nothing to compare with, or where a text is not English.
    """
    from medassay.language.ledger import Texts
    from medassay.language.ledger_maker import unjudgeable
    from medassay.metrics.ledger_metric import ledger_maker

    sides = {"candidate": candidate, "reference": reference, "source": source}
    for name, text in sides.items():
        if not isinstance(text, str) and (text is not None or name == "candidate"):
            raise InputError(f"{name}: expected one text, found {type(text).__name__}")
    texts = Texts(candidate, *(text if text and text.strip() else None for text in (reference, source)))
    reason = unjudgeable(texts)
    if reason is not None:
        raise InputError(f"nothing was checked: {reason}")
    (ledger,) = ledger_maker(models or "embedded").ledgers([texts])
    return ledger


def load_metric(name: str, **settings: Any) -> Metric:
    """One metric by name, with its settings as keywords: `load_metric("rouge1", stem=True)`."""
    return _load_metric(name, **settings)


def _ready(candidates: Sequence[str] | Sequence[Case]) -> list[Case] | None:
    """The candidates, where all of them are cases; None where they are texts."""
    cases = [case for case in candidates if isinstance(case, Case)]
    return cases if cases and len(cases) == len(candidates) else None


def _result(
    cases: Sequence[Case],
    metrics: Sequence[Metric],
    evidence: bool | None,
    workers: int = 0,
    case_timeout: float | None = None,
) -> Result:
    with_evidence = len(cases) <= _EXPLAINED if evidence is None else evidence
    scores = score_cases(cases, metrics, workers=workers, evidence=with_evidence, case_timeout=case_timeout)
    return Result(tuple(cases), tuple(metrics), scores)


@dataclass(frozen=True)
class FileOutcome:
    """The outcome of a run over a file.

    problems: rows and metrics with problems. ended: metrics that failed on every case, each with its error.
    routes: how many cases take each route. partial: how many have partial trust.
    remarks: what a reader of the results must know.
    """

    aggregates: Sequence[Aggregate]
    problems: Sequence[str]
    ended: Mapping[str, str]
    routes: Counter[str]
    partial: int
    remarks: Sequence[str] = ()


@dataclass
class FileRun:
    """A file of cases through metrics into files, as `medassay score` and `medassay trust` do it.

    cases: a case file, a folder of them, or `-`. out, report, evidence, distribution: files to write. by, cluster:
    columns that the summary is grouped and resampled by. observable_only: template text and what a slide cannot show
    are left out of candidates and references. store: a lasting store; without one, `keep` puts one beside
    the output until the run is complete, so that an interrupted run continues. settings: further ones for the page.
    inputs: further files that are read, by what messages call them; no output may be one of them.
    open_source, checks, sinks: what a run of another kind has in place of the case file, and beside the usual ones.
    file_sinks: what writes `out` and `report`, where that is no scores file and no report page.
    rows: its rows as they are before the run, and added: the columns that the run will add to them.
    """

    cases: str
    metrics: Sequence[Metric]
    columns: Mapping[str, str] = field(default_factory=dict)
    format: str | None = None
    out: Path | None = None
    report: Path | None = None
    evidence: Path | None = None
    distribution: Path | None = None
    by: str | None = None
    cluster: str = "reference"
    resamples: int = 1000
    seed: int = 1
    strict: bool = False
    observable_only: bool = False
    store: Path | None = None
    keep: bool = True
    batch: int | None = None
    engine: Engine = field(default_factory=lambda: Local(0))
    progress: Progress = iter
    settings: Mapping[str, object] = field(default_factory=dict)
    inputs: Mapping[str, Given | ReadFolder] = field(default_factory=dict)
    open_source: OpenSource | None = None
    rows: Source | None = None
    added: Set[str] = frozenset()
    checks: Sequence[Check] = ()
    sinks: Sequence[Sink] = ()
    file_sinks: Sequence[Sink] | None = None

    def run(self) -> FileOutcome:
        """Run. Raises InputError before anything is scored where a path or a column is wrong."""
        self.check()
        if self.observable_only:
            self.metrics = signed_observable(self.metrics)
        with hold(self.paths.outputs):
            return self._run()

    def check(self) -> None:
        """Raise InputError where a path, a column or a combination of options is wrong; nothing is scored."""
        if self.store is not None and self.engine.name == "ray":
            raise InputError(f"--store {self.store}: keeps results of the local engine; leave it out with --engine ray")
        if is_data_set(self.cases) and self.engine.name == "ray":
            raise InputError(f"{self.cases}: data sets of the hub are read by the local engine; leave out --engine ray")
        if self.observable_only and self.engine.name == "ray":
            raise InputError("--observable-only works with the local engine; leave out --engine ray")
        self.paths.check(self.inputs)
        self._check_columns()

    @property
    def paths(self) -> RunPaths:
        """Where the run reads and writes."""
        return RunPaths(
            self.cases, self.format, self.out, self.report, self.evidence, self.distribution, self.store, self.keep
        )

    def _run(self) -> FileOutcome:
        summary = Summary(self.metrics, self.by or "system", self.cluster, self.resamples, self.seed)
        routes = RouteCount()
        sinks = [summary, routes, DomainCheck(self.metrics), *self.sinks, *self._file_sinks(summary)]
        for metric in self.metrics:
            _LOG.info("metric %s", metric.signature)
        with ExitStack() as stack:
            store = stack.enter_context(self._open_store())
            kept = "none" if store is None else store.path
            _LOG.info("scoring %s: engine %s, store of results %s", self.cases, self.engine.name, kept)
            path, kind = self.cases, self.format
            if self._over_set and self.paths.streams:
                path, kind = stack.enter_context(copied(self.cases, self.format))
            source = (self.open_source or self._case_files)(path, kind, store, stack)
            if self._wanted and self.paths.streams and (kind or kind_of(path)) != "jsonl":
                source = partial(self._watched, source)
            outcome = Job(
                source,
                self.metrics,
                sinks,
                self.engine,
                store,
                name=self.cases,
                candidate=self.columns.get("candidate", "candidate"),
                strict=self.strict,
                checks=self.checks,
                batch=self.batch,
                progress=self.progress,
            ).run()
            _LOG.info("scored; rows with problems: %d", len(outcome.problems))
            if store is not None and self.store is None:
                store.delete()
        return FileOutcome(
            summary.aggregates, outcome.problems, outcome.ended, routes.routes, routes.partial, outcome.remarks
        )

    def _file_sinks(self, summary: Summary) -> Iterator[Sink]:
        """A sink for each file that was asked for."""
        if self.file_sinks is not None:
            yield from self.file_sinks
            return
        if self.out is not None:
            settings = {"references": self.metrics[0].references, "seed": self.seed}
            yield ScoresFile(self.out, self.metrics, settings)
        if self.report is not None:
            from medassay.report import PageFile, page_settings

            usual = page_settings(self.metrics, resamples=self.resamples, cluster=self.cluster, seed=self.seed)
            yield PageFile(self.report, self.metrics, lambda: summary.aggregates, settings={**usual, **self.settings})
        if self.evidence is not None:
            yield EvidenceFile(self.evidence)
        if self.distribution is not None:
            yield DistributionFile(self.distribution, self.metrics)

    def _case_files(self, path: str, kind: str | None, store: Store | None, stack: ExitStack) -> Source:
        source = CaseFiles(path, self.columns, kind, self.strict)
        return ObservableCases(source) if self.observable_only else source

    @property
    def _over_set(self) -> bool:
        return any(map(depends_on_set, self.metrics))

    @contextmanager
    def _open_store(self) -> Iterator[Store | None]:
        """The permanent store if one is named, else a file beside the output that is deleted after a complete run."""
        path = self.store or self.paths.resume
        if path is None and self._over_set:
            # Between seeing the set and scoring it, what has been scored is kept here.
            with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "scores") as store:
                yield store
        elif path is None:
            yield None
        else:
            with Store(path) as store:
                yield store

    def _check_columns(self) -> None:
        """Check that the columns of the summary exist, before anything is scored."""
        if self._wanted and not self.paths.streams:
            rows = (self.rows or CaseFiles(self.cases, self.columns, self.format))()
            check_columns((row.case for row in rows if row.case is not None), self._wanted)

    def _watched(self, source: Source) -> Iterator[Row]:
        """The rows of a stream, whose first case must have the columns of the summary: its table has no others."""
        checked = False
        for row in source():
            if row.case is not None and not checked:
                # An empty cell is no reason to stop: a later one may hold something.
                check_columns([replace(row.case, extra=dict.fromkeys(row.case.extra, "x"))], self._wanted - {*FIELDS})
                checked = True
            yield row

    @property
    def _wanted(self) -> Set[str]:
        return wanted_columns(self.by, self.cluster) - self.added


class TrustRun:
    """A file or folder of reports and images through trust, as `medassay trust` does it.

    generated: after the run, how many reports the subject wrote in it, and how many a former run had kept; None
    without a subject. warnings: images that may not be histology. options: those of `FileRun`.
    """

    def __init__(
        self,
        cases: str,
        metric: Trust,
        *,
        images: Path | None = None,
        mpp: float | None = None,
        subject: Subject | None = None,
        prompts: Prompts | None = None,
        histories: str = "histories-1",
        stained: Path | None = None,
        **options: Any,
    ) -> None:
        from medassay.engine.generate import ADDED
        from medassay.engine.trust import IMAGES, REPORTS, ImageWarnings, TrustSource, image_folder, row_problems

        if images is not None and not images.is_dir():
            raise InputError(f"{images}: no such folder; --images names the folder that holds the images")
        looked_in = images or image_folder(cases)
        inputs: dict[str, Given | ReadFolder] = dict(options.pop("inputs", {}))
        if looked_in is not None:
            inputs["images"] = ReadFolder(looked_in, IMAGES)
        if Path(cases).is_dir():
            inputs["folder of cases"] = ReadFolder(Path(cases), {*IMAGES, *REPORTS})
        self.images, self.mpp, self.subject, self.prompts = images, mpp, subject, prompts
        self.histories, self.stained = histories, stained
        self.generated: tuple[int, int] | None = None
        self._warnings = ImageWarnings()
        self.files = FileRun(
            cases,
            [*metric.members, metric],
            settings={} if subject is None else {"subject": subject.name},
            batch=None if subject is None else 4 * subject.concurrency,
            inputs=inputs,
            open_source=self._open_source,
            rows=TrustSource(
                cases,
                options.get("columns", {}),
                options.get("format"),
                images=images,
                fill=None if subject is None else iter,
            ),
            added=frozenset() if subject is None else ADDED,
            checks=(row_problems,),
            sinks=(self._warnings,),
            **options,
        )

    @property
    def warnings(self) -> Sequence[str]:
        """Images that may not be histology."""
        return self._warnings.warnings

    def run(self) -> FileOutcome:
        """Run; the outcome is that of `FileRun`."""
        from medassay.engine.trust import check_not_among_cases

        if self.subject is not None and self._stained is not None:
            check_not_among_cases(self._stained, self.files.cases)
        return self.files.run()

    @property
    def _stained(self) -> Path | None:
        """The folder of perturbed images; None where there is no output that it could lie beside."""
        target = self.files.paths.beside
        return self.stained or (target.with_name(target.name + ".stained") if target is not None else None)

    def _open_source(self, path: str, kind: str | None, store: Store | None, stack: ExitStack) -> Source:
        from medassay.engine.generate import Generator, ReportStore
        from medassay.engine.trust import TrustSource, image_folder

        files = self.files
        source = TrustSource(path, files.columns, kind, files.strict, self.images)
        if self.subject is None or self.prompts is None:
            return source
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        texts = ReportStore(store.path if store is not None else scratch / "texts")
        generator = Generator(
            self.subject,
            self.prompts,
            texts,
            images=self.images or image_folder(path),
            stained=self._stained or scratch,
            mpp=self.mpp,
            seed=files.seed,
            histories=self.histories,
        )

        def close() -> None:
            self.generated = (generator.written, generator.reused)
            texts.close()

        stack.callback(close)
        return replace(source, fill=generator.fill)
