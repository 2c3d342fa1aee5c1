"""`medassay compare`: paired significance between systems, of one scores file or of several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medassay import console

if TYPE_CHECKING:
    from medassay.study import Families


def compare(
    scores: Annotated[list[Path], typer.Argument(help="Scores files: one with several systems, or one for each run.")],
    by: Annotated[str, typer.Option(help="Columns that tell the systems apart; default: system, or the files.")] = "",
    item: Annotated[str | None, typer.Option(help="Column that tells which rows belong together.")] = None,
    metrics: console.Metrics = "",
    primary: Annotated[str | None, typer.Option(help="Metric that the question is asked of; it ranks.")] = None,
    family: Annotated[
        str, typer.Option(help="Holm's correction runs over: metric (its pairs), all, or groups: rouge1+rouge2,hare.")
    ] = "metric",
    cluster: console.Cluster = "reference",
    out: Annotated[
        list[Path] | None, typer.Option(help="File to write: .txt, .md, .tex, .csv or .html; may be repeated.")
    ] = None,
    resamples: Annotated[int, typer.Option(help="Resamples and randomisations.")] = 10_000,
    seed: console.Seed = 1,
) -> None:
    """Which system is better, and is the difference more than chance?"""
    from rich.console import Console

    from medassay.engine.score_runs import read_runs
    from medassay.files import table_kind
    from medassay.metrics.registry import split_requests
    from medassay.report import COMPARISON_FORMATS, print_comparison, write_comparison
    from medassay.study import compare as compare_systems

    outputs = out or []
    for path in outputs:
        table_kind(path, COMPARISON_FORMATS)
    console.check_paths({"scores": scores}, {"--out": outputs})
    table, default, warnings = read_runs(scores)
    console.say_warnings([f"warning: {warning}" for warning in warnings])
    comparison = compare_systems(
        table,
        tuple(console.parse_list(by)) or default,
        item,
        metrics=split_requests(metrics) or None,
        primary=primary,
        families=parse_families(family),
        cluster=cluster,
        resamples=resamples,
        seed=seed,
    )
    print_comparison(Console(), comparison)
    for path in outputs:
        write_comparison(path, comparison)
        console.say_written(comparison=path)


def parse_families(text: str) -> Families:
    """`metric`, `all`, or groups of metrics: `rouge1+rouge2,hare`."""
    from medassay.metrics.registry import split_requests

    if text == "metric" or text == "all":
        return text
    return [[name.strip() for name in group.split("+") if name.strip()] for group in split_requests(text)]
