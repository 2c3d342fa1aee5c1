"""Passages of a report: its sentences and lines, and which of them can be held against each other.

Passages about different specimens (part A, part B) are kept apart, and those about another time, or about the specimen
before it was cut, are left out: what differs there is no contradiction.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from medassay.language.lexicon import named_pattern
from medassay.language.sections import section_at, sections, specimens

_END = re.compile(r"(?<=[.;])\s+|\n")
_ITEM_END = re.compile(r",\s+")
_ASIDE = ("clinical", "gross")
"""Sections of another time, or of the specimen before it was cut."""
_PAST = named_pattern("past")
_LABELS = named_pattern("part label")
_LABELS_OF_ONE = 2
"""Labels of parts, however written, that a report of one specimen may hold."""
_ONE_SPECIMEN = 3_000
"""Characters: a longer report is taken to speak of several specimens, whether or not its parts are labelled."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Some words of a report; they stand at [start, end) of it."""

    text: str
    start: int
    end: int

    @property
    def is_heading(self) -> bool:
        """Whether it only announces what follows."""
        return self.text.endswith(":")


def passages(text: str) -> list[Passage]:
    """The sentences and lines of a text, in order, white space at their ends left out.

    >>> [passage.text for passage in passages("Nests of cells; no necrosis.\\nDiagnosis: carcinoma")]
    ['Nests of cells;', 'no necrosis.', 'Diagnosis: carcinoma']
    """
    return _cut(text, 0, len(text), _END)


def comparable(text: str) -> list[list[Passage]]:
    """The passages of each specimen of a report, in text order; of a report of one line its items.

    In a report of several specimens only passages of a labelled part count.
    """
    heads, parts = sections(text), specimens(text)
    several = len(parts) > 1 or len(_LABELS.findall(text)) > _LABELS_OF_ONE or len(text) > _ONE_SPECIMEN
    groups: dict[str, list[Passage]] = {}
    for passage in passages(text):
        section = section_at(heads, passage.start)
        if (section is not None and section.kind in _ASIDE) or _PAST.search(passage.text):
            continue
        label = next((part.label for part in parts if part.start <= passage.start < part.end), "")
        if label or not several:
            groups.setdefault(label if several else "", []).append(passage)
    if sum(map(len, groups.values())) == 1:
        return [_items(text, passage) for group in groups.values() for passage in group]
    return list(groups.values())


def _cut(text: str, start: int, end: int, ends: re.Pattern[str]) -> list[Passage]:
    """The pieces of text[start:end] between matches of `ends`."""
    pieces = []
    for stop, after in [*(match.span() for match in ends.finditer(text, start, end)), (end, end)]:
        piece = text[start:stop]
        first, last = start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
        if first < last:
            pieces.append(Passage(text[first:last], first, last))
        start = after
    return pieces


def _items(text: str, passage: Passage) -> list[Passage]:
    """The items of a line, as between commas; what a bracket holds stays together."""
    items: list[Passage] = []
    depth = 0
    for piece in _cut(text, passage.start, passage.end, _ITEM_END):
        if depth > 0:
            start = items.pop().start
            piece = Passage(text[start : piece.end], start, piece.end)
        items.append(piece)
        depth = piece.text.count("(") - piece.text.count(")")
    return items
