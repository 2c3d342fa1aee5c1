"""Every `medassay` command that a page shows is one that the command line takes, with metrics and settings that exist.

Commands are parsed here, not run: `tests/test_readme.py` and `tests/test_docs_code.py` run those of the README and of
the first hour.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer

from medassay.cli import app
from medassay.errors import MedassayError
from medassay.metrics.registry import load_metrics, split_requests

ROOT = Path(__file__).resolve().parents[1]
EMBEDDED = ROOT / "src" / "medassay" / "models" / "embedded"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "corpus/README.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(EMBEDDED.glob("*.md")),
]
GROUP: Any = typer.main.get_command(app)
EVERYWHERE = {"--help", "--verbose"}
PLACEHOLDER = re.compile(r"…|\$|^[A-Z]+$|FILE|FOLDER|\.json")


def commands(text: str) -> Iterator[str]:
    """Commands of fenced and indented blocks, and those that stand in a sentence as code."""
    joined = re.sub(r"\\\n\s*", " ", text)
    fenced = "\n".join(re.findall(r"^```[^\n]*\n(.*?)^```", joined, re.S | re.M))
    shown = re.findall(r"^(?:.*\| )?\s*(medassay [a-z].*)", fenced, re.M) + re.findall(
        r"^    (medassay [a-z].*)", joined, re.M
    )
    yield from dict.fromkeys([*shown, *re.findall(r"`(medassay [a-z][^`\n]*)`", joined)])


def words_of(command: str) -> list[str]:
    """The words of a command up to a comment, or to an explanation that is set off by spaces."""
    bare = re.split(r"\s#|;|\s{2,}(?![-\"])", command)[0]
    try:
        return shlex.split(bare)
    except ValueError:  # an apostrophe of a sentence
        return bare.split()


def problems(command: str) -> Iterator[str]:
    """What the command line would refuse in a command."""
    words = words_of(command)
    found, rest = GROUP, words[1:]
    while hasattr(found, "commands") and rest and re.fullmatch(r"[a-z0-9-]+", rest[0]):
        if rest[0] not in found.commands:
            yield f"`{command}`: no command '{rest[0]}'"
            return
        found, rest = found.commands[rest[0]], rest[1:]
    known = EVERYWHERE | {option for each in found.params for option in (*each.opts, *each.secondary_opts)}
    options = [match[1] for word in rest if (match := re.match(r"\[?(--[a-z-]+)", word))]
    yield from (f"`{command}`: no option {option}" for option in options if option not in known)
    for option, value in pairwise(rest):
        if option == "--metrics" and "--models" not in rest:
            yield from (f"`{command}`: {problem}" for problem in unknown_metrics(value))


def unknown_metrics(value: str) -> Iterator[str]:
    for request in split_requests(value):
        if not PLACEHOLDER.search(request) and not request.startswith("py:"):
            try:
                load_metrics(request)
            except MedassayError as error:
                yield str(error)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_command_line_takes_what_a_page_shows(page: Path) -> None:
    found = [problem for command in commands(page.read_text(encoding="utf-8")) for problem in problems(command)]
    assert found == []


def test_a_wrong_command_is_found() -> None:
    text = "    medassay scroe x.csv\n\n`medassay score x.csv --metrcs rouge1`, `medassay score x.csv --metrics rogue1`"
    found = [problem for command in commands(text) for problem in problems(command)]
    assert len(found) == 3
    assert "no command 'scroe'" in found[0] and "no option --metrcs" in found[1] and "no metric 'rogue1'" in found[2]


def test_commands_are_found() -> None:
    assert sum(1 for page in PAGES for _ in commands(page.read_text(encoding="utf-8"))) > 150
