"""`medassay bench`: how good is a metric? Its card on the bundled benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medassay import console
from medassay.commands.variants import score_groups, values_of
from medassay.errors import InputError

if TYPE_CHECKING:
    from medassay.cases import Case
    from medassay.examples.bench import Document

EVERY = 5
"""Without `--all`, every fifth document of each kind is taken: 20 of 100."""


def bench(
    metrics: console.Metrics = "",
    kind: Annotated[str, typer.Option(help="pathology, notes or radiology; default: all three.")] = "",
    all_: Annotated[bool, typer.Option("--all", help="All 300 documents; default: every fifth.")] = False,
    margin: Annotated[float, typer.Option(help="Share of a metric's range by which two scores must differ.")] = 0.01,
    out: Annotated[Path | None, typer.Option(help="The cards as .json or .md.")] = None,
    models: console.Models = "embedded",
    resamples: console.Resamples = 1000,
    seed: console.Seed = 1,
) -> None:
    """How good is a metric? Scores the bundled benchmark and prints a card per metric."""
    import numpy as np
    from rich.console import Console

    from medassay import __version__
    from medassay.examples.bench import KINDS, read_bench
    from medassay.files import write_text
    from medassay.metrics.registry import DEFAULT, load_metrics
    from medassay.report import BenchRun, print_bench
    from medassay.study import bench_cards

    if out is not None and out.suffix not in (".json", ".md"):
        raise InputError(f"--out {out}: the cards are written as .json or .md")
    if not 0.0 <= margin < 1.0:
        raise InputError(f"--margin must be from 0 to below 1, not {margin:g}")
    console.check_paths({"--metrics": console.files_in(metrics)}, {"--out": out})
    kinds = [part.strip() for part in kind.split(",") if part.strip()] or KINDS
    documents = read_bench(kinds, every=1 if all_ else EVERY)
    loaded = load_metrics(metrics or ",".join(DEFAULT), models=models)
    scores, failures = score_groups([bench_cases(document) for document in documents], loaded)
    values = values_of(scores)
    cards = []
    for metric in loaded:
        versions = [row[: len(document.versions)] for document, row in zip(documents, values[metric.name])]
        claims = [row[len(document.versions) :] for document, row in zip(documents, values[metric.name])]
        if "reference" not in metric.needs | metric.reads:  # a claim alone says nothing to it
            claims = [row * np.nan for row in claims]
        cards += bench_cards(documents, metric, versions, claims, margin=margin, resamples=resamples, seed=seed)
    available = len(read_bench(kinds))
    run = BenchRun(cards, len(documents), available, margin, resamples, seed, __version__)
    print_bench(Console(), run)
    if out is not None:
        write_text(out, run.to_json() + "\n" if out.suffix == ".json" else run.to_markdown())
    console.say_written(cards=out)
    console.finish("benchmark", failures.problems(), failures.ended)


def bench_cases(document: Document) -> list[Case]:
    """Every version of a document, then every claim about it, with the document as the reference."""
    from medassay.cases import Case

    texts = [version.text for version in document.versions] + [claim.text for claim in document.claims]
    return [Case(f"{document.id}#{k}", text, (document.text,)) for k, text in enumerate(texts)]
