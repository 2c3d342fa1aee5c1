"""Results of markers, read from a text by rule: which marker, positive or negative, in how many cells.

Reports write results in many ways: `CK7+, CK20−`, `negative for CD3 and CD5`, `TTF-1 and napsin A are
positive`, `MLH1/PMS2 lost`, `HER2 2+`. A result word governs the markers before it in its clause that have
none yet, or, where there are none, those after it. Loss of a protein is its negative, retention its
positive result; a mutated, rearranged or amplified gene counts as positive, wild type as negative. Names
come from `lexicons/markers.tsv` and `lexicons/panels.tsv`, result words from `lexicons/stain_words.tsv`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from medassay.language.characters import with_single_spaces
from medassay.language.lexicon import expression, named_pattern, plain_words, quantity_rows, read_tsv
from medassay.language.terms import fold

_UNFIT = plain_words("marker everyday")
"""Names that are everyday words or ambiguous: a marker only when written in capitals, if at all."""

_NOT_TESTS = plain_words("method, not marker")
"""Ids of `markers.tsv` that name a method or a panel, which has no result of its own."""
_PERCENT = named_pattern("share of cells")
_CLAUSE = named_pattern("stain clause")
_SIGN = named_pattern("sign of a result")
_POSITIVE_SIGNS = plain_words("positive after a hyphen")
_SCORE = named_pattern("her2 score")
_AT_MOST, _AT_LEAST = named_pattern("share at most"), named_pattern("share at least")
_NAME_PART = re.compile(r"[A-Za-z]+|\d+|[^\w\s-]")
"""The letters, the digits and the signs of a marker's name, between which reports write spaces and hyphens."""
_NOT_IN_NAME = re.compile(r"[^a-z0-9/.]")


@dataclass(frozen=True, slots=True)
class Stain:
    """One marker's result in a text.

    result: positive, negative, equivocal, pending, wildtype or mutant (p53). low, high: per cent of cells,
    0–100, None where no share is stated. [start, end): the marker and its result.
    """

    marker: str
    result: str
    start: int
    end: int
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class _Cue:
    """A result word: `reach` is next (only what follows), near, or touch (an adjective: near, but it may be
    overruled by a result word that follows, and forwards it governs no more than the marker it touches)."""

    start: int
    end: int
    result: str
    reach: str


@lru_cache(maxsize=1)
def _names() -> tuple[re.Pattern[str], dict[str, str]]:
    """One expression over all marker names, longest first, and the marker each squeezed name stands for."""
    owners: dict[str, str] = {}
    patterns: dict[str, str] = {}
    for row in read_tsv("markers.tsv"):
        identity = row["id"].partition(":")[2]
        if identity in _NOT_TESTS:
            continue
        for name in (identity, row["name"], *row["aliases"].split("|")):
            bare = name.split(" (")[0].strip()
            if len(bare) < 2 or (bare.lower() in _UNFIT and not bare.isupper()):
                continue
            capital = bare.lower() in _UNFIT
            body = r"[\s-]?".join(map(re.escape, _NAME_PART.findall(bare)))
            owners.setdefault(_squeeze(bare), identity)
            patterns.setdefault(body if capital else f"(?i:{body})", bare)
    ordered = sorted(patterns, key=lambda body: (-len(patterns[body]), body))
    return expression(rf"(?<!\w)(?:p)?(?:{'|'.join(ordered)})(?![A-Za-z0-9])", capitals=True), owners


def _squeeze(name: str) -> str:
    return _NOT_IN_NAME.sub("", fold(name))


@lru_cache(maxsize=1)
def _panels() -> list[tuple[re.Pattern[str], tuple[str, ...], str]]:
    return [
        (expression(row["pattern"], before=r"\b"), tuple(row["markers"].split()), row["result"])
        for row in read_tsv("panels.tsv")
    ]


@lru_cache(maxsize=1)
def _cues() -> list[tuple[str, str, re.Pattern[str]]]:
    return [
        (row["result"], row["governs"], expression(row["pattern"], before=r"(?<![\w-])"))
        for row in read_tsv("stain_words.tsv")
    ]


_LONGEST = 2_000
"""Characters of a clause that are read together: its markers and result words are held against each other."""


@lru_cache(maxsize=20_000)
def read_stains(text: str) -> tuple[Stain, ...]:
    """Every marker of a text whose result is stated, in text order.

    >>> [(s.marker, s.result) for s in read_stains("CK7+, CK20−; negative for CD3 and PAX8. SDHB is lost.")]
    [('CK7', 'positive'), ('CK20', 'negative'), ('CD3', 'negative'), ('PAX8', 'negative'), ('SDHB', 'negative')]
    """
    stains: list[Stain] = []
    start = 0
    for end in [match.start() for match in _CLAUSE.finditer(text)] + [len(text)]:
        while end - start > _LONGEST:
            cut = text.rfind(" ", start + 1, start + _LONGEST)
            cut = start + _LONGEST if cut < 0 else cut
            stains += _clause(text, start, cut)
            start = cut
        stains += _clause(text, start, end)
        start = end
    return tuple(stains)


def _clause(text: str, start: int, end: int) -> list[Stain]:
    by_panels = [
        Stain(marker, result, *match.span())
        for expression, markers, result in _panels()
        if result
        for match in expression.finditer(text, start, end)
        for marker in markers
    ]
    named = _markers(text, start, end)
    if not named:
        return by_panels
    cues = [cue for cue in _results(text, start, end) if not any(a < cue.end and cue.start < b for a, b, _ in named)]
    reader = _Reader(text, end, [first for first, _, _ in named], [c.start for c in cues if c.reach == "near"])
    events = sorted([(a, 0, i) for i, (a, _, _) in enumerate(named)] + [(c.start, 1, i) for i, c in enumerate(cues)])
    for _, is_cue, index in events:
        if is_cue:
            reader.cue(cues[index])
        else:
            reader.marker(*named[index])
    return sorted([*by_panels, *reader.close()], key=lambda stain: (stain.start, stain.marker))


class _Reader:
    """Goes through one clause, marker by marker and result word by result word."""

    def __init__(self, text: str, end: int, firsts: list[int], near: list[int]) -> None:
        self.text, self.end, self.firsts, self.near = text, end, firsts, near
        self.stains: list[Stain] = []
        self.open: list[tuple[int, int, str]] = []
        self.tentative: _Cue | None = None
        self.governing: _Cue | None = None
        self.described: dict[int, str] = {}

    def cue(self, cue: _Cue) -> None:
        """A result word: it decides the open markers before it, or governs those after it."""
        following = next((first for first in self.firsts if first >= cue.end), None)
        if cue.reach == "touch":
            if following is not None and not self.text[cue.end : following].strip():
                self.described[following] = cue.result
            elif self.open and self.tentative is None:
                self.tentative = cue
            return
        touches = following is not None and following - cue.end <= 12
        if self.open and cue.reach != "next":
            self.tentative = None
            self._give(cue)
            self.governing = None
        elif touches or cue.reach == "next":
            self._assign_tentative()
            self.open = []
            self.governing = cue

    def marker(self, first: int, last: int, marker: str) -> None:
        """A marker: decided by a sign written onto it, or by the word that governs it, else left open."""
        if self.tentative is not None and (not self.open or first != self.open[-1][0]):
            self._assign_tentative()
        signed = _signed(self.text, last, marker, self.end)
        stop = next((later for later in self.firsts if later > first), self.end)
        if signed is not None:
            self.stains.append(_stain(self.text, first, last, marker, *signed, stop))
        elif any(0 <= start - last <= 2 for start in self.near):
            self.governing = None  # `negative for A, with B positive`: its own result follows at once
            self.open.append((first, last, marker))
        elif self.governing is not None:
            self.stains.append(_stain(self.text, first, last, marker, self.governing.result, last, stop))
        else:
            self.open.append((first, last, marker))

    def close(self) -> list[Stain]:
        """All results of the clause; a marker left open may still have a share of cells, or name a change."""
        self._assign_tentative()
        for first, last, marker in self.open:
            stop = next((later for later in self.firsts if later > first), self.end)
            low, high = _share(self.text, last, min(stop, last + 60))
            if first in self.described:
                self.stains.append(_stain(self.text, first, last, marker, self.described[first], last, stop))
            elif low is not None and high is not None:
                self.stains.append(Stain(marker, "negative" if high <= 1 else "positive", first, last, low, high))
            elif _CHANGE.search(self.text, first, last):
                self.stains.append(Stain(marker, "positive", first, last))
        return self.stains

    def _assign_tentative(self) -> None:
        if self.tentative is not None:
            self._give(self.tentative)
            self.tentative = None

    def _give(self, cue: _Cue) -> None:
        for first, last, marker in self.open:
            stop = next((later for later in self.firsts if later > first), self.end)
            self.stains.append(_stain(self.text, first, last, marker, cue.result, cue.end, max(stop, cue.end)))
        self.open = []


def _markers(text: str, start: int, end: int) -> list[tuple[int, int, str]]:
    """(start, end, marker) of every name in a stretch of text; a panel's name stands for each of its markers."""
    named: list[tuple[int, int, str]] = []
    taken: list[tuple[int, int]] = []
    for pattern, markers, result in _panels():
        for match in pattern.finditer(text, start, end):
            taken.append(match.span())
            named += [(*match.span(), marker) for marker in markers if not result]
    pattern, owners = _names()
    for match in pattern.finditer(text, start, end):
        if any(a < match.end() and match.start() < b for a, b in taken):
            continue
        written = _squeeze(match[0])
        marker = owners.get(written) or owners.get(written.removeprefix("p"))
        shouted = sum(letter.isupper() for letter in match[0]) >= 2 or len(match[0]) > 3 or not match[0].isalpha()
        if marker is not None and shouted:
            named.append((match.start(), match.end(), marker))
    return sorted(named)


def _results(text: str, start: int, end: int) -> list[_Cue]:
    """The result words of a stretch of text; of overlapping ones the first and longest."""
    cues = [
        _Cue(match.start(), match.end(), result, reach)
        for result, reach, pattern in _cues()
        for match in pattern.finditer(text, start, end)
    ]
    # A panel that states its own result (`triple negative`) says nothing of the markers around it.
    own = [m.span() for pattern, _, result in _panels() if result for m in pattern.finditer(text, start, end)]
    cues = [cue for cue in cues if not any(a < cue.end and cue.start < b for a, b in own)]
    kept: list[_Cue] = []
    for cue in sorted(cues, key=lambda cue: (cue.start, -cue.end)):
        if not kept or cue.start >= kept[-1].end:
            kept.append(cue)
    return kept


def _signed(text: str, last: int, marker: str, end: int) -> tuple[str, int] | None:
    """A result written onto the marker: `CK7+`, `CD5−`, `HER2 2+`."""
    if marker == "HER2" and (match := _SCORE.match(text, last, end)) and (match["plus"] or match["v"] == "0"):
        return ("negative", "negative", "equivocal", "positive")[int(match["v"])], match.end()
    match = _SIGN.match(text, last, end)
    if match is None:
        return None
    sign = next(group for group in match.groups() if group).lower()
    return ("positive" if sign[0] == "+" or sign in _POSITIVE_SIGNS else "negative"), match.end()


def _stain(text: str, start: int, last: int, marker: str, result: str, end: int, stop: int) -> Stain:
    low, high = _share(text, last, min(stop, last + 60))
    around = text[start : max(end, last)].lower() + text[max(end, last) : stop].lower()
    if marker == "P53":
        if result in ("positive", "lost", "negative") and _ABERRANT.search(around):
            result = "mutant"
        return Stain(marker, result, start, max(last, end), low, high)
    if marker == "P16" and result == "positive" and _PATCHY.search(around):
        result = "negative"
    plain = {"wildtype": "negative", "mutant": "positive", "lost": "negative", "retained": "positive"}
    if low == 0 and high is not None and high <= 1 and result == "positive":
        result = "negative"
    return Stain(marker, plain.get(result, result), start, max(last, end), low, high)


def _share(text: str, start: int, end: int) -> tuple[float | None, float | None]:
    """The per cent of cells told within a stretch after a marker, as the lowest and highest it can be."""
    percent = _PERCENT.search(text, start, end)
    fraction = _FRACTION.search(text, start, end)
    if percent is None and fraction is None:
        return None, None
    if percent is None or (fraction is not None and fraction.start() < percent.start()):
        middle = _FRACTIONS[with_single_spaces(fraction[0].lower())] if fraction else 0.0
        return middle, middle
    low = float(percent["low"])
    high = float(percent["high"] or low)
    relation = (percent["rel"] or "").lower()
    if _AT_MOST.match(relation):
        return 0.0, high
    if _AT_LEAST.match(relation):
        return low, 100.0
    return low, high


_CHANGE = named_pattern("gene change")
_ABERRANT = named_pattern("aberrant p53")
_PATCHY = named_pattern("patchy p16")
_FRACTIONS = {words: float(value) for value, words in quantity_rows("share of cells")}
_FRACTION = expression("|".join(words.replace(" ", r"[\s-]+") for words in _FRACTIONS))
