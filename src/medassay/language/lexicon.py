"""The rules and word lists of this room: data files in `lexicons/`, and the one way to read them.

An expression that knows words of reports and notes is data; one that knows characters alone (tokens, numbers, white
space, punctuation) stands in the module that uses it, or in `characters.py` where several do. Tables are read, and
their expressions compiled, on first use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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


_PART = re.compile(r"@([\w ]+)@")


def filled(pattern: str, parts: Mapping[str, str]) -> str:
    """A pattern in which each `@name@` stands for the part of that name.

    >>> filled("@number@ ?cm", {"number": "[0-9]+"})
    '(?:[0-9]+) ?cm'
    """
    return _PART.sub(lambda match: f"(?:{parts[match[1]]})", pattern)


def expression(pattern: str, *, capitals: bool = False, before: str = "") -> re.Pattern[str]:
    """A cell of a table as a regular expression.

    Args:
        capitals: whether capitals count; also for patterns that are held against text in lower case.
        before: what has to hold where a match begins, such as the edge of a word.
    """
    return re.compile(f"(?:{before})(?:{pattern})" if before else pattern, 0 if capitals else re.I)


def compiled(row: Mapping[str, str]) -> re.Pattern[str]:
    """The regular expression of a row; its cell `case` says `yes` where capitals count."""
    return expression(row["pattern"], capitals=row["case"] == "yes")


@lru_cache(maxsize=1)
def _pattern_rows() -> dict[str, dict[str, str]]:
    return {row["name"]: row for row in read_tsv("patterns.tsv")}


@lru_cache(maxsize=256)
def named_pattern(name: str, **parts: str) -> re.Pattern[str]:
    """The regular expression of that name in `patterns.tsv`.

    Args:
        parts: what stands for each `@name@` in it: numbers and edges, which are expressions over characters.
    """
    row = _pattern_rows()[name]
    return compiled({**row, "pattern": filled(row["pattern"], parts)})


@lru_cache(maxsize=32)
def rule_weights(rule: str) -> dict[str, float]:
    """The numbers of a rule in `rule_weights.tsv`, by their case."""
    return {row["case"]: float(row["value"]) for row in read_tsv("rule_weights.tsv") if row["rule"] == rule}


@lru_cache(maxsize=4)
def _words_by_kind(table: str) -> dict[str, tuple[str, ...]]:
    kinds: dict[str, tuple[str, ...]] = {}
    for row in read_tsv(table):
        kinds[row["kind"]] = (*kinds.get(row["kind"], ()), *row["words"].split("|"))
    return kinds


def ordered_words(kind: str) -> tuple[str, ...]:
    """The word list of that kind in `plain_words.tsv`, in the order of the table."""
    return _words_by_kind("plain_words.tsv").get(kind, ())


@lru_cache(maxsize=32)
def plain_words(kind: str) -> frozenset[str]:
    """The word list of that kind in `plain_words.tsv`."""
    return frozenset(ordered_words(kind))


@lru_cache(maxsize=128)
def statement_words(kind: str) -> frozenset[str]:
    """The words and phrases of that kind in `statements.tsv`."""
    return frozenset(_words_by_kind("statements.tsv").get(kind, ()))


@lru_cache(maxsize=1)
def statement_kinds() -> dict[str, frozenset[str]]:
    """The kinds of each word and phrase in `statements.tsv`."""
    kinds: dict[str, set[str]] = {}
    for kind, words in _words_by_kind("statements.tsv").items():
        for word in words:
            kinds.setdefault(word, set()).add(kind)
    return {word: frozenset(names) for word, names in kinds.items()}


@lru_cache(maxsize=1)
def _quantity_rows() -> dict[str, list[tuple[str, str]]]:
    kinds: dict[str, list[tuple[str, str]]] = {}
    for row in read_tsv("quantities.tsv"):
        kinds.setdefault(row["kind"], []).append((row["value"], row["pattern"]))
    return kinds


def quantity_rows(kind: str) -> list[tuple[str, str]]:
    """(value, pattern) of the rows of a kind in `quantities.tsv`."""
    return _quantity_rows()[kind]
