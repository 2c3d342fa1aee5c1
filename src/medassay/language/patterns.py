"""Regular expressions of the statement rules by name (`lexicons/patterns.tsv`), and word lists (`plain_words.tsv`,
`statements.tsv`)."""

from __future__ import annotations

import re
from functools import lru_cache

from medassay.language.terms import read_tsv


@lru_cache(maxsize=1)
def _rows() -> dict[str, re.Pattern[str]]:
    return {
        row["name"]: re.compile(row["pattern"], 0 if row["case"] == "yes" else re.I) for row in read_tsv("patterns.tsv")
    }


def named_pattern(name: str) -> re.Pattern[str]:
    """The expression of that name."""
    return _rows()[name]


@lru_cache(maxsize=16)
def plain_words(kind: str) -> frozenset[str]:
    """The word list of that kind."""
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
