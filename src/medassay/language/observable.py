"""What of a report a slide could show: statements on handling, the person and template text are recognised.

The rules are data: `lexicons/unobservable.tsv`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from medassay.language.lexicon import expression, read_tsv
from medassay.language.sections import section_at, sections
from medassay.language.sentences import sentences


@dataclass(frozen=True, slots=True)
class Unobservable:
    """A sentence [start, end) that no slide shows. kind: template, handling or patient."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Rules:
    """sections, values: the kind of each section that is left out whole, or with its first sentence only."""

    sections: dict[str, str]
    values: dict[str, str]
    sentences: tuple[tuple[str, re.Pattern[str]], ...]


@lru_cache(maxsize=1)
def _rules() -> _Rules:
    rows = list(read_tsv("unobservable.tsv"))
    return _Rules(
        {row["pattern"]: row["kind"] for row in rows if row["rule"] == "section"},
        {row["pattern"]: row["kind"] for row in rows if row["rule"] == "value"},
        tuple((row["kind"], expression(row["pattern"])) for row in rows if row["rule"] == "sentence"),
    )


def unobservable(text: str) -> list[Unobservable]:
    """The sentences that state nothing a slide could show, in order.

    >>> [u.kind for u in unobservable("Received in formalin. Adenocarcinoma. Margins: Not specified.")]
    ['handling', 'template']
    """
    rules, parts = _rules(), sections(text)
    first: dict[int, int] = {}
    left_out = []
    for start, end in sentences(text):
        part = section_at(parts, start)
        heading = part is not None and end <= part.body
        kind = rules.sections.get(part.kind) if part else None
        if part and kind is None and (heading or first.setdefault(part.start, start) == start):
            kind = rules.values.get(part.kind)
        if kind is None and not heading:
            kind = next((name for name, pattern in rules.sentences if pattern.search(text, start, end)), None)
        if kind is not None:
            left_out.append(Unobservable(kind, start, end))
    return left_out


def observable_text(text: str) -> str:
    """The text without the sentences of `unobservable`; empty where nothing else is left.

    >>> observable_text("Received in formalin. Adenocarcinoma, G2. Margins: Not specified.")
    'Adenocarcinoma, G2.'
    """
    kept, at = "", 0
    for left_out in [*unobservable(text), Unobservable("", len(text), len(text))]:
        part = text[at : left_out.start]
        at = left_out.end
        if not part.strip():
            continue
        if kept:
            edge = kept[len(kept.rstrip()) :] + part[: len(part) - len(part.lstrip())]
            kept = kept.rstrip() + ("\n" if "\n" in edge else " ")
        kept += part.lstrip()
    return kept.rstrip()
