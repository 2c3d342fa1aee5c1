"""What a modifier says of its marker: positive, negative, equivocal …, how strongly, how widely.

The words are data: `lexicons/results.tsv`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from medassay.language.characters import without_stops
from medassay.language.lexicon import expression, named_pattern, read_tsv
from medassay.language.terms import fold

_SHARE = named_pattern("share in a result")
_UNDER_ONE = named_pattern("under one per cent")
_LONGEST = 400
"""Characters of a modifier that are read: the expressions of `results.tsv` may take quadratic time."""
_POLARITIES = ("retained", "lost", "pending", "equivocal", "negative", "positive")


@dataclass(frozen=True, slots=True)
class Result:
    """A marker's result; `percent` is the share of stained cells, 0–100, where one is stated."""

    polarity: str
    intensity: str | None = None
    extent: str | None = None
    percent: float | None = None

    def __str__(self) -> str:
        share = f"{self.percent:g}%" if self.percent is not None else None
        return " ".join(part for part in (self.intensity, self.extent, self.polarity, share) if part)


@lru_cache(maxsize=1)
def _patterns() -> list[tuple[str, str, re.Pattern[str]]]:
    return [(row["kind"], row["value"], expression(row["pattern"], capitals=True)) for row in read_tsv("results.tsv")]


@lru_cache(maxsize=50_000)
def read_result(text: str) -> Result | None:
    """The result a modifier states, or None where it states none we know.

    >>> str(read_result("strongly and diffusely positive")), str(read_result("no staining"))
    ('strong diffuse positive', 'negative')
    >>> str(read_result("2+")), str(read_result("30 to 40%")), str(read_result("0%"))
    ('equivocal', 'positive 35%', 'negative 0%')
    """
    plain = " ".join(without_stops(fold(text[:_LONGEST])).split())
    kinds: dict[str, str] = {}
    for kind, value, pattern in _patterns():
        if kind not in kinds and pattern.search(plain):
            kinds[kind] = value
    percent = None
    if match := _SHARE.search(plain):
        percent = (float(match[2]) + float(match[3] or match[2])) / 2
        kinds.setdefault("negative" if percent == 0 or _UNDER_ONE.match(plain) else "positive", "")
    polarity = next((name for name in _POLARITIES if name in kinds), None)
    if polarity is None:
        return None
    stained = polarity == "positive"
    return Result(
        polarity, kinds.get("intensity") if stained else None, kinds.get("extent") if stained else None, percent
    )
