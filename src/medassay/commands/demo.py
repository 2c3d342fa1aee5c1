"""`medassay demo`: score the bundled examples and write a report page."""

from __future__ import annotations

import io
import math
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

REPORT = "pathology report"
"""The `kind` of the cases that HARE and the expert estimate are made for."""
FOR_REPORTS = ("hare", "expert")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the scores and the report page.")] = Path("demo-out"),
    trust: Annotated[bool, typer.Option("--trust", help="Trust of made-up reports about drawn pictures.")] = False,
) -> None:
    """Score the bundled examples and write a report page."""
    if trust:
        from medassay.commands.trust import trust as run_trust

        cases = write_trust_example(out)
        run_trust(str(cases), out=out / "trust-scores.csv", report=out / "trust.html", evidence=out / "trust.jsonl")
    else:
        run_demo(out)


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


def run_demo(out: Path) -> None:
    """Score the examples, print what comes out, write `scores.csv` and `report.html` into `out`.

    The case files are put there too, to be looked at and scored again.
    """
    from rich.console import Console

    from medassay.engine.score_table import read_scores
    from medassay.examples import ALL_FILES, FILES, example, load
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
    cases = [case for name in FILES for case in load(name)]
    result = score_examples(cases)
    kinds = dict.fromkeys(str(case.extra["kind"]) for case in cases)
    for kind in kinds:
        _print_kind(terminal, _of_kind(result, kind), kind)
    scores, page = out / "scores.csv", out / "report.html"
    result.save(scores)
    result.report(page, title="medassay demo")
    terminal.rule("[bold]alder against birch, all cases", align="left")
    print_comparison(terminal, compare(read_scores(scores)))
    terminal.print()
    for kind in kinds:
        terminal.print(_preference(_of_kind(result, kind), kind), markup=False, soft_wrap=True)
    for line in _closing(scores, page):
        terminal.print(line, markup=False, soft_wrap=True)


def score_examples(cases: Sequence[Case]) -> Result:
    """The default metrics on every case; HARE and the expert estimate on the pathology reports only."""
    from medassay.api import score
    from medassay.metrics.registry import DEFAULT
    from medassay.result import Result
    from medassay.scores import Score

    reports = [i for i, case in enumerate(cases) if case.extra["kind"] == REPORT]
    read = score([cases[i] for i in reports], metrics=FOR_REPORTS)
    plain = score(cases, metrics=DEFAULT)
    columns: dict[str, Sequence[Score]] = {}
    for name, scores in read.scores.items():
        by_index = dict(zip(reports, scores))
        other = Score.none("not asked: for pathology reports only")
        columns[name] = [by_index.get(i, other) for i in range(len(cases))]
    return Result(cases=cases, metrics=[*read.metrics, *plain.metrics], scores={**columns, **plain.scores})


def _of_kind(result: Result, kind: str) -> Result:
    """The cases of one kind, with the metrics that were asked of them."""
    from medassay.result import Result

    keep = [i for i, case in enumerate(result.cases) if case.extra["kind"] == kind]
    metrics = [metric for metric in result.metrics if kind == REPORT or metric.name not in FOR_REPORTS]
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


def _preference(result: Result, kind: str) -> str:
    """Which system the made-up human scores prefer, and which metrics do and do not, by their means."""
    people = {}
    for system in dict.fromkeys(case.system or "" for case in result.cases):
        given = [float(str(case.extra["human_score"])) for case in result.cases if case.system == system]
        people[system] = sum(given) / len(given)
    preferred = max(people, key=lambda system: people[system])
    first = _preferred(result)
    with_people = [name for name, system in first.items() if system == preferred]
    others = [name for name, system in first.items() if system != preferred]
    shown = ", ".join(f"{system} {mean:.2f}" for system, mean in people.items())
    parts = [f"{kind}s: the illustrative (made-up) human scores prefer {preferred} ({shown} of 5)."]
    if with_people:
        parts.append(f"By their means, so {'does' if len(with_people) == 1 else 'do'} {', '.join(with_people)}.")
    if others:
        parts.append(
            f"Not so {', '.join(others)}: a text that repeats the reference but for one wrong word shares "
            "almost everything with it."
        )
    return " ".join(parts)[0].upper() + " ".join(parts)[1:]


def _closing(scores: Path, page: Path) -> Iterator[str]:
    """Where the files are."""
    from medassay.examples import ALL_FILES

    yield ""
    yield f"cases    {', '.join(_near(scores.with_name(name)) for name in ALL_FILES)}"
    yield f"scores   {_near(scores)}"
    yield f"report   {_near(page)}   (open it in a browser: {page.resolve().as_uri()})"
    yield "For research and quality assurance, not for clinical decisions."


def _preferred(result: Result) -> dict[str, str]:
    """The system that each metric puts first; a metric that did not score both is left out."""
    means: dict[str, dict[str, float]] = {}
    for row in result.summary("system", resamples=0):
        if not math.isnan(row.value):
            means.setdefault(row.metric, {})[row.group or ""] = row.value if row.higher_is_better else -row.value
    return {metric: max(of, key=lambda system: of[system]) for metric, of in means.items() if len(of) > 1}


def _near(path: Path) -> str:
    """The path relative to the current folder where that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path.resolve())) else str(path)
