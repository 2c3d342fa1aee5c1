"""`medassay validate`: agreement of metrics with people."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medassay import console
from medassay.errors import InputError, UnknownName, nearest

if TYPE_CHECKING:
    from medassay.engine.score_table import ScoreTable
    from medassay.paths import Given
    from medassay.study import Validation
    from medassay.study.validation import Scale

ColumnsOption = Annotated[
    str, typer.Option(help="Comma-separated; for a scores file its columns, such as rouge1.recall.")
]


def validate(
    scores: Annotated[
        list[Path], typer.Argument(help="Scores files with human columns, or case files to be scored first.")
    ],
    human: Annotated[str, typer.Option(help="Columns that people filled in, comma-separated.")] = "",
    preferences: Annotated[
        Path | None, typer.Option(help="Judged pairs: id, system_a, system_b, preference (a, b or tie).")
    ] = None,
    metrics: ColumnsOption = "",
    above: Annotated[float | None, typer.Option(help="Count only human scores above this; HARE uses 0.")] = None,
    lower: Annotated[str, typer.Option(help="Columns of which less is better.")] = "",
    higher: Annotated[str, typer.Option(help="Columns of which more is better, whatever their name says.")] = "",
    scale: Annotated[
        str, typer.Option(help="Ends of the human scale for RMSE, as 0:5 or column=0:5,…; default: as found.")
    ] = "",
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

    from medassay.commands.preferences import compare_preferences, preference_rows, read_preferences
    from medassay.engine.scores_file import meta_path
    from medassay.report import print_cross_data, print_preferences, print_validation, study_sections, write_study
    from medassay.study import cross_data as average
    from medassay.study import validate as correlate

    if bool(human) == (preferences is not None):
        raise InputError("say what people said, in one way: --human COLUMNS, or --preferences FILE")
    if preferences is not None and (len(scores) > 1 or report is not None):
        raise InputError("--preferences goes with one scores file and no --report")
    if len({str(path) for path in scores}) < len(scores):
        raise InputError("a file is named twice; name each once")
    read = [name for path in scores for name in (path, meta_path(path))]
    inputs: dict[str, Given] = {"scores": read, "--metrics": console.files_in(metrics), "--preferences": preferences}
    console.check_paths(inputs, {"--report": report}, table=out)
    if preferences is not None:
        judged = read_preferences(preferences)
        table, chosen, row_problems = _scored(scores[0], metrics, models, map_, format, {by} - {"system"})
        directions = console.parse_list(lower), console.parse_list(higher)
        preferred = compare_preferences(judged, table, chosen, by, directions, resamples, seed)
        print_preferences(Console(), preferred)
        _write(preference_rows(preferred), out)
        console.finish(scores[0], row_problems)
        return
    humans, ends = console.parse_list(human), _ends(scale)
    studies: dict[str, Validation] = {}
    problems: list[str] = []
    for path in scores:
        present = _present(path, humans, map_, format) if len(scores) > 1 else humans
        carried = {*present, item or "id", by, cluster} - {"id", "system", "reference", "none"}
        table, chosen, row_problems = _scored(path, metrics, models, map_, format, carried)
        problems += [f"{path}: {line}" for line in row_problems] if len(scores) > 1 else row_problems
        studies[str(path)] = correlate(
            table,
            present,
            metrics=chosen,
            above=above,
            lower=_directions_of(console.parse_list(lower), present, scores),
            higher=_directions_of(console.parse_list(higher), present, scores),
            scale=_scale_of(ends, humans, present),
            item=item,
            by=by,
            cluster=cluster,
            aggregate=console.parse_list(aggregate) or None,
            coefficient=coefficient,
            resamples=resamples,
            seed=seed,
        )
    screen = Console()
    for name, study in studies.items():
        print_validation(screen, study, title=name if len(studies) > 1 else "")
    if len(studies) > 1:
        print_cross_data(screen, average(studies))
    named = [("", study) for study in studies.values()] if len(studies) == 1 else list(studies.items())
    _write([row for name, study in named for row in figure_rows(study, name)], out)
    if report is not None:
        write_study(report, "Agreement with people", _facts(studies), study_sections(studies))
        console.say(f"report written to {report}")
    console.finish(", ".join(map(str, scores)), problems)


def _write(rows: list[dict[str, str | float | int | None]], out: Path | None) -> None:
    """Write the figures, where that was asked for."""
    from medassay.files import write_rows

    if out is not None:
        write_rows(rows, out)
        console.say(f"figures written to {out}")


def _facts(studies: Mapping[str, Validation]) -> list[str]:
    """The facts under the page's title."""
    cases = sum(len(study.systems_of) for study in studies.values())
    metrics = {metric for study in studies.values() for metric in study.metrics}
    humans = {human for study in studies.values() for human in study.humans}
    files = [f"files: {len(studies)}"] if len(studies) > 1 else []
    return [*files, f"{cases:,} cases", f"metrics: {len(metrics)}", f"human columns: {len(humans)}"]


def _present(path: Path, humans: Sequence[str], columns: str, format: str | None) -> list[str]:
    """Those of the human columns that one of several files has; an error where it has none of them."""
    from medassay.records import read_records

    first = next((record for _, record in read_records(path, format=format) if not isinstance(record, str)), {})
    present = [human for human in humans if human in first]
    if not present:
        raise UnknownName(f"{path}: none of the human columns {', '.join(humans)}; found {', '.join(first)}")
    if len(present) < len(humans):
        console.say(f"{path}: no column {', '.join(h for h in humans if h not in present)}; the others are compared")
    return present


def _scale_of(scale: Scale, humans: Sequence[str], present: Sequence[str]) -> Scale:
    """The scales of the columns that a file has, and those of columns that none has, which are refused."""
    if not isinstance(scale, dict):
        return scale
    return {name: ends for name, ends in scale.items() if name in present or name not in humans}


def _directions_of(names: Sequence[str], present: Sequence[str], scores: Sequence[Path]) -> list[str]:
    """The columns whose direction is named; with several files, only those that this file has."""
    return [name for name in names if len(scores) == 1 or name in present]


def _scored(
    path: Path, metrics: str, models: str, columns: str, format: str | None, carried: Collection[str]
) -> tuple[ScoreTable, list[str] | None, Sequence[str]]:
    """The scores, the columns asked for, and problems: from a scores file, or by scoring a case file.

    carried: columns that a case file must have; checked before it is scored.
    """
    import tempfile

    from medassay.columns import find_column
    from medassay.engine.score_table import read_scores
    from medassay.metrics.registry import as_part, load_metrics, names, split_requests
    from medassay.paths import check_read_again
    from medassay.records import kind_of, read_records

    check_read_again(path)
    mapping = console.parse_mapping(columns)
    first_record = next((record for _, record in read_records(path, format=format) if not isinstance(record, str)), {})
    if find_column(mapping.get("candidate", "candidate"), first_record) is None:
        table = read_scores(path, format=format)
        columns_asked = []
        for name in split_requests(metrics):
            whole, part = as_part(name) if name not in table.columns and name not in names() else (None, "")
            columns_asked.append(f"{whole}.{part}" if whole else name)
        return table, columns_asked or None, ()
    from medassay.api import FileRun, metrics_for

    missing = [column for column in carried if column not in first_record]
    if missing and (format or kind_of(path)) != "jsonl":  # a line may have columns that the first one has not
        raise UnknownName(f"{path}: no column '{missing[0]}'{nearest(missing[0], first_record)}")
    loaded = load_metrics(metrics or metrics_for(str(path), mapping, format), models=models)
    with tempfile.TemporaryDirectory() as folder:
        scores_path = Path(folder) / "scores.jsonl"
        job = FileRun(str(path), loaded, columns=mapping, format=format, out=scores_path, resamples=0, keep=False)
        job.progress = console.file_progress(str(path), format)
        problems = job.run().problems
        return replace(read_scores(scores_path), name=str(path)), [metric.name for metric in loaded], problems


def _ends(text: str) -> Scale:
    """`0:5` as two numbers; `a=0:5,b=0:1` as two per column."""
    if not text:
        return None
    if "=" not in text:
        return _two_numbers(text)
    ends: dict[str, tuple[float, float]] = {}
    for part in console.parse_list(text):
        column, equals, written = part.partition("=")
        if not equals or not column.strip():
            raise InputError(f"--scale: '{part}' is not column=low:high, as in expert_score=0:5")
        ends[column.strip()] = _two_numbers(written)
    return ends


def _two_numbers(text: str) -> tuple[float, float]:
    low, _, high = text.partition(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        raise InputError(f"--scale: '{text}' is not low:high, as in 0:5") from None
    if not ends[0] < ends[1]:
        raise InputError(f"--scale: '{text}' must name the lower end first, as in 0:5")
    return ends


def figure_rows(study: Validation, data: str = "") -> list[dict[str, str | float | int | None]]:
    """Every figure of a study: one flat record per metric and human column. data: the file, where there are several."""
    from medassay.commands.preferences import pair_figures
    from medassay.study import COEFFICIENTS, Estimate

    rows: list[dict[str, str | float | int | None]] = []
    for agreement in study.agreements:
        record: dict[str, str | float | int | None] = {"data": data} if data else {}
        record |= {"metric": agreement.metric, "human": agreement.human}
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
                if not level:
                    record[f"{name}.p_analytic"] = agreement.analytic.get(name)
                record |= {f"{level}{name}.low": estimate.low, f"{level}{name}.high": estimate.high}
        record |= pair_figures(agreement.pairwise)
        record |= {"r2": agreement.r2, "rmse": agreement.rmse, "items": agreement.items, "systems": agreement.systems}
        rows.append({**record, "not_assessed": agreement.reason})
    return rows
