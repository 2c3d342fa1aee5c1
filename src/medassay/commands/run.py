"""`medassay run`: a whole evaluation from one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medassay import console

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from medassay.commands.run_file import ComparisonPlan, RunFile
    from medassay.metrics.base import Metric
    from medassay.paths import Given


def run(
    file: Annotated[Path, typer.Argument(help="Run file (.yaml or .toml): cases, metrics, outputs, comparisons.")],
    check: Annotated[bool, typer.Option("--check", help="Check the file and end; nothing is scored.")] = False,
) -> None:
    """Score, report and compare as a run file says (docs/run.md)."""
    from medassay.api import FileRun, metrics_for
    from medassay.commands.run_file import check_case_columns, check_metrics, read_run_file
    from medassay.commands.score import run_and_print
    from medassay.engine import load_engine
    from medassay.metrics.registry import load_metrics

    plan = read_run_file(file)
    names = ",".join(plan.metrics)
    check_case_columns(plan)
    metrics = load_metrics(
        names or metrics_for(str(plan.cases), plan.columns, plan.format),
        models=plan.models,
        references=plan.references,
        observable_only=plan.observable_only or None,
    )
    check_metrics(plan, _columns(metrics))
    inputs: dict[str, Given] = {
        "run file": file,
        "metrics": console.files_in(names),
        "models": console.existing(plan.models),
    }
    job = FileRun(
        str(plan.cases),
        metrics,
        columns=plan.columns,
        format=plan.format,
        out=plan.out,
        report=plan.report,
        by=plan.by,
        cluster=plan.cluster,
        resamples=plan.resamples,
        seed=plan.seed,
        strict=plan.strict,
        observable_only=plan.observable_only,
        inputs=inputs,
        engine=load_engine("local", workers=plan.workers, address=None, case_timeout=plan.case_timeout),
        progress=console.file_progress(str(plan.cases), plan.format),
    )
    console.check_paths({**inputs, "cases": plan.cases}, _outputs(plan))
    job.check()
    if check:
        print(f"{file}: {len(metrics)} metrics and {len(plan.comparisons)} comparisons; nothing was scored")
        return
    console.say_unlimited(plan.case_timeout, metrics)
    outcome = run_and_print(job)
    for comparison in plan.comparisons:
        _compare(plan, comparison, [metric.name for metric in metrics], outcome.ended)
    console.finish(plan.cases, outcome.problems, outcome.ended)


def _columns(metrics: Sequence[Metric]) -> Iterator[str]:
    """The columns that the scores file will have for the metrics."""
    for metric in metrics:
        yield metric.name
        yield from (f"{metric.name}.{part}" for part in metric.parts)


def _outputs(plan: RunFile) -> dict[str, Given]:
    """Every file that the run writes, by what messages call it."""
    from medassay.engine.scores_file import meta_path

    outputs: dict[str, Given] = {"out": plan.out, "report": plan.report}
    if plan.out is not None:
        outputs["meta file"] = meta_path(plan.out)
    return outputs | {f"{comparison.key}.out": list(comparison.out) for comparison in plan.comparisons}


def _compare(plan: RunFile, comparison: ComparisonPlan, metrics: Sequence[str], ended: Collection[str]) -> None:
    """Print one comparison of the scores file, and write it where a file is named."""
    from rich.console import Console

    from medassay.commands.compare import parse_families
    from medassay.engine.score_table import read_scores
    from medassay.report import print_comparison, write_comparison
    from medassay.study import compare

    assert plan.out is not None  # checked by read_run_file
    named = list(comparison.metrics or metrics)
    if comparison.primary is not None and comparison.primary not in named:
        named.insert(0, comparison.primary)
    compared_metrics = [name for name in named if not any(f"{name}.".startswith(f"{metric}.") for metric in ended)]
    for name in (name for name in named if name not in compared_metrics):
        console.say(f"{comparison.key}: '{name}' is left out: the metric failed on every row")
    if not compared_metrics:
        return
    result = compare(
        read_scores(plan.out),
        comparison.by,
        comparison.item,
        metrics=compared_metrics,
        primary=comparison.primary if comparison.primary in compared_metrics else None,
        families=parse_families(comparison.family),
        resamples=comparison.resamples,
        seed=comparison.seed,
    )
    print(f"\nComparison by {', '.join(comparison.by)}\n")
    print_comparison(Console(), result)
    for path in comparison.out:
        write_comparison(path, result)
        console.say_written(comparison=path)
