"""`medassay demo`: score the bundled examples and write a report page."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medassay import console
from medassay.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from medassay.cases import Case
    from medassay.result import Result

METRICS = ("facts", "fidelity", "hallucination", "omission", "risk", "rouge1", "bleu")
"""Metrics of every case: those that read the text, and two that count words."""
ONLY = {"pathology report": ("hare", "expert"), "clinical note": ("note",)}
"""Metrics of one kind of text only."""
_BATCH = 8
"""Cases per step of the progress bar: about ten seconds of work."""


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the scores and the report page.")] = Path("demo-out"),
    trust: Annotated[bool, typer.Option("--trust", help="Trust of made-up reports about drawn pictures.")] = False,
    models: Annotated[str, typer.Option(help="fast, or embedded for the full reader (three times as slow).")] = "fast",
) -> None:
    """Score the bundled examples and write a report page."""
    if trust:
        from medassay.commands.trust import trust as run_trust

        cases = write_trust_example(out)
        run_trust(str(cases), out=out / "trust-scores.csv", report=out / "trust.html", evidence=out / "trust.jsonl")
    else:
        run_demo(out, models)


def write_trust_example(folder: Path) -> Path:
    """Write the drawn pictures and the case file of the trust demonstration; returns the case file."""
    console.need_extra("the trust demonstration", "slides", "PIL")
    from PIL import Image

    from medassay.examples import TRUST_FILE, TRUST_PICTURES, example
    from medassay.examples.tissue import draw_tissue
    from medassay.files import write_bytes

    _check_folder(folder, [TRUST_FILE], TRUST_PICTURES)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, (kind, seed) in TRUST_PICTURES.items():
            stream = io.BytesIO()
            Image.fromarray(draw_tissue(kind, seed=seed)).save(stream, Path(name).suffix[1:].upper())
            write_bytes(folder / name, stream.getvalue())
        write_bytes(folder / TRUST_FILE, example(TRUST_FILE).read_bytes())
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); choose another --out") from error
    return folder / TRUST_FILE


def _check_folder(folder: Path, examples: Iterable[str], others: Iterable[str]) -> None:
    """Raise where the demonstration cannot be written, or would be written over the bundled files."""
    from medassay.examples import example
    from medassay.paths import check_paths

    names = [*examples]
    outputs = {"--out": [folder / name for name in (*names, *others)]}
    check_paths({"bundled example": [example(name) for name in names]}, outputs, folders={"--out": folder})


def run_demo(out: Path, models: str = "fast") -> None:
    """Score the examples, print what comes out, write `scores.csv` and `report.html` into `out`.

    The case files are put there too, to be looked at and scored again.
    """
    from rich.console import Console

    from medassay.engine.score_table import read_scores
    from medassay.examples import ALL_FILES, example
    from medassay.files import write_bytes
    from medassay.report import print_comparison
    from medassay.study import compare

    _check_folder(out, ALL_FILES, ("scores.csv", "report.html"))
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name in ALL_FILES:
            write_bytes(out / name, example(name).read_bytes())
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror}); choose another --out") from error
    terminal = Console(highlight=False)
    cases = read_examples()
    result = score_examples(cases, models)
    for kind in dict.fromkeys(str(case.extra["kind"]) for case in cases):
        _print_kind(terminal, result_of_kind(result, kind), kind)
    scores, page = out / "scores.csv", out / "report.html"
    result.save(scores)
    result.report(page, title="medassay demo")
    terminal.rule("[bold]alder against birch, all cases", align="left")
    print_comparison(terminal, compare(read_scores(scores)))
    terminal.print()
    _print_findings(terminal, result)
    for line in _file_lines(scores, page):
        terminal.print(line, markup=False, soft_wrap=True)


def read_examples() -> list[Case]:
    """The cases that are scored, without the dialogues: the notes are judged against their references alone."""
    from dataclasses import replace

    from medassay.examples import FILES, load

    return [replace(case, source=None) for name in FILES for case in load(name)]


def score_examples(cases: Sequence[Case], models: str = "fast") -> Result:
    """The recommended metrics and two that count words; those for one kind of text on that kind alone."""
    from medassay.result import Result
    from medassay.scores import Score

    everywhere = _scored(cases, METRICS, models, evidence=True)
    metrics, columns = list(everywhere.metrics), dict(everywhere.scores)
    for kind, names in ONLY.items():
        rows = [i for i, case in enumerate(cases) if case.extra["kind"] == kind]
        of_kind = _scored([cases[i] for i in rows], names, models, evidence=False)
        not_asked = Score.none(f"not asked: for {kind}s only")
        metrics += of_kind.metrics
        for name, scores in of_kind.scores.items():
            by_index = dict(zip(rows, scores))
            columns[name] = [by_index.get(i, not_asked) for i in range(len(cases))]
    return Result(cases=cases, metrics=metrics, scores=columns)


def _scored(cases: Sequence[Case], names: Sequence[str], models: str, evidence: bool) -> Result:
    """As `medassay.score`, with a bar."""
    from medassay.cases import Row
    from medassay.engine.local import columns_of, run
    from medassay.metrics.registry import load_metrics
    from medassay.result import Result

    metrics = load_metrics(names, models=models)
    rows = [Row(case.row, case) for case in cases]
    batches = run(rows, metrics, batch=_BATCH, evidence=len(rows) if evidence else 0)
    return Result(cases, metrics, columns_of(console.scoring_progress(batches, len(rows)), metrics))


def result_of_kind(result: Result, kind: str) -> Result:
    """The cases of one kind, with the metrics that were asked of them."""
    from medassay.result import Result

    keep = [i for i, case in enumerate(result.cases) if case.extra["kind"] == kind]
    others = {name for other, names in ONLY.items() if other != kind for name in names}
    metrics = [metric for metric in result.metrics if metric.name not in others]
    return Result(
        cases=[result.cases[i] for i in keep],
        metrics=metrics,
        scores={metric.name: [result.scores[metric.name][i] for i in keep] for metric in metrics},
    )


def _print_kind(terminal: Console, result: Result, kind: str) -> None:
    """The summary table of one kind of text, by system."""
    from medassay.report import print_summary

    terminal.rule(f"[bold]{kind}s: {len({case.id for case in result.cases})} cases, two systems", align="left")
    print_summary(terminal, result.summary("system"))
    terminal.print()


def _print_findings(terminal: Console, result: Result) -> None:
    """The worst statements of the worse system, an example where word overlap misleads, and the conclusion."""
    from medassay.commands.demo_findings import (
        alarms,
        choices,
        conclusion,
        misleading_overlap,
        worse_system,
        worst_statements,
    )

    system = worse_system(result.cases)
    findings = worst_statements(result, system)
    if findings:
        terminal.rule(f"[bold]The worst statements of {system}, as the reader sees them", align="left")
    for finding in findings:
        quotation = f" The reference: “{finding.words}”." if finding.words else ""
        topic = f"{finding.case.id} ({finding.case.extra['topic']})"
        line = f"{topic}: “{finding.statement}” {finding.kind}, {finding.severity}.{quotation}"
        terminal.print(line, markup=False, soft_wrap=True)
    example = misleading_overlap(result)
    if example:
        terminal.print()
        terminal.rule("[bold]Where counting words misleads", align="left")
        terminal.print(example, markup=False, soft_wrap=True)
    terminal.print()
    terminal.print(conclusion(choices(result), alarms(result), system), markup=False, soft_wrap=True)


def _file_lines(scores: Path, page: Path) -> Iterator[str]:
    """Where the files are."""
    from medassay.examples import ALL_FILES

    yield ""
    yield f"cases    {', '.join(_short_path(scores.with_name(name)) for name in ALL_FILES)}"
    yield f"scores   {_short_path(scores)}"
    yield f"report   {_short_path(page)}   (open it in a browser: {page.resolve().as_uri()})"
    yield "For research and quality assurance, not for clinical decisions."


def _short_path(path: Path) -> str:
    """The path relative to the current folder where that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path.resolve())) else str(path)
