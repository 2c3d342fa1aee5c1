"""`medassay stress`: sensitivity of metrics to clinical errors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medassay.commands.tables import write_rows
from medassay.console import (
    FormatOption,
    MapOption,
    MetricsOption,
    ModelsOption,
    ReportOption,
    ResamplesOption,
    SeedOption,
    check_outputs,
    finish,
    parse_mapping,
    say,
    scoring_progress,
)


def stress(
    cases: Annotated[
        Path, typer.Argument(help="Case file, or a file of paraphrases and errors (see docs/studies.md).")
    ],
    metrics: MetricsOption = "",
    rules: Annotated[bool, typer.Option(help="Make by rule what the file does not bring.")] = True,
    by: Annotated[str | None, typer.Option(help="Column that groups the references, for a ladder each.")] = None,
    limit: Annotated[int, typer.Option(help="References taken, at random by the seed; 0 for all.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Every text made, with its scores: .csv or .jsonl.")] = None,
    report: ReportOption = None,
    models: ModelsOption = "embedded",
    map_: MapOption = "",
    format: FormatOption = None,
    resamples: ResamplesOption = 1000,
    seed: SeedOption = 1,
) -> None:
    """How do metrics take clinical errors? Makes errors and harmless changes, prints sensitivity cards."""
    from rich.console import Console

    from medassay.metrics.registry import DEFAULT, load_metrics
    from medassay.report.study_terminal import print_stress
    from medassay.study.material import make_material, read_originals, sample
    from medassay.study.stress import rows
    from medassay.study.stress import stress as run

    check_outputs(cases, report, table=out)
    loaded = load_metrics(metrics or ",".join(DEFAULT), models=models)
    originals, problems = read_originals(cases, parse_mapping(map_), format, by)
    material = make_material(sample(originals, limit, seed), seed, rules=rules)
    test = run(material, loaded, resamples=resamples, seed=seed, progress=scoring_progress)
    print_stress(Console(), test)
    if out is not None:
        write_rows(rows(test), out)
        say(f"texts and scores written to {out}")
    if report is not None:
        from medassay.report.stress import stress_sections
        from medassay.report.study_page import write_study

        facts = [f"{len(material.originals):,} references", f"metrics: {len(loaded)}"]
        write_study(report, "Sensitivity to clinical errors", facts, stress_sections(test))
        say(f"report written to {report}")
    finish(cases, problems)
