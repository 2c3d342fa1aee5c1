"""Who says what in a dialogue: its turns, as spans of the text as given."""

from __future__ import annotations

import re
from dataclasses import dataclass

from medassay.language.lexicon import statement_words

_TURN = re.compile(r"(?:^|(?<=[\n.?!]))[ \t]*(?P<who>[A-Z][A-Za-z_]{1,24}(?: [A-Z][a-z]{1,15})?)[ \t]?:[ \t]*(?=\S)")
"""A speaker's name and its colon, at the beginning of a line or sentence."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker of a dialogue says before the other does: characters [start, end) after the name."""

    speaker: str
    start: int
    end: int


def turns(text: str) -> list[Turn]:
    """The turns of a dialogue; empty where the text is none (fewer than two speakers that take turns).

    >>> text = "Doctor: Any fever? Patient: No."
    >>> [(turn.speaker, text[turn.start : turn.end]) for turn in turns(text)]
    [('Doctor', 'Any fever?'), ('Patient', 'No.')]
    """
    marks = list(_TURN.finditer(text))
    names = {mark["who"] for mark in marks}
    if len(names) < 2 or marks[0].start() > 200 or len(names) > len(marks) / 2 + 1:
        return []
    # Headings of a note ("Allergies: … Medications: …") do not come back; speakers do, or are known as such.
    known = statement_words("speaker")
    if len(names) == len(marks) and not all(name.lower().partition("_")[0] in known for name in names):
        return []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [
        Turn(mark["who"], mark.end(), mark.end() + len(text[mark.end() : end].rstrip()))
        for mark, end in zip(marks, ends)
    ]
