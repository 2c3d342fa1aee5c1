"""`medassay trust-study …`: calibrate, sensitivity, repeat, ablation, benchmark, gap. Parse, call, print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medassay.commands.tables import write_rows
from medassay.console import (
    FormatOption,
    ImagesOption,
    MapOption,
    ModelsOption,
    MppOption,
    ReportOption,
    ResamplesOption,
    SeedOption,
    TableOption,
    check_outputs,
    finish,
    parse_mapping,
    say,
    scoring_progress,
)
from medassay.errors import InputError

if TYPE_CHECKING:
    from medassay.cases import Case
    from medassay.study.resampling import Floats
    from medassay.study.trust_studies import Scores
    from medassay.study.trust_table import Table

trust_study_app = typer.Typer(
    name="trust-study",
    help="Studies of trust: calibrate a policy, sensitivity, repeat runs, ablation, benchmark, domain gap.",
    no_args_is_help=True,
)

ScoresFiles = Annotated[list[Path], typer.Argument(help="Scores files of medassay trust --out.")]
Human = Annotated[str, typer.Option(help="Column that people filled in, higher is better.")]
Cluster = Annotated[str, typer.Option(help="Column whose rows belong together when resampling.")]


@trust_study_app.command()
def calibrate(
    scores: ScoresFiles,
    human: Human,
    out: Annotated[Path, typer.Option(help="Policy file to write (.json), for medassay trust --policy.")],
    good_at: Annotated[float, typer.Option(help="Human score from which a report is acceptable.")] = 1.0,
    risk: Annotated[float, typer.Option(help="Share of bad reports among what deploys, at most.")] = 0.05,
    reject_precision: Annotated[float, typer.Option(help="Share of bad reports among the rejected, at least.")] = 0.8,
    confidence: Annotated[float, typer.Option(help="Confidence of both bounds.")] = 0.95,
    weights: Annotated[str | None, typer.Option(help="Fixed weights, 0.4,0.3,0.3; default: grid search.")] = None,
    cluster: Cluster = "id",
    report: ReportOption = None,
    resamples: ResamplesOption = 1000,
    seed: SeedOption = 1,
) -> None:
    """Set weights and thresholds from labelled reports, to a chosen risk, and write them down as a policy."""
    import numpy as np
    from rich.console import Console

    from medassay.metrics.policy import DIMENSIONS, parse_weights
    from medassay.report.trust_tables import fit_sections, print_fit
    from medassay.study.trust_fit import Labelled, fit

    check_outputs(scores[0], report)
    found, people = _labelled(scores, human, cluster)
    bad = np.where(np.isfinite(people), (people < good_at).astype(float), np.nan)
    given = parse_weights(weights) if weights else None
    made = fit(
        Labelled(found.dimensions, people, bad, found.clusters, found.barred),
        name=", ".join(path.name for path in scores),
        label=f"{human} below {good_at:g} is bad",
        weights=[given[name] for name in DIMENSIONS] if given else None,
        risk=risk,
        precision=reject_precision,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    print_fit(Console(), made)
    try:
        out.write_text(made.policy.to_json(), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror}); choose another --out") from error
    say(f"policy written to {out}; use it with medassay trust … --policy {out}")
    if report is not None:
        from medassay.report.study_page import write_study

        write_study(report, "Trust policy", [f"{len(found):,} reports"], fit_sections(made))
        say(f"report written to {report}")


@trust_study_app.command()
def sensitivity(
    cases: Annotated[Path, typer.Argument(help="Case file of good reports (controls), or of references and changes.")],
    images: ImagesOption = None,
    metrics: Annotated[
        str, typer.Option(help="What is set beside grounding and logic.")
    ] = "rougeL,bleu,bertscore,hare",
    limit: Annotated[int, typer.Option(help="Reports taken, from the start; 0 for all.")] = 0,
    out: TableOption = None,
    report: ReportOption = None,
    models: ModelsOption = "embedded",
    mpp: MppOption = None,
    map_: MapOption = "",
    format: FormatOption = None,
    resamples: ResamplesOption = 1000,
    seed: SeedOption = 1,
) -> None:
    """Control, visual hallucination, logic error: what does each cost, beside ROUGE, BLEU, BERTScore, HARE?"""
    from medassay.metrics.registry import load_metrics
    from medassay.records import read_records
    from medassay.study import trust_sensitivity as study

    check_outputs(cases, report, table=out)
    columns = parse_mapping(map_)
    loaded = load_metrics(f"grounding,logic,{metrics}".rstrip(","), models=models, mpp=mpp, seed=seed)
    first = next((record for _, record in read_records(cases, format=format) if not isinstance(record, str)), {})
    problems: Sequence[str]
    notes: list[str] = []
    if columns.get("candidate", "candidate") in first and "kind" not in first:
        some, problems = _read(cases, images, columns, format, limit)
        tested, missed = study.make_tested(some, seed)
        notes = [f"Not made: {count:,} times {reason}." for reason, count in sorted(missed.items())]
    else:
        tested, problems = study.read_tested(cases, columns, format)
        tested = tested[:limit] if limit else tested
    table = study.sensitivity(tested, loaded, resamples=resamples, seed=seed, progress=scoring_progress, notes=notes)
    _write(table, out, report, f"{len(tested):,} reports", problems, str(cases))


@trust_study_app.command()
def repeat(
    cases: Annotated[Path, typer.Argument(help="Case file.")],
    images: ImagesOption = None,
    runs: Annotated[int, typer.Option(help="How often everything is scored.")] = 5,
    limit: Annotated[int, typer.Option(help="Cases taken, from the start; 0 for all.")] = 0,
    out: TableOption = None,
    report: ReportOption = None,
    models: ModelsOption = "embedded",
    mpp: MppOption = None,
    map_: MapOption = "",
    format: FormatOption = None,
    seed: SeedOption = 1,
) -> None:
    """Is it deterministic? The same cases several times, models loaded anew, in another order."""
    from medassay.metrics.base import Metric
    from medassay.metrics.trust import load_trust
    from medassay.models.loading import _load, model_set
    from medassay.study.trust_studies import repeat as study

    check_outputs(cases, report, table=out)
    some, problems = _read(cases, images, parse_mapping(map_), format, limit)

    def load() -> list[Metric]:
        # A cache would make the second run a copy of the first.
        _load.cache_clear()
        model_set.cache_clear()
        made = load_trust(models=models, mpp=mpp, seed=seed)
        return [*made.members, made]

    table = study(some, load, runs=runs, seed=seed)
    _write(table, out, report, f"{len(some):,} cases", problems, str(cases))


@trust_study_app.command()
def ablation(
    scores: ScoresFiles,
    human: Human,
    weights: Annotated[str, typer.Option(help="Of grounding, logic, stability.")] = "0.4,0.3,0.3",
    cluster: Cluster = "id",
    out: TableOption = None,
    report: ReportOption = None,
    resamples: ResamplesOption = 1000,
    seed: SeedOption = 1,
) -> None:
    """What does each dimension add to the agreement with people?"""
    from medassay.metrics.policy import DIMENSIONS, parse_weights
    from medassay.study.trust_studies import ablation as study

    check_outputs(scores[0], report, table=out)
    found, people = _labelled(scores, human, cluster)
    given = parse_weights(weights)
    table = study(found, people, [given[name] for name in DIMENSIONS], resamples=resamples, seed=seed)
    _write(table, out, report, f"{len(found):,} reports")


@trust_study_app.command()
def benchmark(
    scores: ScoresFiles,
    by: Annotated[str, typer.Option(help="Column of the models.")] = "system",
    dataset: Annotated[str, typer.Option(help="Column of the data sets; without it each file is one.")] = "dataset",
    level: Annotated[str, typer.Option(help="Column that says patch or slide.")] = "level",
    cluster: Cluster = "id",
    out: TableOption = None,
    report: ReportOption = None,
    resamples: ResamplesOption = 1000,
    seed: SeedOption = 1,
) -> None:
    """Model × data set at patch and slide level: each dimension and trust, with intervals."""
    from medassay.study.trust_studies import benchmark as study

    check_outputs(scores[0], report, table=out)
    found = _gathered(scores, by, dataset, level, cluster)
    _write(study(found, resamples=resamples, seed=seed), out, report, f"{len(found):,} rows")


@trust_study_app.command()
def gap(
    scores: ScoresFiles,
    public: Annotated[str, typer.Option(help="Name of the public data set (its column's value, or its file's name).")],
    private: Annotated[str, typer.Option(help="Name of the private one.")],
    by: Annotated[str, typer.Option(help="Column of the models.")] = "system",
    dataset: Annotated[str, typer.Option(help="Column of the data sets; without it each file is one.")] = "dataset",
    cluster: Cluster = "id",
    out: TableOption = None,
    report: ReportOption = None,
    resamples: ResamplesOption = 1000,
    seed: SeedOption = 1,
) -> None:
    """Public minus private: how much of a model's trust stays at home?"""
    from medassay.study.trust_studies import gap as study

    check_outputs(scores[0], report, table=out)
    found = _gathered(scores, by, dataset, "level", cluster)
    _write(study(found, public, private, resamples=resamples, seed=seed), out, report, f"{len(found):,} rows")


def _gathered(paths: Sequence[Path], by: str, dataset: str, level: str, cluster: str) -> Scores:
    from medassay.study.scorefile import read_scores
    from medassay.study.trust_studies import gather

    tables = [(path.stem, read_scores(path)) for path in paths]
    return gather(tables, system=by, dataset=dataset, level=level, cluster=cluster)


def _labelled(paths: Sequence[Path], human: str, cluster: str) -> tuple[Scores, Floats]:
    """Trust scores with the human column, NaN where a row has none."""
    import numpy as np

    from medassay.study.scorefile import read_scores
    from medassay.study.trust_studies import gather

    tables = [(path.stem, read_scores(path)) for path in paths]
    people = np.concatenate([table.numbers(human) for _, table in tables])
    return gather(tables, cluster=cluster), people


def _read(
    path: Path, images: Path | None, columns: dict[str, str], format: str | None, limit: int
) -> tuple[list[Case], list[str]]:
    """Cases with their images looked up, and the rows that had problems."""
    from medassay.engine.trust import TrustSource, troubles

    cases, problems = [], []
    for row in TrustSource(str(path), columns, format, images=images)():
        if row.case is None:
            problems.append(f"row {row.number}: {row.problem}")
        elif row.case.has("candidate"):
            problems += [f"row {row.number}: {trouble}" for trouble in troubles(row.case, {})]
            cases.append(row.case)
        if limit and len(cases) == limit:
            break
    if not cases:
        raise InputError(f"{path}: no usable row. First problem: {problems[0] if problems else 'no candidate'}")
    return cases, problems


def _write(
    table: Table, out: Path | None, report: Path | None, fact: str, problems: Sequence[str] = (), name: str = ""
) -> None:
    from rich.console import Console

    from medassay.report.trust_tables import print_study, study_section

    print_study(Console(), table)
    if out is not None:
        write_rows(table.flat(), out)
        say(f"table written to {out}")
    if report is not None:
        from medassay.report.study_page import write_study

        write_study(report, table.title, [fact], [study_section(table)])
        say(f"report written to {report}")
    finish(name, problems)
