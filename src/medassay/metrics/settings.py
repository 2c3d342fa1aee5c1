"""Checks on what a person may set of a metric, so that a wrong setting is an error and never a number."""

from __future__ import annotations

from collections.abc import Sequence

from medassay.errors import MedassayError, nearest

NORMALIZE = ("none", "nfkc")
"""Unicode handling: texts as they are, or in compatibility form (`ﬁ` is `fi`, `²` is `2`)."""


def choice(name: str, value: object, known: Sequence[str]) -> str:
    """One of the known words; None stands for `none`.

    >>> choice("level", "word", ("char", "word"))
    'word'
    """
    text = "none" if value is None else str(value)
    if text not in known:
        raise MedassayError(f"{name}: '{text}' is none of {', '.join(known)}{nearest(text, known)}")
    return text


def flag(name: str, value: object) -> bool:
    """Yes or no."""
    if not isinstance(value, bool):
        raise MedassayError(f"{name}: '{value}' is neither yes nor no")
    return value


def number(name: str, value: object, least: float, *, whole: bool = False) -> float:
    """A number of at least `least`; where `whole`, one without a fraction."""
    kinds = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not value >= least:
        raise MedassayError(f"{name}: '{value}' is not a {'whole ' if whole else ''}number of at least {least:g}")
    return float(value)
