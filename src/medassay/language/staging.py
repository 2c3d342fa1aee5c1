"""Stage and grade categories that a text states: `stated("pT2 pN1a")` gives T2 and N1a.

How they are written is data: `lexicons/stage_codes.tsv`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from medassay.language.lexicon import compiled, named_pattern, read_tsv
from medassay.language.numbers import ROMAN

Category = tuple[str, int, int]
"""A category and the characters [start, end) that state it."""

_COMPONENT = named_pattern("nottingham component")


@dataclass(frozen=True, slots=True)
class _Code:
    """How the categories of a scheme are written."""

    scheme: str
    prefix: str
    roman: bool
    pattern: re.Pattern[str]

    def category(self, match: re.Match[str]) -> str:
        written = next(value for name, value in match.groupdict().items() if name in ("v", "w") and value)
        return self.prefix + str(ROMAN.get(written.upper(), written) if self.roman else written)


@lru_cache(maxsize=1)
def _codes() -> tuple[_Code, ...]:
    return tuple(
        _Code(row["scheme"], row["prefix"], row["roman"] == "yes", compiled(row)) for row in read_tsv("stage_codes.tsv")
    )


@lru_cache(maxsize=20_000)
def stated(text: str) -> dict[str, Category]:
    """The categories a text names, by their scheme; of several of one scheme the first.

    >>> {scheme: category for scheme, (category, _, _) in stated("pT2 pN1a").items()}
    {'t': 'T2', 'n': 'N1a'}
    """
    matches = ((code, code.pattern.search(text)) for code in _codes())
    return {code.scheme: (code.category(match), *match.span()) for code, match in matches if match}


def nottingham_sum(text: str) -> Category | None:
    """The histologic grade that the three components of the Nottingham score add up to: 3–5, 6–7, 8–9.

    >>> nottingham_sum("Tubules 3, nuclei 2, mitoses 1")
    ('G2', 0, 30)
    """
    components = list(_COMPONENT.finditer(text))
    if len(components) != 3:
        return None
    total = sum(int(match["v"]) for match in components)
    return f"G{1 if total <= 5 else 2 if total <= 7 else 3}", components[0].start(), components[-1].end()
