"""`medassay score`: score a file of cases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medassay import console

if TYPE_CHECKING:
    from medassay.api import FileOutcome, FileRun


def score(
    cases: console.Cases,
    metrics: console.Metrics = "",
    models: console.Models = "embedded",
    out: console.Scores = None,
    report: console.Report = None,
    map_: console.Map = "",
    format: console.Format = None,
    references: console.References = "best",
    by: console.By = None,
    cluster: console.Cluster = "reference",
    resamples: console.Resamples = 1000,
    seed: console.Seed = 1,
    strict: console.Strict = False,
    observable_only: console.ObservableOnly = False,
    store: console.Store = None,
    no_store: console.NoStore = False,
    save_distribution: Annotated[
        Path | None, typer.Option(help="Store means and deviations (.json), for z(…,reference=FILE).")
    ] = None,
    engine: Annotated[str, typer.Option(help="local: this machine's cores; ray: a Ray cluster.")] = "local",
    workers: console.Workers = None,
    case_timeout: console.CaseTimeout = None,
    address: Annotated[str | None, typer.Option(help="The Ray cluster; default: one on this machine.")] = None,
) -> None:
    """Score a file of cases; print a summary, write scores and a report page."""
    from medassay.api import FileRun, metrics_for
    from medassay.engine import load_engine
    from medassay.metrics.registry import load_metrics

    columns = console.parse_mapping(map_)
    loaded = load_metrics(
        metrics or metrics_for(cases, columns, format),
        models=models,
        references=references,
        observable_only=observable_only or None,
    )
    job = FileRun(
        cases,
        loaded,
        columns=columns,
        format=format,
        out=out,
        report=report,
        by=by,
        cluster=cluster,
        resamples=resamples,
        seed=seed,
        strict=strict,
        observable_only=observable_only,
        store=store,
        keep=not no_store,
        distribution=save_distribution,
        inputs={"--metrics": console.files_in(metrics), "--models": console.existing(models)},
        engine=load_engine(engine, workers=workers, address=address, case_timeout=case_timeout),
        progress=console.file_progress(cases, format),
    )
    console.say_unlimited(case_timeout, loaded)
    outcome = run_and_print(job)
    console.finish(cases, outcome.problems, outcome.ended)


def run_and_print(job: FileRun) -> FileOutcome:
    """Run the job, print its summary and remarks, and name the files that it wrote."""
    import gc

    from rich.console import Console

    from medassay.engine.worker import GC_THRESHOLDS
    from medassay.report import print_summary

    gc.set_threshold(*GC_THRESHOLDS)
    outcome = job.run()
    print_summary(Console(), outcome.aggregates)
    console.say_warnings(outcome.remarks)
    console.say_written(scores=job.out, report=job.report, distribution=job.distribution)
    return outcome
