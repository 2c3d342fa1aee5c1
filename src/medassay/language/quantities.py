"""Numbers of a report with what they measure: lengths, weights, shares, rates, counts, as intervals.

`1.5 cm` and `15 mm` are one length, `more than half` is a share above 50 %, `3 of 12 cores` a count. Each
quantity carries the words of its clause, so that only numbers about the same thing are compared. The words are data:
`lexicons/quantities.tsv`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from medassay.language.lexicon import expression, filled, plain_words, quantity_rows
from medassay.language.numbers import NUMBER_WORDS
from medassay.language.terms import words

INFINITE = float("inf")


def _words_of(kind: str) -> dict[str, str]:
    """The value of each word of a kind in `quantities.tsv`."""
    return {word: value for value, pattern in quantity_rows(kind) for word in pattern.split("|")}


_NUMBERS = {word: float(value) for value, word in enumerate(NUMBER_WORDS)} | {
    word: float(value) for word, value in _words_of("number").items()
}
# Text may be hostile. Every expression here takes linear time: numbers and white space are taken whole (possessive or
# atomic), a match starts neither inside a number nor inside white space, and chains of dimensions are bounded.
_N = r"(?>\d{1,3}(?:,\d{3}){1,6}+(?!\d)|\d++(?:\.\d++|,\d{1,2}(?!\d))?|\.\d++)"
_NUMBER = re.compile(_N)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_WORD_N = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_PARTS = {"number": _N, "any number": rf"{_N}|{_WORD_N}"}
"""What a name between `@` stands for in the patterns of `quantities.tsv`."""


def _pattern(kind: str) -> str:
    """The one pattern of a kind in `quantities.tsv`."""
    [(_, pattern)] = quantity_rows(kind)
    return filled(pattern, _PARTS)


for _kind in ("more", "less", "about", "rated", "counted", "several", "relation"):
    _PARTS[_kind] = _pattern(_kind)
_LENGTH, _WEIGHT = expression(_pattern("length")), expression(_pattern("weight"))
_SHARE, _RATE = expression(_pattern("share")), expression(_pattern("rate"))
_FRACTIONS = [
    (expression(pattern, before=_PARTS["relation"]), tuple(map(float, value.split("-"))))
    for value, pattern in quantity_rows("fraction")
]
_ALL, _OF = expression(_pattern("all of a total")), expression(_pattern("part of a total"))
_COUNTED = expression(_pattern("counted things"))
_SEVERAL, _AT_LEAST = expression(_pattern("several"), capitals=True), float(quantity_rows("several")[0][0])
_CLAUSE = expression(_pattern("clause"))
_ASPECTS = [(aspect, expression(pattern)) for aspect, pattern in quantity_rows("aspect")]
_SAME = _words_of("same")
_SAME_NUMBER = 0.051
"""Share of a measured number by which two that were rounded may differ. No fit is on record."""
_SAME_SHARE = 0.01
"""By how much two counts may differ as shares of one total. No fit is on record."""
_EMPTY = plain_words("measure unspecific")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as the interval [low, high] that it may be.

    dimension: length (mm), weight (g), share (%), rate_hpf (per 10 fields), rate_mm2 (per mm²), count (low and
    high in `of` things, 0 where the total is not told). aspect: size, distance, depth, extension, length, extent
    (share of the tissue) or second. subject: lemmas of the clause.
    """

    dimension: str
    low: float
    high: float
    aspect: str
    subject: frozenset[str]
    start: int
    end: int
    of: float = 0.0


@lru_cache(maxsize=20_000)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Every quantity of a text, in text order; a stretch of text is read once.

    >>> [(q.dimension, q.low, q.high) for q in quantities("Nodule, 3.4 cm; Ki-67 above 20 %; 3 of 12 cores")]
    [('length', 34.0, 34.0), ('share', 20.0, inf), ('count', 3.0, 3.0)]
    """
    read: list[Quantity] = []
    taken = bytearray(len(text))
    clauses = _Clauses(text)
    for reader in (_rates, _lengths, _weights, _shares, _counts):
        for quantity in reader(clauses):
            if not any(taken[quantity.start : quantity.end]):
                read.append(quantity)
                taken[quantity.start : quantity.end] = bytes([1]) * (quantity.end - quantity.start)
    return tuple(sorted(read, key=lambda quantity: quantity.start))


class _Clauses:
    """A text with the clauses of its quantities: each is looked for, and its words are read, once."""

    def __init__(self, text: str) -> None:
        self.text = text
        breaks = [match.span() for match in _CLAUSE.finditer(text)]
        self.starts = [start for start, _ in breaks]
        self.ends = [end for _, end in breaks]
        self.read: dict[tuple[int, int], tuple[str, frozenset[str]]] = {}

    def quantity(self, match: re.Match[str], dimension: str, low: float, high: float, of: float = 0.0) -> Quantity:
        """The quantity that a match states, with what its clause says that it measures."""
        before = bisect_right(self.ends, match.start())
        after = bisect_left(self.starts, match.end())
        left = self.ends[before - 1] if before else 0
        right = self.starts[after] if after < len(self.starts) else len(self.text)
        if (left, right) not in self.read:
            self.read[left, right] = self._about(left, right)
        return Quantity(dimension, low, high, *self.read[left, right], match.start(), match.end(), of)

    def _about(self, left: int, right: int) -> tuple[str, frozenset[str]]:
        clause = self.text[left:right]
        aspect = next((name for name, pattern in _ASPECTS if pattern.search(clause)), "size")
        wider = self.text[self.text.rfind(" ", 0, max(0, left - 60)) + 1 : right]
        lemmas = frozenset("neoplasm" if word.endswith("oma") else _SAME.get(word, word) for word in words(wider))
        return aspect, frozenset(word for word in lemmas - _EMPTY if not word[0].isdigit())


def _lengths(clauses: _Clauses) -> Iterable[Quantity]:
    for match in _LENGTH.finditer(clauses.text):
        unit = match["unit"].lower()
        factor = 10.0 if unit.startswith("c") else 0.001 if unit[0] in "µu" or unit.startswith("micron") else 1.0
        every = [_number(match["first"]), *map(_number, _NUMBER.findall(match["rest"]))]
        value = max(every) * factor
        yield clauses.quantity(match, "length", *_interval(match, value, value))


def _weights(clauses: _Clauses) -> Iterable[Quantity]:
    for match in _WEIGHT.finditer(clauses.text):
        value = _number(match["first"]) * (1000.0 if match["unit"].lower().startswith("k") else 1.0)
        yield clauses.quantity(match, "weight", *_interval(match, value, value))


def _shares(clauses: _Clauses) -> Iterable[Quantity]:
    for match in _SHARE.finditer(clauses.text):
        low = _number(match["first"])
        high = _number(match["second"]) if match["second"] else low
        yield clauses.quantity(match, "share", *_interval(match, low, high))
    for pattern, (low, high) in _FRACTIONS:
        for match in pattern.finditer(clauses.text):
            yield clauses.quantity(match, "share", *_interval(match, low, high))


def _rates(clauses: _Clauses) -> Iterable[Quantity]:
    for match in _RATE.finditer(clauses.text):
        per = float(match["of"] or 1)
        if not per:
            continue
        fields = match["unit"].lower().startswith(("h", "f"))
        scale = 10.0 / per if fields else 1.0 / per
        low = _number(match["first"]) * scale
        high = _number(match["second"]) * scale if match["second"] else low
        yield clauses.quantity(match, "rate_hpf" if fields else "rate_mm2", *_interval(match, low, high))


def _counts(clauses: _Clauses) -> Iterable[Quantity]:
    for match in _ALL.finditer(clauses.text):
        of = _number(match["of"])
        yield clauses.quantity(match, "count", of, of, of)
    for match in _OF.finditer(clauses.text):
        value = 0.0 if match["first"].lower() == "none" else _number(match["first"])
        of = _number(match["of"])
        if value <= of:
            yield clauses.quantity(match, "count", value, value, of)
    for match in _COUNTED.finditer(clauses.text):
        word = match["first"].lower()
        low, high = (_AT_LEAST, INFINITE) if _SEVERAL.fullmatch(word) else (_number(word), _number(word))
        yield clauses.quantity(match, "number", low, high)


def _interval(match: re.Match[str], first: float, second: float) -> tuple[float, float]:
    low, high = min(first, second), max(first, second)  # "20-10 %" is a range too
    if match["more"]:
        return low, INFINITE
    return (0.0, high) if match["less"] else (low, high)


def _number(written: str) -> float:
    word = " ".join(written.lower().split())
    if _THOUSANDS.fullmatch(word):
        word = word.replace(",", "")
    return _NUMBERS[word] if word in _NUMBERS else float(word.replace(",", "."))


def relation(premise: Quantity, hypothesis: Quantity) -> str:
    """`same` (the hypothesis holds), `apart` (both cannot hold) or `open`, for two numbers about one thing."""
    if {premise.dimension, hypothesis.dimension} == {"count", "share"}:
        premise, hypothesis = _as_share(premise), _as_share(hypothesis)
    if premise.dimension == "count" and premise.of and hypothesis.of:
        same = premise.low == hypothesis.low and premise.of == hypothesis.of
        shares = abs(premise.low / premise.of - hypothesis.low / hypothesis.of) < _SAME_SHARE
        return "same" if same or (shares and premise.of == hypothesis.of) else "apart"
    slack = _SAME_NUMBER * max(abs(premise.low), abs(hypothesis.low), 1e-9)
    if premise.dimension in ("count", "number"):
        slack = 0.0
    if premise.low >= hypothesis.low - slack and premise.high <= hypothesis.high + slack:
        return "same"
    if premise.high < hypothesis.low - slack or premise.low > hypothesis.high + slack:
        return "apart"
    return "open"


def _as_share(quantity: Quantity) -> Quantity:
    if quantity.dimension != "count" or not quantity.of:
        return quantity
    low, high = (100 * value / quantity.of for value in (quantity.low, quantity.high))
    return replace(quantity, dimension="share", low=low, high=high)


def comparable(a: Quantity, b: Quantity) -> bool:
    """Whether two numbers measure one thing: dimension and aspect agree and their clauses share a word."""
    if a.subject and b.subject and not a.subject & b.subject:
        return False
    if {a.dimension, b.dimension} == {"count", "share"}:
        return True
    return a.dimension == b.dimension and a.aspect == b.aspect
