"""Protocols: which elements a report on an organ must state and how they are written, from data files.

`lexicons/synoptic/any.tsv` holds what all organs share, `lexicons/synoptic/<organ>.tsv` the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from medassay.language.lexicon import expression, filled, read_tsv

ORGANS = ("breast", "colon", "prostate", "lung", "kidney", "stomach", "skin", "thyroid", "uterus", "pancreas")
ELEMENTS = ("site", "procedure", "type", "grade", "size", "margins", "lvi", "nodes", "ptnm", "biomarkers")
"""lvi: lymphovascular invasion; ptnm: the pathological stage; type: the histologic type."""

_GAP = r"[\s.]{1,3}"
_NO_GAP = r"[\s.]{0,3}"


@dataclass(frozen=True, slots=True)
class Extent:
    """Words about the extent of a tumour, and the pT categories that they leave possible."""

    pattern: re.Pattern[str]
    categories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Protocol:
    """The elements of one organ.

    required: per element `always`, or `resection` where a biopsy need not state it; elements not asked for are missing.
    observable: elements that a slide of the tumour can show.
    labels: per element the expression of the field labels that state it.
    states: per element the expressions of statements, the most telling first.
    exclusions: per element what must not stand right before a match, or in it.
    sizes: per pT category the lowest and highest size in millimetres.
    """

    organ: str
    required: dict[str, str]
    observable: frozenset[str]
    labels: dict[str, re.Pattern[str]]
    states: dict[str, tuple[re.Pattern[str], ...]]
    exclusions: dict[str, tuple[re.Pattern[str], ...]]
    sizes: dict[str, tuple[float, float]]
    extents: tuple[Extent, ...]


@lru_cache(maxsize=16)
def load_protocol(organ: str) -> Protocol:
    """The protocol of an organ of `ORGANS`."""
    own, common = list(read_tsv(f"synoptic/{organ}.tsv")), list(read_tsv("synoptic/any.tsv"))
    rows = [*own, *common]
    return Protocol(
        organ,
        {row["element"]: row["value"] for row in own if row["kind"] == "require"},
        frozenset(row["element"] for row in common if row["kind"] == "element" and row["value"] == "observable"),
        {element: pattern for element in ELEMENTS if (pattern := _label(rows, element)) is not None},
        {element: tuple(_states(rows, element)) for element in ELEMENTS},
        {element: tuple(_of(rows, "not", element)) for element in ELEMENTS},
        {row["value"]: _interval(row["pattern"]) for row in own if row["kind"] == "size"},
        tuple(
            Extent(compiled(row["pattern"]), tuple(row["value"].split("|"))) for row in own if row["kind"] == "extent"
        ),
    )


@lru_cache(maxsize=1)
def organ_words() -> tuple[tuple[str, float, re.Pattern[str]], ...]:
    """Words that name an organ: the organ, their weight, the expression."""
    return tuple(
        (organ, float(row["value"]), compiled(row["pattern"]))
        for organ in ORGANS
        for row in read_tsv(f"synoptic/{organ}.tsv")
        if row["kind"] == "organ"
    )


@lru_cache(maxsize=1)
def blank_value() -> re.Pattern[str]:
    """What a field's value begins with that says nothing (`Not specified`)."""
    return next(compiled(row["pattern"]) for row in read_tsv("synoptic/any.tsv") if row["kind"] == "blank")


def _states(rows: list[dict[str, str]], element: str) -> Iterator[re.Pattern[str]]:
    for row in rows:
        if row["kind"] in ("state", "exact") and row["element"] == element:
            yield compiled(row["pattern"], exact=row["kind"] == "exact")


def _label(rows: list[dict[str, str]], element: str) -> re.Pattern[str] | None:
    """The labels of an element's fields, up to the colon."""
    written = [row["pattern"] for row in rows if row["kind"] == "label" and row["element"] == element]
    return compiled(rf"(?<![\w-])(?:{'|'.join(written)})[\s.]{{0,3}}[:=]") if written else None


def _of(rows: list[dict[str, str]], kind: str, element: str) -> Iterator[re.Pattern[str]]:
    return (compiled(row["pattern"]) for row in rows if row["kind"] == kind and row["element"] == element)


def _interval(written: str) -> tuple[float, float]:
    low, _, high = written.partition("-")
    return float(low), float(high)


@lru_cache(maxsize=1)
def _words() -> dict[str, str]:
    """The named expressions of any.tsv, which may use those before them."""
    named: dict[str, str] = {}
    for row in read_tsv("synoptic/any.tsv"):
        if row["kind"] == "words":
            named[row["value"]] = filled(row["pattern"], named)
    return named


def compiled(pattern: str, *, exact: bool = False) -> re.Pattern[str]:
    """An expression of the data files: a space is white space with stray full stops, `~` the same or nothing."""
    written: list[str] = []
    inside = False
    characters = filled(pattern, _words()) if "@" in pattern else pattern
    i = 0
    while i < len(characters):
        character = characters[i]
        if character == "\\":
            written.append(characters[i : i + 2])
            i += 2
            continue
        inside = (inside or character == "[") and character != "]"
        if inside or character not in " ~":
            written.append(character)
        elif character == " " and characters[i + 1 : i + 2] == "?":
            written.append(_NO_GAP)
            i += 1
        else:
            written.append(_GAP if character == " " else _NO_GAP)
        i += 1
    return expression("".join(written), capitals=exact)
