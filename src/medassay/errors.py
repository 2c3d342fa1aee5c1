"""The errors that medassay raises when the user has to do something about it.

A `MedassayError` is about the set-up or the input as a whole (an unknown metric, a missing
column, a model that is not there): raised before a run, it stops it, and its text says what to do.
Raised by a metric while it measures, it is a failure of that metric like any other exception
(`Score.failed`): trouble with one row, or with one metric, never loses the others' results.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice


class MedassayError(Exception):
    """Base of every error whose message is written for the user."""


class InputError(MedassayError):
    """The case file cannot be read as asked: names the file, row and column, and the remedy."""


class UnknownName(MedassayError):
    """A metric, option, column or role that does not exist, with the nearest that does."""


class ModelError(MedassayError):
    """A model is missing, broken or of the wrong kind; the text holds the command that fixes it."""


class MissingExtra(MedassayError):
    """A part that needs an optional dependency; the text holds the install command."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra '{extra}': pip install 'medassay[{extra}]'")


def shortened(text: str, length: int = 200) -> str:
    """A text for a message: its beginning where it is long.

    >>> shortened("a" * 9, 5)
    'aaaa…'
    """
    return text if len(text) <= length else text[: length - 1] + "…"


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing where no known name is close.

    >>> nearest("rogue1", ["rouge1", "bleu"])
    "; did you mean 'rouge1'?"
    """
    # At most a thousand names of at most 100 characters: the comparison must stay fast with a hostile header.
    lower = {k[:100].lower(): k for k in islice(known, 1000)}
    close = get_close_matches(name[:100].lower(), list(lower), n=1, cutoff=0.55)
    return f"; did you mean '{lower[close[0]]}'?" if close else ""
