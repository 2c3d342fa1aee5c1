"""`medassay check`: every statement with its verdict and the words that decide it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medassay import console


def check(
    cases: console.Cases,
    html: Annotated[Path | None, typer.Option(help="Page that shows texts and verdicts (.html).")] = None,
    out: Annotated[Path | None, typer.Option(help="JSON lines to write, one per case.")] = None,
    models: console.Models = "embedded",
    map_: console.Map = "",
    format: console.Format = None,
    by: console.By = None,
    strict: console.Strict = False,
    store: console.Store = None,
    no_store: console.NoStore = False,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0: all in one, whose models use every core.")] = 0,
) -> None:
    """What is wrong in these texts, what is missing, how bad is it? Every statement with its verdict."""
    from rich.console import Console

    from medassay.api import FileRun
    from medassay.engine import load_engine
    from medassay.engine.sinks import EvidenceFile, Sink, ledger_record
    from medassay.metrics.statement_check import StatementCheck
    from medassay.report import CheckPage, CheckSummary, print_check

    metric = StatementCheck(models=models)
    summary = CheckSummary(by)
    writers: list[Sink] = [summary]
    if out is not None:
        writers.append(EvidenceFile(out, ledger_record))
    if html is not None:
        writers.append(CheckPage(html, metric, summary))
    outcome = FileRun(
        cases,
        [metric],
        columns=console.parse_mapping(map_),
        format=format,
        out=out,
        report=html,
        by=by,
        resamples=0,
        strict=strict,
        store=store,
        keep=not no_store,
        inputs={"--models": console.existing(models)},
        engine=load_engine("local", workers=workers),
        progress=console.file_progress(cases, format),
        file_sinks=writers,
    ).run()
    print_check(Console(), summary)
    console.say_written(statements=out, page=html)
    console.finish(cases, outcome.problems, outcome.ended)
