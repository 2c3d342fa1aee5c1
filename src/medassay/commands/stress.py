"""`medassay stress`: sensitivity of metrics to clinical errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medassay import console
from medassay.commands.variants import score_groups, values_of

if TYPE_CHECKING:
    from medassay.engine.job import Failures
    from medassay.metrics.base import Metric
    from medassay.scores import Score
    from medassay.study import Material


def stress(
    cases: Annotated[
        Path, typer.Argument(help="Case file, or a file of paraphrases and errors (see docs/studies.md).")
    ],
    metrics: console.Metrics = "",
    rules: Annotated[bool, typer.Option(help="Make by rule what the file does not bring.")] = True,
    by: Annotated[str | None, typer.Option(help="Column that groups the references, for a ladder each.")] = None,
    limit: Annotated[int, typer.Option(help="References taken, at random by the seed; 0 for all.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Every text made, with its scores: .csv or .jsonl.")] = None,
    report: console.Report = None,
    models: console.Models = "embedded",
    map_: console.Map = "",
    format: console.Format = None,
    margin: Annotated[
        float, typer.Option(min=0, max=1, help="Share of a metric's range up to which two scores count as equal.")
    ] = 0.01,
    resamples: console.Resamples = 1000,
    seed: console.Seed = 1,
) -> None:
    """How do metrics react to clinical errors? Makes errors and harmless changes, prints sensitivity cards."""
    from rich.console import Console

    from medassay.files import write_rows
    from medassay.metrics.registry import DEFAULT, load_metrics
    from medassay.records import read_records
    from medassay.report import print_stress, stress_sections, write_study
    from medassay.study import make_material, originals_of, sample, sensitivity_cards

    console.check_paths({"cases": cases, "--metrics": console.files_in(metrics)}, {"--report": report}, table=out)
    records = list(read_records(cases, format=format))
    originals, problems = originals_of(str(cases), records, console.parse_mapping(map_), by)
    loaded = load_metrics(metrics or ",".join(DEFAULT), models=models)
    material = make_material(sample(originals, limit, seed), seed, rules=rules)
    scores, failures = score_material(material, loaded)
    test = sensitivity_cards(material, loaded, values_of(scores), margin=margin, resamples=resamples, seed=seed)
    print_stress(Console(), test)
    if out is not None:
        write_rows(text_rows(material, scores), out)
        console.say(f"texts and scores written to {out}")
    if report is not None:
        facts = [f"{len(material.originals):,} references", f"metrics: {len(loaded)}"]
        write_study(report, "Sensitivity to clinical errors", facts, stress_sections(test))
        console.say(f"report written to {report}")
    console.finish(cases, [*problems, *failures.problems()], failures.ended)


def score_material(material: Material, metrics: Sequence[Metric]) -> tuple[dict[str, list[list[Score]]], Failures]:
    """Score every variant against its original.

    Returns:
        By metric and original, a score per variant; and the texts that metrics failed on.
    """
    from medassay.cases import Case

    groups = [
        [
            Case(f"{original.id}#{k}", variant.text, (original.text,), original.source)
            for k, variant in enumerate(original.variants)
        ]
        for original in material.originals
    ]
    return score_groups(groups, metrics)


def text_rows(material: Material, scores: Mapping[str, Sequence[Sequence[Score]]]) -> list[dict[str, object]]:
    """Every text that was scored, with its scores: one flat record each."""
    rows = []
    for i, original in enumerate(material.originals):
        for k, variant in enumerate(original.variants):
            record: dict[str, object] = {"id": original.id, "form": variant.form, "kind": variant.kind}
            record |= {"origin": variant.origin, "reference": original.text, "candidate": variant.text}
            for name, scored in scores.items():
                score = scored[i][k]
                record |= {name: score.value, f"{name}.unscored": score.unscored, f"{name}.failed": score.failed}
            rows.append(record)
    return rows
