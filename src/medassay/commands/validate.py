"""`medassay validate`: agreement of metrics with people."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medassay import console
from medassay.errors import InputError, UnknownName, nearest

if TYPE_CHECKING:
    from medassay.engine.score_table import ScoreTable
    from medassay.study import Validation

ColumnsOption = Annotated[
    str, typer.Option(help="Comma-separated; for a scores file its columns, such as rouge1.recall.")
]


def validate(
    scores: Annotated[Path, typer.Argument(help="Scores file with human columns, or a case file to be scored first.")],
    human: Annotated[str, typer.Option(help="Columns that people filled in, comma-separated.")],
    metrics: ColumnsOption = "",
    above: Annotated[float | None, typer.Option(help="Count only human scores above this; HARE uses 0.")] = None,
    lower: Annotated[str, typer.Option(help="Columns of which less is better.")] = "",
    higher: Annotated[str, typer.Option(help="Columns of which more is better, whatever their name says.")] = "",
    scale: Annotated[str, typer.Option(help="Ends of the human scale for RMSE, as 0:5; default: as found.")] = "",
    aggregate: Annotated[str, typer.Option(help="Columns of factual F1, hallucination, omission; else by name.")] = "",
    coefficient: Annotated[str, typer.Option(help="pearson or spearman, for tests and heat map.")] = "pearson",
    item: Annotated[str | None, typer.Option(help="Column whose rows are one item; default: id or reference.")] = None,
    by: console.System = "system",
    cluster: console.Cluster = "reference",
    out: Annotated[Path | None, typer.Option(help="All figures as .csv or .jsonl.")] = None,
    report: console.Report = None,
    models: console.Models = "embedded",
    map_: console.Map = "",
    format: console.Format = None,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples and permutations.")] = 1000,
    seed: console.Seed = 1,
) -> None:
    """Do the metrics agree with people? Correlations, intervals, and which metric agrees better."""
    from rich.console import Console

    from medassay.engine.scores_file import meta_path
    from medassay.files import write_rows
    from medassay.report import print_validation, validation_sections, write_study
    from medassay.study import validate as correlate

    console.check_paths(
        {"scores": [scores, meta_path(scores)], "--metrics": console.files_in(metrics)},
        {"--report": report},
        table=out,
    )
    humans, ends = console.parse_list(human), _ends(scale)
    carried = {*humans, item or "id", by, cluster} - {"id", "system", "reference", "none"}
    table, chosen, problems = _scored(scores, metrics, models, map_, format, carried)
    study = correlate(
        table,
        humans,
        metrics=chosen,
        above=above,
        lower=console.parse_list(lower),
        higher=console.parse_list(higher),
        scale=ends,
        item=item,
        by=by,
        cluster=cluster,
        aggregate=console.parse_list(aggregate) or None,
        coefficient=coefficient,
        resamples=resamples,
        seed=seed,
    )
    print_validation(Console(), study)
    if out is not None:
        write_rows(figure_rows(study), out)
        console.say(f"figures written to {out}")
    if report is not None:
        facts = [f"{len(table):,} cases", f"metrics: {len(study.metrics)}", f"human columns: {len(study.humans)}"]
        write_study(report, "Agreement with people", facts, validation_sections(study))
        console.say(f"report written to {report}")
    console.finish(scores, problems)


def _scored(
    path: Path, metrics: str, models: str, columns: str, format: str | None, carried: Collection[str]
) -> tuple[ScoreTable, list[str] | None, Sequence[str]]:
    """The scores, the columns asked for, and problems: from a scores file, or by scoring a case file.

    carried: columns that a case file must have, which is found out before it is scored.
    """
    import tempfile

    from medassay.columns import find_column
    from medassay.engine.score_table import read_scores
    from medassay.metrics.registry import as_part, load_metrics, names, split
    from medassay.paths import check_read_again
    from medassay.records import kind_of, read_records

    check_read_again(path)
    mapping = console.parse_mapping(columns)
    first = next((record for _, record in read_records(path, format=format) if not isinstance(record, str)), {})
    if find_column(mapping.get("candidate", "candidate"), first) is None:
        table = read_scores(path, format=format)
        wanted = []
        for name in split(metrics):
            whole, part = as_part(name) if name not in table.columns and name not in names() else (None, "")
            wanted.append(f"{whole}.{part}" if whole else name)
        return table, wanted or None, ()
    from medassay.api import FileRun, metrics_for

    missing = [column for column in carried if column not in first]
    if missing and (format or kind_of(path)) != "jsonl":  # a line may have columns that the first one has not
        raise UnknownName(f"{path}: no column '{missing[0]}'{nearest(missing[0], first)}")
    loaded = load_metrics(metrics or metrics_for(str(path), mapping, format), models=models)
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "scores.jsonl"
        job = FileRun(str(path), loaded, columns=mapping, format=format, out=kept, resamples=0, keep=False)
        problems = job.run().problems
        return replace(read_scores(kept), name=str(path)), [metric.name for metric in loaded], problems


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


def figure_rows(study: Validation) -> list[dict[str, str | float | int | None]]:
    """Every figure of a study: one flat record per metric and human column."""
    from medassay.study import COEFFICIENTS, Estimate

    rows: list[dict[str, str | float | int | None]] = []
    for agreement in study.agreements:
        record: dict[str, str | float | int | None] = {"metric": agreement.metric, "human": agreement.human}
        record |= {
            "expected_sign": agreement.expected,
            "n": agreement.n,
            "missing": agreement.missing,
            "clusters": agreement.clusters,
        }
        for level, estimates in (("", agreement.item), ("within.", agreement.within), ("system.", agreement.system)):
            for name in COEFFICIENTS:
                estimate = estimates.get(name, Estimate(math.nan))
                record |= {f"{level}{name}": estimate.value if estimate.known else None, f"{level}{name}.p": estimate.p}
                if level != "system.":
                    record |= {f"{level}{name}.low": estimate.low, f"{level}{name}.high": estimate.high}
        record |= {"r2": agreement.r2, "rmse": agreement.rmse, "items": agreement.items, "systems": agreement.systems}
        rows.append({**record, "not_assessed": agreement.reason})
    return rows
