"""`medassay trust`: grounding, logic, stability, trust and a route for every report; no reference."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from medassay import console


def trust(
    cases: Annotated[
        str, typer.Argument(help="Case file (.csv, .tsv, .jsonl, .parquet, -), or a folder of images and reports.")
    ],
    images: console.Images = None,
    out: console.Scores = None,
    report: console.Report = None,
    evidence: Annotated[Path | None, typer.Option(help="What every number rests on, as JSON lines.")] = None,
    weights: Annotated[str | None, typer.Option(help="Of grounding, logic, stability: 0.4,0.3,0.3.")] = None,
    policy: Annotated[Path | None, typer.Option(help="Weights and thresholds by trust-study calibrate.")] = None,
    mpp: console.Mpp = None,
    budget: Annotated[int | None, typer.Option(help="Patches of a slide that are looked at, at most.")] = None,
    mode: Annotated[str, typer.Option(help="clinical, or paper: the published formulas.")] = "clinical",
    distance: Annotated[
        str | None, typer.Option(help="Distance between reports for stability: hare or encoder.")
    ] = None,
    models: console.Models = "embedded",
    subject_url: Annotated[str | None, typer.Option(help="Vision endpoint that writes the reports.")] = None,
    subject_model: Annotated[str | None, typer.Option(help="Its model.")] = None,
    subject_command: Annotated[
        str | None, typer.Option(help="Or a command: 'mymodel --image {image} --prompt {prompt}'.")
    ] = None,
    subject_timeout: Annotated[float, typer.Option(help="Seconds that one report may take.")] = 600.0,
    subject_calls: Annotated[int, typer.Option(help="Calls of the endpoint, at most.")] = 10_000,
    concurrency: Annotated[int, typer.Option(help="Cases whose reports are written side by side.")] = 2,
    stained: Annotated[Path | None, typer.Option(help="Folder for the perturbed images; default: beside OUT.")] = None,
    prompts: console.Prompts = "subject-1",
    histories: console.Histories = "histories-1",
    map_: console.Map = "",
    format: console.Format = None,
    by: console.By = None,
    resamples: console.Resamples = 1000,
    seed: console.Seed = 1,
    strict: console.Strict = False,
    store: console.Store = None,
    no_store: console.NoStore = False,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0: all in one, whose models use every core.")] = 0,
    case_timeout: console.CaseTimeout = None,
) -> None:
    """May these reports go out? Grounding in the image, logic, stability, trust and a route; no reference needed."""
    from rich.console import Console

    from medassay.api import TrustRun
    from medassay.engine.local import Local
    from medassay.metrics.subject import make_subject, read_prompts
    from medassay.metrics.trust import load_trust
    from medassay.report import print_routes, print_summary

    if mode not in ("clinical", "paper"):
        raise typer.BadParameter(f"'{mode}' is neither clinical nor paper", param_hint="--mode")
    metric = load_trust(
        weights,
        policy,
        models,
        cast(Literal["clinical", "paper"], mode),
        mpp=mpp,
        budget=budget,
        distance=distance,
        seed=seed,
    )
    limits = {"timeout": subject_timeout, "concurrency": concurrency, "calls": subject_calls}
    subject = make_subject(subject_url, subject_model, subject_command, limits)
    job = TrustRun(
        cases,
        metric,
        columns=console.parse_mapping(map_),
        format=format,
        out=out,
        report=report,
        by=by,
        resamples=resamples,
        seed=seed,
        strict=strict,
        store=store,
        keep=not no_store,
        images=images,
        evidence=evidence,
        inputs={"--policy": policy, "--models": console.existing(models), "--prompts": console.existing(prompts)}
        | {"--histories": console.existing(histories)},
        mpp=mpp,
        subject=subject,
        prompts=read_prompts(prompts),
        histories=histories,
        stained=stained,
        engine=Local(workers, case_timeout=case_timeout),
        progress=console.file_progress(cases, format),
    )
    console.say_unlimited(case_timeout, metric.members)
    outcome = job.run()
    print_summary(Console(), outcome.aggregates)
    print_routes(Console(), outcome.routes, metric.policy, outcome.partial)
    console.say_written(scores=out, report=report, evidence=evidence)
    if job.generated is not None:
        console.say(f"reports: {job.generated[0]:,} written by the subject, {job.generated[1]:,} kept from before")
    console.say_warnings([f"warning: {cases}, {warning}" for warning in job.warnings])
    console.finish(cases, outcome.problems, outcome.ended)
