"""Numbers as they are written and as they are spoken, so that `fifty nine` in a dialogue is `59` in its note."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from medassay.language.characters import with_single_spaces
from medassay.language.lexicon import named_pattern, quantity_rows

[(_, _CARDINALS)] = quantity_rows("cardinals")
NUMBER_WORDS = tuple(_CARDINALS.split("|"))
"""The words of 0 to 20, in order."""

TO_MILLIMETRES = {unit: float(value) for value, units in quantity_rows("millimetres") for unit in units.split("|")}
"""How many millimetres each unit of length is."""

ROMAN = {"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8, "IX": 9, "X": 10}

_SMALL = {word: value for value, word in enumerate(NUMBER_WORDS[:20])}
_TENS = {word: int(value) for value, word in quantity_rows("tens")}
_SCALES = {word: int(value) for value, word in quantity_rows("scale")}
_FOUND = named_pattern("written number", word="|".join([*_SMALL, *_TENS, *_SCALES]))


@dataclass(frozen=True, slots=True)
class Number:
    """A number and the characters [start, end) that say it."""

    start: int
    end: int
    value: float


def numbers(text: str) -> list[Number]:
    """Every number of a text; a year said in two halves is one number.

    >>> [n.value for n in numbers("fifty nine, in nineteen eighty four, 2.5 mg, two thousand six")]
    [59.0, 1984.0, 2.5, 2006.0]
    """
    values = []
    for match in _FOUND.finditer(text):
        if match["digits"]:
            values.append(Number(match.start(), match.end(), float(match["digits"].replace(",", ""))))
        else:
            values += [Number(match.start(), match.end(), value) for value in _spoken(match["spoken"])]
    return values


def _spoken(phrase: str) -> Iterator[float]:
    """The numbers of a run of number words: `forty five` is one, `one two` are two, `nineteen eighty four` a year."""
    whole, _, decimals = with_single_spaces(phrase.lower()).partition(" point ")
    groups = _groups([word for word in whole.split() if word != "and"])
    if len(groups) == 2 and groups[0] in (18, 19, 20) and 10 <= groups[1] < 100:
        groups = [100 * groups[0] + groups[1]]
    if decimals and groups:
        digits = "".join(str(_SMALL.get(word, "")) for word in decimals.split())
        yield from map(float, groups[:-1])
        yield float(f"{groups[-1]}.{digits or 0}")
        return
    yield from map(float, groups)


def _groups(words: list[str]) -> list[int]:
    """Number words put together as far as they make one number."""
    groups: list[int] = []
    current: int | None = None
    last = 0
    for word in words:
        if word in _SCALES:
            scale = _SCALES[word]
            current = (current or 1) * scale if scale == 100 or (current or 0) < 1000 else (current or 0) + scale
            last = scale
            continue
        value = _SMALL.get(word, _TENS.get(word, 0))
        fits = current is not None and (last >= 100 or (last >= 20 and last % 10 == 0 and last < 100 and value < 10))
        if fits and current is not None:
            current += value
        else:
            if current is not None:
                groups.append(current)
            current = value
        last = value
    if current is not None:
        groups.append(current)
    return groups
