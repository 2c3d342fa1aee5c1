"""`medassay validate …` and `medassay stress …`: parse, call, print."""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medassay.errors import InputError

if TYPE_CHECKING:
    from medassay.engine.base import Scored
    from medassay.study.scorefile import ScoreTable

Metrics = Annotated[str, typer.Option(help="Comma-separated; for a scores file its columns, such as rouge1.recall.")]
Models = Annotated[str, typer.Option(help="embedded, paper, or a folder or file of models.")]
Map = Annotated[str, typer.Option("--map", help="Other column names: candidate=generated,reference=gt.")]
Format = Annotated[str | None, typer.Option(help="csv, tsv, jsonl or parquet, where the name does not say.")]
Seed = Annotated[int, typer.Option(help="Seed of every random choice.")]
Report = Annotated[Path | None, typer.Option(help="Page to write (.html).")]
Cluster = Annotated[str, typer.Option(help="Resample by reference, none, or a column.")]


def add_commands(app: typer.Typer) -> None:
    """Hang the study commands on the command line."""
    app.command()(validate)
    app.command()(stress)


def validate(
    scores: Annotated[Path, typer.Argument(help="Scores file with human columns, or a case file to be scored first.")],
    human: Annotated[str, typer.Option(help="Columns that people filled in, comma-separated.")],
    metrics: Metrics = "",
    above: Annotated[float | None, typer.Option(help="Count only human scores above this; HARE uses 0.")] = None,
    lower: Annotated[str, typer.Option(help="Columns of which less is better.")] = "",
    higher: Annotated[str, typer.Option(help="Columns of which more is better, whatever their name says.")] = "",
    scale: Annotated[str, typer.Option(help="Ends of the human scale for RMSE, as 0:5; default: as found.")] = "",
    aggregate: Annotated[str, typer.Option(help="Columns of factual F1, hallucination, omission; else by name.")] = "",
    coefficient: Annotated[str, typer.Option(help="pearson or spearman, for tests and heat map.")] = "pearson",
    item: Annotated[str | None, typer.Option(help="Column whose rows are one item; default: id or reference.")] = None,
    by: Annotated[str, typer.Option(help="Column that tells the systems apart.")] = "system",
    cluster: Cluster = "reference",
    out: Annotated[Path | None, typer.Option(help="All figures as .csv or .jsonl.")] = None,
    report: Report = None,
    models: Models = "embedded",
    map_: Map = "",
    format: Format = None,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples and permutations.")] = 1000,
    seed: Seed = 1,
) -> None:
    """Do the metrics agree with people? Correlations, intervals, and which metric agrees better."""
    from rich.console import Console

    from medassay.cli import say
    from medassay.report.study_terminal import print_validation
    from medassay.report.validation import validation_sections
    from medassay.study.validation import validate as run

    _check((out, report), (".csv", ".jsonl"), scores)
    table, chosen, problems = _scored(scores, metrics, models, map_, format)
    study = run(
        table,
        _listed(human),
        metrics=chosen,
        above=above,
        lower=_listed(lower),
        higher=_listed(higher),
        scale=_ends(scale),
        item=item,
        by=by,
        cluster=cluster,
        aggregate=_listed(aggregate) or None,
        coefficient=coefficient,
        resamples=resamples,
        seed=seed,
    )
    print_validation(Console(), study)
    if out is not None:
        write_rows(out, study.rows())
        say(f"figures written to {out}")
    if report is not None:
        from medassay.report.study_page import write_study

        facts = [f"{len(table):,} cases", f"metrics: {len(study.metrics)}", f"human columns: {len(study.humans)}"]
        write_study(report, "Agreement with people", facts, validation_sections(study))
        say(f"report written to {report}")
    for problem in problems[:8]:
        say(f"{scores}, {problem}")
    raise typer.Exit(1 if problems else 0)


def stress(
    cases: Annotated[
        Path, typer.Argument(help="Case file, or a file of paraphrases and errors (see docs/studies.md).")
    ],
    metrics: Annotated[str, typer.Option(help="Comma-separated; `medassay metrics` lists them.")] = "",
    rules: Annotated[bool, typer.Option(help="Make by rule what the file does not bring.")] = True,
    by: Annotated[str | None, typer.Option(help="Column that groups the references, for a ladder each.")] = None,
    limit: Annotated[int, typer.Option(help="References taken, at random by the seed; 0 for all.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Every text made, with its scores: .csv or .jsonl.")] = None,
    report: Report = None,
    models: Models = "embedded",
    map_: Map = "",
    format: Format = None,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples; 0 for no intervals.")] = 1000,
    seed: Seed = 1,
) -> None:
    """How do metrics take clinical errors? Makes errors and harmless changes, prints sensitivity cards."""
    from rich.console import Console

    from medassay.cli import _mapping, say
    from medassay.metrics.registry import DEFAULT, load_metrics
    from medassay.report.study_terminal import print_stress
    from medassay.study.material import make_material, read_originals, sample
    from medassay.study.stress import rows
    from medassay.study.stress import stress as run

    _check((out, report), (".csv", ".jsonl"), cases)
    loaded = load_metrics(metrics or ",".join(DEFAULT), models=models)
    originals, problems = read_originals(cases, _mapping(map_), format, by)
    material = make_material(sample(originals, limit, seed), seed, rules=rules)
    test = run(material, loaded, resamples=resamples, seed=seed, progress=_progress)
    print_stress(Console(), test)
    if out is not None:
        write_rows(out, rows(test))
        say(f"texts and scores written to {out}")
    if report is not None:
        from medassay.report.stress import stress_sections
        from medassay.report.study_page import write_study

        facts = [f"{len(material.originals):,} references", f"metrics: {len(loaded)}"]
        write_study(report, "Sensitivity to clinical errors", facts, stress_sections(test))
        say(f"report written to {report}")
    for problem in problems[:8]:
        say(f"{cases}, {problem}")
    raise typer.Exit(1 if problems else 0)


def _progress(batches: Iterator[list[Scored]], total: int) -> Iterator[list[Scored]]:
    """A bar on a terminal, silence in a pipe."""
    import sys

    if not sys.stderr.isatty():
        yield from batches
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("scoring", total=total)
        for batch in batches:
            bar.advance(task, len(batch))
            yield batch


def _scored(
    path: Path, metrics: str, models: str, columns: str, format: str | None
) -> tuple[ScoreTable, list[str] | None, Sequence[str]]:
    """The scores, the columns asked for, and problems: from a scores file, or by scoring a case file."""
    from medassay.cli import _mapping
    from medassay.metrics.registry import _as_part, load_metrics, names, split
    from medassay.records import read_records
    from medassay.study.scorefile import read_scores

    mapping = _mapping(columns)
    first = next((record for _, record in read_records(path, format=format) if not isinstance(record, str)), {})
    if mapping.get("candidate", "candidate") not in first:
        table = read_scores(path, format=format)
        wanted = []
        for name in split(metrics):
            whole, part = _as_part(name) if name not in table.columns and name not in names() else (None, "")
            wanted.append(f"{whole}.{part}" if whole else name)
        return table, wanted or None, ()
    from medassay.engine.job import Job
    from medassay.metrics.registry import DEFAULT

    loaded = load_metrics(metrics or ",".join(DEFAULT), models=models)
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "scores.jsonl"
        job = Job(cases=str(path), metrics=loaded, columns=mapping, format=format, out=kept, resamples=0, keep=False)
        problems = job.run().problems
        return replace(read_scores(kept), name=str(path)), [metric.name for metric in loaded], problems


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _ends(text: str) -> tuple[float, float] | None:
    """`0:5` as two numbers."""
    if not text:
        return None
    low, _, high = text.partition(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        raise InputError(f"--scale: '{text}' is not low:high, as in 0:5") from None
    if not ends[0] < ends[1]:
        raise InputError(f"--scale: '{text}' must name the lower end first, as in 0:5")
    return ends


def _check(paths: tuple[Path | None, Path | None], suffixes: tuple[str, ...], source: Path) -> None:
    """Find out before the run what could not be written after it."""
    out, report = paths
    if out is not None and out.suffix.lower() not in suffixes:
        raise InputError(f"{out}: cannot write '{out.suffix}'; use one of {', '.join(suffixes)}")
    for path in (out, report):
        if path is not None and not path.resolve().parent.is_dir():
            raise InputError(f"{path}: the folder {path.resolve().parent} does not exist; create it first")
        if path is not None and path.exists() and source.exists() and path.samefile(source):
            raise InputError(f"{path}: is the input itself; write to another file")


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Records as CSV or JSON lines, whole or not at all."""
    from medassay.outputs import guard

    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("w", encoding="utf-8", newline="") as stream:
            if path.suffix.lower() == ".jsonl":
                stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            else:
                header = list(dict.fromkeys(name for row in rows for name in row))
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerow(header)
                for row in rows:
                    cells = [row.get(name) for name in header]
                    writer.writerow(["" if c is None else guard(c) if isinstance(c, str) else c for c in cells])
        partial.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another --out") from error
