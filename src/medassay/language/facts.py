"""Fact-sized units of a note or a dialogue, as spans of the text as given.

A fact is what an annotator would count: one statement of a subject (Ben Abacha et al. 2023, section 3). In a note,
sentences are cut into clauses and lists into their items; an item carries the words that govern the list, so
that "chills" of "denies fever, chills" reads "denies chills". In a dialogue an answer carries its question:
"Doctor: Any fever? Patient: No." is one fact. The words that cut are data: `lexicons/clauses.tsv`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from medassay.language.dialogue import Turn, turns
from medassay.language.lexicon import read_tsv
from medassay.language.sentences import sentences

LONGEST_ITEM = 8
"""Words of a list's item; where one is longer, commas separate clauses, not items."""

_HEADING = re.compile(r"[^.;,]{1,40}:|[\W\d_]*")
_LABEL = re.compile(r"\s{0,40}+(?:[-*•·]|\(?\d{1,2}[.)]|[A-Z]{4}[A-Z /&-]{0,120}+:)\s++")
_ITEM = re.compile(
    r",\s+(?:and\s+|or\s+|as well as\s+)?(?!\d{4}\b)|(?<!\s)\s++(?:and|or|nor|as well as)\s++|;\s++", re.I
)
_REPLY = re.compile(r"(?<=\bNo\.)\s+(?=[A-Z])|(?<=\bno\.)\s+(?=[A-Z])")
"""After `No.`, which elsewhere is short for `number`."""
_WORD = re.compile(r"\w+(?:['’-]\w+)*")


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement: the characters [start, end) that say it, and `text`, which can be read alone.

    speaker: who says it in a dialogue (`Patient`), else empty.
    """

    start: int
    end: int
    text: str
    speaker: str = ""


@lru_cache(maxsize=1)
def _words() -> dict[str, frozenset[str]]:
    return {row["kind"]: frozenset(row["words"].split("|")) for row in read_tsv("clauses.tsv")}


@lru_cache(maxsize=1)
def _clause() -> re.Pattern[str]:
    """Where a clause begins: after a semicolon, at `but`, `who` …, at `and he`, `, denies`."""
    words = _words()
    breaks = "|".join(sorted(words["break"], key=lambda word: (-len(word), word)))
    starts = "|".join(sorted(words["subject"] | words["verb"], key=lambda word: (-len(word), word)))
    return re.compile(
        rf";\s++|(?:,|(?<!\s))\s++(?=(?:{breaks})\b)"
        rf"|(?:,\s++(?:and\s++|or\s++)?|(?<!\s)\s++and\s++)(?=(?:{starts})\b)",
        re.I,
    )


def facts(text: str) -> list[Fact]:
    """The facts of a note or a dialogue, in order.

    >>> [fact.text for fact in facts("Denies fever, chills. She smokes and has no allergies.")]
    ['Denies fever', 'Denies chills', 'She smokes', 'has no allergies']
    >>> [fact.text for fact in facts("Doctor: Any fever? Patient: No. Doctor: Okay.")]
    ['Any fever? No.']
    """
    spoken = turns(text)
    return list(_dialogue(text, spoken) if spoken else _note(text))


def _note(text: str) -> Iterator[Fact]:
    for start, end in sentences(text):
        label = _LABEL.match(text, start, end)
        start = label.end() if label and label.end() < end else start
        if not _HEADING.fullmatch(text[start:end].strip(" *#")):
            for first, last in _cut(text, start, end, _clause()):
                yield from _items(text, first, last)


def _items(text: str, start: int, end: int) -> Iterator[Fact]:
    """The items of a list with the words that govern it, or the clause as one fact."""
    pieces = _cut(text, start, end, _ITEM)
    lengths = [len(_WORD.findall(text[a:b])) for a, b in pieces]
    lead = _lead(text, *pieces[0]) if pieces else start
    lists = len(pieces) > 1 and max(lengths[1:]) <= LONGEST_ITEM and ("," in text[start:end] or lead > start)
    if not lists or min(lengths) < 1:
        yield Fact(start, end, text[start:end].strip(" ,;."))
        return
    governing = text[start:lead].strip()
    for place, (a, b) in enumerate(pieces):
        said = text[a:b].strip(" ,;.")
        yield Fact(a, b, said if place == 0 or not governing else f"{governing} {said}")


def _lead(text: str, start: int, end: int) -> int:
    """Where the first item of a list begins, after the words that govern the whole of it."""
    at = start
    for word in _WORD.finditer(text, start, end):
        if word[0].lower() in _words()["lead"] and word.end() < end - 1:
            at = word.end()
    return at


def _dialogue(text: str, spoken: list[Turn]) -> Iterator[Fact]:
    asked: tuple[int, int] | None = None
    for turn in spoken:
        spans = [(turn.start + a, turn.start + b) for a, b in sentences(text[turn.start : turn.end])]
        said = [part for a, b in spans for part in _cut(text, a, b, _REPLY)]
        first = True
        for start, end in said:
            if text[start:end].rstrip().endswith("?"):
                asked = (asked[0], end) if asked and asked[0] >= turn.start else (start, end)
            elif asked is not None and first and asked[1] <= turn.start:
                question = text[asked[0] : asked[1]]
                yield Fact(asked[0], end, f"{question} {text[start:end]}", turn.speaker)
                first = False
            elif not _empty(text[start:end]):
                yield Fact(start, end, text[start:end], turn.speaker)
                first = False
        if asked is not None and asked[0] < turn.start:
            asked = None


def _empty(said: str) -> bool:
    """Whether a sentence of a dialogue says nothing: `Okay.`, `Thank you.`"""
    left = " ".join(_WORD.findall(said.lower()))
    for phrase in sorted(_words()["filler"], key=len, reverse=True):
        left = re.sub(rf"\b{re.escape(phrase)}\b", " ", left)
    return not left.strip()


def _says(piece: str) -> bool:
    said = _WORD.findall(piece)
    return len(said) > 1 or (
        len(said) == 1 and not said[0].endswith("ly") and said[0].lower() not in _words()["opener"]
    )


def _cut(text: str, start: int, end: int, where: re.Pattern[str]) -> list[tuple[int, int]]:
    """A stretch cut at matches; a piece that says nothing alone (`Presently`) goes with the one after it."""
    pieces: list[tuple[int, int]] = []
    at = start
    for match in where.finditer(text, start, end):
        if match.start() > at and _says(text[at : match.start()]) and _WORD.search(text, match.end(), end):
            pieces.append((at, match.start()))
            at = match.end()
    return [*pieces, (at, end)]
