"""Expressions over characters alone that several readers share."""

from __future__ import annotations

import re

_SPACES_AND_HYPHENS = re.compile(r"[\s-]+")
_STOP_AFTER_WORD = re.compile(r"(?<=\w)\.(?=\s|$)")


def with_single_spaces(phrase: str) -> str:
    """A phrase with each run of white space and hyphens as one space.

    >>> with_single_spaces("upper-outer  quadrant")
    'upper outer quadrant'
    """
    return _SPACES_AND_HYPHENS.sub(" ", phrase)


def without_stops(text: str) -> str:
    """A text without the full stops behind its words, which scanned reports have anywhere.

    >>> without_stops("Squamous cell. carcinoma, 2.5 cm.")
    'Squamous cell carcinoma, 2.5 cm'
    """
    return _STOP_AFTER_WORD.sub("", text)
