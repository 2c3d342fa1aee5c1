"""`medassay compare`: paired significance between systems of a scores file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medassay import console


def compare(
    scores: Annotated[Path, typer.Argument(help="Scores file with several systems.")],
    by: console.System = "system",
    item: Annotated[str | None, typer.Option(help="Column that tells which rows belong together.")] = None,
    metrics: console.Metrics = "",
    resamples: Annotated[int, typer.Option(help="Resamples and randomisations.")] = 10_000,
    seed: console.Seed = 1,
) -> None:
    """Which system is better, and is the difference more than chance?"""
    from rich.console import Console

    from medassay.engine.score_table import read_scores
    from medassay.report import print_comparison
    from medassay.study import compare as compare_systems

    wanted = console.parse_list(metrics) or None
    comparison = compare_systems(read_scores(scores), by, item, metrics=wanted, resamples=resamples, seed=seed)
    print_comparison(Console(), comparison)
