"""Bundled example cases, and the demonstration that scores them.

Every text was written for medassay; no patient stands behind any of them. `pathology.csv` and
`notes.csv` hold two made-up systems, `alder` and `birch`. The column `error` says which mistake was
planted; `human_score` (0 to 5, higher is better) is made up to illustrate and is no study.
`references.jsonl` holds cases with several references.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from medassay.cases import Case, read_cases
from medassay.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from medassay.scores import Result

FILES = ("pathology.csv", "notes.csv")
"""The case files that the demonstration scores."""
ALL_FILES = (*FILES, "references.jsonl")
"""Every bundled case file."""


def example(name: str) -> Path:
    """The path of a bundled case file: `pathology.csv`, `notes.csv` or `references.jsonl`.

    >>> sum(1 for row in read_cases(example("pathology.csv")))
    32
    """
    path = Path(__file__).with_name(name)
    if not path.is_file():
        raise InputError(f"no example '{name}'; there are {', '.join(ALL_FILES)}")
    return path


def load(name: str) -> list[Case]:
    """The cases of a bundled file."""
    return [row.case for row in read_cases(example(name), strict=True) if row.case is not None]


def run_demo(out: Path) -> int:
    """Score the examples, print what comes out, write `scores.csv` and `report.html` into `out`.

    The case files are put there too, to be looked at and scored again. Returns the exit code.
    """
    from rich.console import Console

    from medassay.api import score
    from medassay.report.terminal import print_comparison
    from medassay.study.significance import compare_file

    try:
        out.mkdir(parents=True, exist_ok=True)
        for name in ALL_FILES:
            shutil.copyfile(example(name), out / name)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror}); choose another --out") from error
    console = Console(highlight=False)
    cases = [case for name in FILES for case in load(name)]
    result = score(cases)
    for kind in dict.fromkeys(str(case.extra["kind"]) for case in cases):
        _print_kind(console, result, kind)
    scores, page = out / "scores.csv", out / "report.html"
    result.save(scores)
    result.report(page, title="medassay demo")
    console.rule("[bold]alder against birch, all cases", align="left")
    print_comparison(console, compare_file(scores, by="system"))
    for line in _closing(result, scores, page):
        console.print(line, markup=False, soft_wrap=True)
    return 0


def _print_kind(console: Console, result: Result, kind: str) -> None:
    """The summary table of one kind of text, by system."""
    from medassay.report.terminal import print_summary
    from medassay.scores import Result

    keep = [i for i, case in enumerate(result.cases) if case.extra["kind"] == kind]
    part = Result(
        cases=[result.cases[i] for i in keep],
        metrics=result.metrics,
        scores={name: [column[i] for i in keep] for name, column in result.scores.items()},
    )
    console.rule(f"[bold]{kind}s: {len({case.id for case in part.cases})} cases, two systems", align="left")
    print_summary(console, part.summary("system"))
    console.print()


def _closing(result: Result, scores: Path, page: Path) -> Iterator[str]:
    """What the tables do not say by themselves, and where the files are."""
    people = {}
    for system in dict.fromkeys(case.system or "" for case in result.cases):
        given = [float(str(case.extra["human_score"])) for case in result.cases if case.system == system]
        people[system] = sum(given) / len(given)
    preferred = max(people, key=lambda system: people[system])
    others = [name for name, system in _preferred(result).items() if system != preferred]
    shown = ", ".join(f"{system} {mean:.1f}" for system, mean in people.items())
    yield ""
    yield f"Mean of the illustrative (made-up) human scores, 0 to 5: {shown}."
    if others:
        yield (
            f"They prefer {preferred}; {', '.join(others)} do not: a text that repeats the reference but for "
            "one wrong word shares almost all its words. Open the page to see which."
        )
    yield ""
    yield f"cases    {', '.join(_near(scores.with_name(name)) for name in ALL_FILES)}"
    yield f"scores   {_near(scores)}"
    yield f"report   {_near(page)}   (open it in a browser: {page.resolve().as_uri()})"
    yield "For research and quality assurance, not for clinical decisions."


def _preferred(result: Result) -> dict[str, str]:
    """The system that each metric puts first."""
    best: dict[str, tuple[float, str]] = {}
    for row in result.summary("system", resamples=0):
        value = row.value if row.higher_is_better else -row.value
        best[row.metric] = max(best.get(row.metric, (value, row.group or "")), (value, row.group or ""))
    return {metric: system for metric, (_, system) in best.items()}


def _near(path: Path) -> str:
    """The path relative to the current folder where that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path.resolve())) else str(path)
