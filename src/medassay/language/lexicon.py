"""The rules and word lists of this room: data files in `lexicons/`, and the one way to read them.

An expression that knows words of reports and notes is data; one that knows characters alone (tokens, numbers, white
space, punctuation) stands in the module that uses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def read_tsv(name: str) -> Iterator[dict[str, str]]:
    """Rows of a lexicon file."""
    return read_table(files("medassay.language") / "lexicons" / name)


def read_table(source: Traversable | Path) -> Iterator[dict[str, str]]:
    """Rows of a tab-separated data file.

    Lines that start with `#` are comments, the first other line is the header; cells that a row lacks are empty.
    """
    header: list[str] | None = None
    for line in source.read_text(encoding="utf-8").split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split("\t")
        if header is None:
            header = cells
            continue
        yield dict(zip(header, cells + [""] * (len(header) - len(cells))))


def compiled(row: dict[str, str]) -> re.Pattern[str]:
    """The regular expression of a row; its cell `case` says `yes` where capitals count."""
    return re.compile(row["pattern"], 0 if row["case"] == "yes" else re.I)


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    return {row["name"]: compiled(row) for row in read_tsv("patterns.tsv")}


def named_pattern(name: str) -> re.Pattern[str]:
    """The regular expression of that name in `patterns.tsv`."""
    return _patterns()[name]


@lru_cache(maxsize=32)
def rule_weights(rule: str) -> dict[str, float]:
    """The numbers of a rule in `rule_weights.tsv`, by their case."""
    return {row["case"]: float(row["value"]) for row in read_tsv("rule_weights.tsv") if row["rule"] == rule}


@lru_cache(maxsize=16)
def plain_words(kind: str) -> frozenset[str]:
    """The word list of that kind in `plain_words.tsv`."""
    return frozenset(
        word for row in read_tsv("plain_words.tsv") if row["kind"] == kind for word in row["words"].split("|")
    )


@lru_cache(maxsize=64)
def statement_words(kind: str) -> frozenset[str]:
    """The words and phrases of that kind in `statements.tsv`."""
    return frozenset(
        word for row in read_tsv("statements.tsv") if row["kind"] == kind for word in row["words"].split("|")
    )


@lru_cache(maxsize=1)
def statement_kinds() -> dict[str, frozenset[str]]:
    """The kinds of each word and phrase in `statements.tsv`."""
    kinds: dict[str, set[str]] = {}
    for row in read_tsv("statements.tsv"):
        for word in row["words"].split("|"):
            kinds.setdefault(word, set()).add(row["kind"])
    return {word: frozenset(names) for word, names in kinds.items()}
