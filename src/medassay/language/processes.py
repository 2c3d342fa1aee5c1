"""Which process a diagnosis speaks of: normal tissue, a benign or malignant change, dysplasia, inflammation, other."""

from __future__ import annotations

from functools import lru_cache

from medassay.language.lexicon import read_tsv
from medassay.language.terms import american

GROUPS = ("normal", "benign", "dysplasia", "malignant", "inflamed", "other")
"""The groups of processes that an image model tells apart."""

NO_PROCESS = "-"
"""The process of a text without a sign of one."""


@lru_cache(maxsize=1)
def _signs() -> tuple[tuple[str, str, str], ...]:
    """(sign, process, group), in the order in which they count."""
    rows = (row for row in read_tsv("processes.tsv") if row["sign"])
    return tuple((american(row["sign"]), row["process"], row["group"]) for row in rows)


def process_of(text: str) -> str:
    """The process (a key of `processes.tsv`) that the first listed sign in a text speaks of; `-` without a sign.

    >>> process_of("normal colonic mucosa"), process_of("lung squamous cell carcinoma"), process_of("mucus")
    ('n', 'q', '-')
    """
    return _first_sign(text)[0]


def group_of(text: str) -> str | None:
    """The group of processes that a text speaks of; None without a sign.

    >>> [group_of(text) for text in ("tubular adenoma of the colon", "haemangioma", "chronic gastritis", "mucus")]
    ['dysplasia', 'benign', 'inflamed', None]
    """
    return _first_sign(text)[1] or None


def _first_sign(text: str) -> tuple[str, str]:
    lowered = american(text.lower())
    return next(((process, group) for sign, process, group in _signs() if sign in lowered), (NO_PROCESS, ""))
