"""`medassay trust-study …`: calibrate, hierarchy, sensitivity, repeat, ablation, benchmark, gap. Parse, call, print."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medassay import console
from medassay.commands.variants import score_groups, values_of
from medassay.errors import InputError

if TYPE_CHECKING:
    from medassay.cases import Case
    from medassay.engine.score_table import ScoreTable
    from medassay.metrics.base import Metric
    from medassay.study import Floats, Table, TrustScores, Varied

trust_study_app = typer.Typer(
    name="trust-study",
    help="Studies of trust: calibrate a policy, error hierarchy, sensitivity, repeat runs, ablation, benchmark, "
    "domain gap.",
    no_args_is_help=True,
)

ScoresFiles = Annotated[list[Path], typer.Argument(help="Scores files of medassay trust --out.")]
Human = Annotated[str, typer.Option(help="Column that people filled in, higher is better.")]
Lower = Annotated[bool, typer.Option("--lower-is-better", help="The human column counts errors: lower is better.")]
Weights = Annotated[str, typer.Option(help="Of grounding, logic, stability.")]
Cluster = Annotated[str, typer.Option(help="Column whose rows belong together when resampling.")]
Limit = Annotated[int, typer.Option(help="Reports taken, from the start; 0 for all.")]
ModelColumn = Annotated[str, typer.Option(help="Column of the models.")]
DatasetColumn = Annotated[str, typer.Option(help="Column of the data sets; without it each file is one.")]


@trust_study_app.command()
def calibrate(
    scores: ScoresFiles,
    human: Human,
    out: Annotated[Path, typer.Option(help="Policy file to write (.json), for medassay trust --policy.")],
    good_at: Annotated[float, typer.Option(help="Human score from which a report is acceptable.")] = 1.0,
    lower_is_better: Lower = False,
    risk: Annotated[float, typer.Option(help="Share of bad reports among what deploys, at most.")] = 0.05,
    reject_precision: Annotated[float, typer.Option(help="Share of bad reports among the rejected, at least.")] = 0.8,
    confidence: Annotated[float, typer.Option(help="Confidence of both bounds.")] = 0.95,
    weights: Annotated[str | None, typer.Option(help="Fixed weights, 0.4,0.3,0.3; default: grid search.")] = None,
    cluster: Cluster = "id",
    report: console.Report = None,
    resamples: console.Resamples = 1000,
    seed: console.Seed = 1,
) -> None:
    """Set weights and thresholds from labelled reports, to a chosen risk, and write them down as a policy."""
    from dataclasses import replace

    import numpy as np
    from rich.console import Console

    from medassay.files import write_text
    from medassay.report import fit_sections, print_fit, write_study
    from medassay.study import Labelled, fit

    _check_score_paths(scores, {"--out": out, "--report": report})
    trust_scores, people = _labelled(scores, human, cluster, lower_is_better)
    limit = -good_at if lower_is_better else good_at
    bad = np.where(np.isfinite(people), (people < limit).astype(float), np.nan)
    fitted = fit(
        Labelled(trust_scores.dimensions, people, bad, trust_scores.clusters, trust_scores.barred),
        name=", ".join(path.name for path in scores),
        label=f"{human} {'above' if lower_is_better else 'below'} {good_at:g} is bad",
        weights=_parse_weights(weights) if weights else None,
        risk=risk,
        precision=reject_precision,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    print_fit(Console(), fitted)
    basis = {**fitted.policy.calibration, "signatures": _signatures(scores)}
    write_text(out, replace(fitted.policy, calibration=basis).to_json())
    console.say(f"policy written to {out}; use it with medassay trust … --policy {out}")
    if report is not None:
        write_study(report, "Trust policy", [f"{len(trust_scores):,} reports"], fit_sections(fitted))
        console.say(f"report written to {report}")


@trust_study_app.command()
def sensitivity(
    cases: Annotated[Path, typer.Argument(help="Case file of good reports (controls), or of references and changes.")],
    images: console.Images = None,
    metrics: Annotated[
        str, typer.Option(help="What is set beside grounding and logic: any metrics (hare, facts, judge(…)).")
    ] = "rougeL,bleu,bertscore,hare",
    limit: Limit = 0,
    out: console.Table = None,
    report: console.Report = None,
    models: console.Models = "embedded",
    mpp: console.Mpp = None,
    map_: console.Map = "",
    format: console.Format = None,
    resamples: console.Resamples = 1000,
    seed: console.Seed = 1,
) -> None:
    """Control, visual hallucination, logic error: what does each cost S_g and S_l, in both modes, and other metrics?"""
    from medassay.metrics.registry import load_metrics
    from medassay.study import sensitivity as sensitivity_table

    _check_case_paths(cases, metrics, report, out)
    ours = "grounding,logic,grounding(mode=paper),logic(mode=paper)"
    loaded = load_metrics(f"{ours},{metrics}".rstrip(","), models=models, mpp=mpp, seed=seed)
    varied, problems, notes = _vary(cases, images, console.parse_mapping(map_), format, limit, seed)
    scores, failures = score_groups([[case for _, case in report] for report in varied], loaded)
    table = sensitivity_table(
        [[kind for kind, _ in report] for report in varied],
        values_of(scores),
        {metric.name: metric.higher_is_better for metric in loaded},
        resamples=resamples,
        seed=seed,
        notes=notes,
    )
    problems = [*problems, *failures.problems()]
    _write(table, out, report, f"{len(varied):,} reports", problems, str(cases), failures.ended)


def _vary(
    path: Path, images: Path | None, columns: dict[str, str], format: str | None, limit: int, seed: int
) -> tuple[list[Varied], list[str], list[str]]:
    """Controls with their variants, the problems of rows, and notes on what could not be made.

    A file of changed texts brings its variants; the reports of a case file are changed by rule.
    """
    from medassay.columns import find_column
    from medassay.records import read_records
    from medassay.study import brings_changes, originals_of, vary_cases, vary_originals

    records = list(read_records(path, format=format)) if path.is_file() else []
    first = next((record for _, record in records if not isinstance(record, str)), {})
    is_case_file = find_column(columns.get("candidate", "candidate"), first) is not None
    if not records or (is_case_file and not brings_changes(records)):
        cases, problems = _read_cases(path, images, columns, format, limit)
        varied, not_made = vary_cases(cases, seed)
        return varied, problems, [f"Not made: {count:,} times {reason}." for reason, count in sorted(not_made.items())]
    originals, problems = originals_of(str(path), records, columns)
    varied = vary_originals(originals)
    if not varied:
        raise InputError(f"{path}: no row brings a paraphrase or a contradiction; give reports to be changed by rule")
    return varied[:limit] if limit else varied, problems, []


@trust_study_app.command()
def repeat(
    cases: Annotated[Path, typer.Argument(help="Case file.")],
    images: console.Images = None,
    metrics: Annotated[str, typer.Option(help="Further metrics beside trust and its dimensions: judge(…), hare.")] = "",
    runs: Annotated[int, typer.Option(help="How often everything is scored.")] = 5,
    limit: Annotated[int, typer.Option(help="Cases taken, from the start; 0 for all.")] = 0,
    out: console.Table = None,
    report: console.Report = None,
    models: console.Models = "embedded",
    mpp: console.Mpp = None,
    map_: console.Map = "",
    format: console.Format = None,
    seed: console.Seed = 1,
) -> None:
    """Is it deterministic? The same cases several times, models loaded anew, in another order."""
    from medassay.metrics.registry import load_metrics
    from medassay.metrics.trust import load_trust
    from medassay.models import unload
    from medassay.study import repeat_runs

    _check_case_paths(cases, metrics, report, out)
    if runs < 2:
        raise InputError(f"--runs {runs}: one run shows no variance; ask for two or more")
    chosen, problems = _read_cases(cases, images, console.parse_mapping(map_), format, limit)

    def load() -> list[Metric]:
        # A cache would make the second run a copy of the first.
        unload()
        trust = load_trust(models=models, mpp=mpp, seed=seed)
        further = load_metrics(metrics, models=models, mpp=mpp, seed=seed) if metrics else []
        return [*trust.members, trust, *further]

    table = repeat_runs(*score_runs(chosen, load, runs, seed))
    _write(table, out, report, f"{len(chosen):,} cases", problems, str(cases))


def score_runs(
    cases: Sequence[Case], load: Callable[[], Sequence[Metric]], runs: int, seed: int
) -> tuple[dict[str, list[Floats]], dict[str, list[list[str | None]]]]:
    """Score the same cases several times, from the second run on in another order.

    Returns:
        By metric and run, in the order of the cases: the numbers (NaN where unscored), and why there is none.
    """
    import numpy as np

    from medassay.engine.local import score_cases

    values: dict[str, list[Floats]] = {}
    reasons: dict[str, list[list[str | None]]] = {}
    for k in range(runs):
        order = np.random.default_rng([seed, k]).permutation(len(cases)) if k else np.arange(len(cases))
        columns = score_cases([cases[i] for i in order], load())
        back = np.argsort(order).tolist()
        for name, shuffled in columns.items():
            scores = [shuffled[i] for i in back]
            values.setdefault(name, []).append(np.array([np.nan if s.value is None else s.value for s in scores]))
            reasons.setdefault(name, []).append([s.unscored or s.failed for s in scores])
    return values, reasons


@trust_study_app.command()
def hierarchy(
    cases: Annotated[Path, typer.Argument(help="Case file of reports with a column of error levels.")],
    images: console.Images = None,
    level: Annotated[str, typer.Option(help="Column that grades the error: 0 correct, higher is worse.")] = "level",
    metrics: Annotated[str, typer.Option(help="What is set beside trust: any metrics, such as judge(…).")] = "",
    weights: Weights = "0.4,0.3,0.3",
    cluster: Cluster = "image",
    limit: Limit = 0,
    out: console.Table = None,
    report: console.Report = None,
    models: console.Models = "embedded",
    mpp: console.Mpp = None,
    map_: console.Map = "",
    format: console.Format = None,
    resamples: console.Resamples = 1000,
    seed: console.Seed = 1,
) -> None:
    """Does trust fall as errors get worse? Both modes, each dimension, without each; p-values; judge's variance."""
    from medassay.commands.graded import grade
    from medassay.study import hierarchy as hierarchy_table

    _check_case_paths(cases, metrics, report, out)
    by_dimension = _parse_weights(weights)
    chosen, problems = _read_cases(cases, images, console.parse_mapping(map_), format, limit)
    graded, failed, ended = grade(chosen, level, cluster, metrics, models=models, mpp=mpp, seed=seed)
    table = hierarchy_table(graded, by_dimension, resamples=resamples, seed=seed)
    _write(table, out, report, f"{len(chosen):,} reports", [*problems, *failed], str(cases), ended)


@trust_study_app.command()
def ablation(
    scores: ScoresFiles,
    human: Human,
    weights: Weights = "0.4,0.3,0.3",
    lower_is_better: Lower = False,
    cluster: Cluster = "id",
    out: console.Table = None,
    report: console.Report = None,
    resamples: console.Resamples = 1000,
    seed: console.Seed = 1,
) -> None:
    """What does each dimension add to the agreement with people?"""
    from medassay.study import ablation as ablation_table

    _check_score_paths(scores, {"--report": report}, out)
    trust_scores, people = _labelled(scores, human, cluster, lower_is_better)
    table = ablation_table(trust_scores, people, _parse_weights(weights), resamples=resamples, seed=seed)
    _write(table, out, report, f"{len(trust_scores):,} reports")


@trust_study_app.command()
def benchmark(
    scores: ScoresFiles,
    by: ModelColumn = "system",
    dataset: DatasetColumn = "dataset",
    level: Annotated[str, typer.Option(help="Column that says patch or slide.")] = "level",
    cluster: Cluster = "id",
    out: console.Table = None,
    report: console.Report = None,
    resamples: console.Resamples = 1000,
    seed: console.Seed = 1,
) -> None:
    """Model × data set at patch and slide level: each dimension and trust, with intervals."""
    from medassay.study import benchmark as benchmark_table

    _check_score_paths(scores, {"--report": report}, out)
    trust_scores = _gathered(scores, by, dataset, level, cluster)
    _write(benchmark_table(trust_scores, resamples=resamples, seed=seed), out, report, f"{len(trust_scores):,} rows")


@trust_study_app.command()
def gap(
    scores: ScoresFiles,
    public: Annotated[str, typer.Option(help="Name of the public data set (its column's value, or its file's name).")],
    private: Annotated[str, typer.Option(help="Name of the private one.")],
    by: ModelColumn = "system",
    dataset: DatasetColumn = "dataset",
    cluster: Cluster = "id",
    out: console.Table = None,
    report: console.Report = None,
    resamples: console.Resamples = 1000,
    seed: console.Seed = 1,
) -> None:
    """Public minus private: how much lower is a model's trust on data that it cannot have seen?"""
    from medassay.study import gap as gap_table

    _check_score_paths(scores, {"--report": report}, out)
    trust_scores = _gathered(scores, by, dataset, "level", cluster)
    _write(
        gap_table(trust_scores, public, private, resamples=resamples, seed=seed),
        out,
        report,
        f"{len(trust_scores):,} rows",
    )


def _signatures(paths: Sequence[Path]) -> dict[str, list[str]]:
    """The signatures of the dimensions in scores files, where they are known; a policy holds for these alone."""
    from medassay.metrics.policy import DIMENSIONS

    by_file = [table.signatures for _, table in _read_tables(paths)]
    by_name = {name: sorted({str(known[name]) for known in by_file if name in known}) for name in DIMENSIONS}
    return {name: signatures for name, signatures in by_name.items() if signatures}


def _parse_weights(text: str) -> list[float]:
    """The weights as typed, in the order of the dimensions."""
    from medassay.metrics.policy import DIMENSIONS, parse_weights

    weights = parse_weights(text)
    return [weights[name] for name in DIMENSIONS]


def _check_case_paths(cases: Path, metrics: str, report: Path | None, out: Path | None) -> None:
    """Raise where an output would be written over the case file or a file of the metrics."""
    console.check_paths({"cases": cases, "--metrics": console.files_in(metrics)}, {"--report": report}, table=out)


def _check_score_paths(scores: Sequence[Path], outputs: Mapping[str, Path | None], table: Path | None = None) -> None:
    """Raise where an output would be written over a scores file or what stands beside it."""
    from medassay.engine.scores_file import meta_path

    console.check_paths({"scores": [*scores, *map(meta_path, scores)]}, outputs, table=table)


def _read_tables(paths: Sequence[Path]) -> list[tuple[str, ScoreTable]]:
    """Scores files by their names without the ending."""
    from medassay.engine.score_table import read_scores

    return [(path.stem, read_scores(path)) for path in paths]


def _gathered(paths: Sequence[Path], by: str, dataset: str, level: str, cluster: str) -> TrustScores:
    from medassay.study import gather

    return gather(_read_tables(paths), system=by, dataset=dataset, level=level, cluster=cluster)


def _labelled(
    paths: Sequence[Path], human: str, cluster: str, lower_is_better: bool = False
) -> tuple[TrustScores, Floats]:
    """Trust scores with the human column, NaN where a row has none; its sign is turned where lower is better."""
    import numpy as np

    from medassay.study import gather

    tables = _read_tables(paths)
    people = np.concatenate([table.numbers(human) for _, table in tables])
    return gather(tables, cluster=cluster), -people if lower_is_better else people


def _read_cases(
    path: Path, images: Path | None, columns: dict[str, str], format: str | None, limit: int
) -> tuple[list[Case], list[str]]:
    """Cases with their images looked up, and the rows that had problems."""
    from medassay.engine.trust import TrustSource, row_problems

    cases, problems = [], []
    for row in TrustSource(str(path), columns, format, images=images)():
        if row.case is None:
            problems.append(f"row {row.number}: {row.problem}")
        elif row.case.has("candidate"):
            problems += [f"row {row.number}: {trouble}" for trouble in row_problems(row.case, {})]
            cases.append(row.case)
        if limit and len(cases) == limit:
            break
    if not cases:
        raise InputError(f"{path}: no usable row. First problem: {problems[0] if problems else 'no candidate'}")
    return cases, problems


def _write(
    table: Table,
    out: Path | None,
    report: Path | None,
    fact: str,
    problems: Sequence[str] = (),
    name: str = "",
    ended: Collection[str] = (),
) -> None:
    from rich.console import Console

    from medassay.files import write_rows
    from medassay.report import print_study, study_section, write_study

    print_study(Console(), table)
    if out is not None:
        write_rows(table.flat(), out)
        console.say(f"table written to {out}")
    if report is not None:
        write_study(report, table.title, [fact], [study_section(table)])
        console.say(f"report written to {report}")
    console.finish(name, problems, ended)
