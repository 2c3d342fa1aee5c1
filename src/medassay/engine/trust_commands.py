"""`medassay trust …` and `medassay perturb …`: parse, call, print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Models = Annotated[str, typer.Option(help="embedded, paper, or a folder or file of models.")]
Map = Annotated[str, typer.Option("--map", help="Other column names: candidate=generated,image=slide.")]
Format = Annotated[str | None, typer.Option(help="csv, tsv, jsonl or parquet, where the name does not say.")]
Seed = Annotated[int, typer.Option(help="Seed of every random choice.")]
Strict = Annotated[bool, typer.Option(help="Stop at the first row with a problem.")]
Images = Annotated[Path | None, typer.Option(help="Folder of the images; default: the case file's.")]
Mpp = Annotated[float | None, typer.Option(help="Micrometres a pixel, where the files do not say (0.5 is 20×).")]
Prompts = Annotated[str, typer.Option(help="Wording put to the subject: a version, or a .toml file.")]
Histories = Annotated[str, typer.Option(help="False clinical histories: a version, or a .tsv file.")]


def add_commands(app: typer.Typer) -> None:
    """Hang the trust commands on the command line."""
    app.command()(trust)
    app.command()(perturb)


def trust(
    cases: Annotated[
        str, typer.Argument(help="Case file (.csv, .tsv, .jsonl, .parquet, -), or a folder of images and reports.")
    ],
    images: Images = None,
    out: Annotated[Path | None, typer.Option(help="Scores file: .csv, .tsv, .jsonl or .parquet.")] = None,
    report: Annotated[Path | None, typer.Option(help="Report page to write (.html).")] = None,
    evidence: Annotated[Path | None, typer.Option(help="What every number rests on, as JSON lines.")] = None,
    weights: Annotated[str | None, typer.Option(help="Of grounding, logic, stability: 0.4,0.3,0.3.")] = None,
    policy: Annotated[Path | None, typer.Option(help="Weights and thresholds by trust-study calibrate.")] = None,
    mpp: Mpp = None,
    budget: Annotated[int | None, typer.Option(help="Patches of a slide that are looked at, at most.")] = None,
    distance: Annotated[str, typer.Option(help="Distance between reports for stability: hare or encoder.")] = "hare",
    models: Models = "embedded",
    subject_url: Annotated[str | None, typer.Option(help="Vision endpoint that writes the reports.")] = None,
    subject_model: Annotated[str | None, typer.Option(help="Its model.")] = None,
    subject_command: Annotated[
        str | None, typer.Option(help="Or a command: 'mymodel --image {image} --prompt {prompt}'.")
    ] = None,
    subject_timeout: Annotated[float, typer.Option(help="Seconds that one report may take.")] = 600.0,
    subject_calls: Annotated[int, typer.Option(help="Calls of the endpoint, at most.")] = 10_000,
    concurrency: Annotated[int, typer.Option(help="Cases whose reports are written side by side.")] = 2,
    stained: Annotated[Path | None, typer.Option(help="Folder for the perturbed images; default: beside OUT.")] = None,
    prompts: Prompts = "subject-1",
    histories: Histories = "histories-1",
    map_: Map = "",
    format: Format = None,
    by: Annotated[str | None, typer.Option(help="Column to group the summary by; default: system.")] = None,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples; 0 for no intervals.")] = 1000,
    seed: Seed = 1,
    strict: Strict = False,
    store: Annotated[Path | None, typer.Option(help="Lasting store of results, shared by runs.")] = None,
    no_store: Annotated[bool, typer.Option("--no-store", help="Keep nothing for a later resume.")] = False,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0: all in one, whose models use every core.")] = 0,
) -> None:
    """May these reports go out? Grounding in the image, logic, stability, trust and a route; no reference needed."""
    from rich.console import Console

    from medassay.cli import _mapping, _say_problems, say
    from medassay.engine.local import Local
    from medassay.engine.trust import TrustJob
    from medassay.metrics.subject import make_subject, read_prompts
    from medassay.metrics.trust import load_trust
    from medassay.report.terminal import print_summary
    from medassay.report.trust_terminal import print_routes

    made = load_trust(weights, policy, models, mpp=mpp, budget=budget, distance=distance, seed=seed)
    limits = {"timeout": subject_timeout, "concurrency": concurrency, "calls": subject_calls}
    subject = make_subject(subject_url, subject_model, subject_command, limits)
    job = TrustJob(
        cases=cases,
        metrics=[*made.members, made],
        columns=_mapping(map_),
        format=format,
        out=out,
        page=report,
        by=by,
        resamples=resamples,
        seed=seed,
        strict=strict,
        store=store,
        keep=not no_store,
        images=images,
        evidence=evidence,
        mpp=mpp,
        subject=subject,
        batch=4 * subject.side_by_side if subject is not None else None,
        prompts=read_prompts(prompts),
        histories=histories,
        stained=stained,
        engine=Local(workers),
    )
    outcome = job.run()
    print_summary(Console(), outcome.aggregates)
    print_routes(Console(), job.routes, made.policy)
    for path, what in ((out, "scores"), (report, "report"), (evidence, "evidence")):
        if path is not None:
            say(f"{what} written to {path}")
    if job.generated is not None:
        say(f"reports: {job.generated[0]:,} written by the subject, {job.generated[1]:,} kept from before")
    for warning in job.warnings[:8]:
        say(f"warning: {cases}, {warning}")
    _say_problems(cases, outcome.problems)
    raise typer.Exit(1 if outcome.problems else 0)


def perturb(
    cases: Annotated[str, typer.Argument(help="Case file with a column image, or a folder of images and reports.")],
    out: Annotated[Path, typer.Option(help="Folder for perturbed images, prompts, the case file and a manifest.")],
    images: Images = None,
    degrees: Annotated[float, typer.Option(help="Turn of each stain vector.")] = 8.0,
    gain: Annotated[float, typer.Option(help="Largest change of the stains' strength, as a share.")] = 0.25,
    mpp: Mpp = None,
    prompts: Prompts = "subject-1",
    histories: Histories = "histories-1",
    map_: Map = "",
    format: Format = None,
    seed: Seed = 1,
    strict: Strict = False,
) -> None:
    """Write stain-perturbed images and false clinical histories, for reports that are generated elsewhere."""
    from medassay.cli import _mapping, _say_problems, say
    from medassay.engine.perturb import Perturbing

    job = Perturbing(cases, out, images, _mapping(map_), format, degrees, gain, mpp, prompts, histories, seed, strict)
    problems = job.run()
    say(f"{job.written:,} cases written to {out / 'cases.csv'}; fill in candidate_stain and candidate_attack")
    say(f"images in {out / 'images'}, prompts in {out / 'prompts.jsonl'}, settings in {out / 'manifest.json'}")
    for warning in job.warnings[:8]:
        say(warning)
    _say_problems(cases, problems)
    raise typer.Exit(1 if problems else 0)
