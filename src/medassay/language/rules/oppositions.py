"""Statements that exclude one another: unifocal and three foci, purely in situ and invasive (`oppositions.tsv`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from medassay.language.assertion import denied
from medassay.language.graph import Report
from medassay.language.lexicon import expression, read_tsv
from medassay.language.rules.base import Rule
from medassay.language.rules.verdict import CONTRADICTS, Kind, RuleVerdict


@dataclass(frozen=True, slots=True)
class Opposition:
    """Two expressions that cannot both hold; about: words of which both texts must share one, None for any."""

    kind: Kind
    first: re.Pattern[str]
    second: re.Pattern[str]
    about: re.Pattern[str] | None

    def applies(self, premise: str, hypothesis: str) -> bool:
        """Whether both texts speak of what the opposition is about."""
        if self.about is None:
            return True
        named = [{match[0].lower() for match in self.about.finditer(text)} for text in (premise, hypothesis)]
        return not named[0].isdisjoint(named[1])


@lru_cache(maxsize=1)
def oppositions() -> tuple[Opposition, ...]:
    """Every opposition, in the order of the file."""
    return tuple(
        Opposition(
            Kind(row["kind"]),
            expression(row["first"]),
            expression(row["second"]),
            expression(row["about"]) if row["about"] else None,
        )
        for row in read_tsv("oppositions.tsv")
    )


class OppositionRule(Rule):
    """One side of an opposition in one statement, the other side in the other; what is denied does not count."""

    name = "opposition"

    def compare(self, premise: Report, hypothesis: Report) -> Iterator[RuleVerdict]:
        for opposition in oppositions():
            sides = opposition.first, opposition.second
            for own, other in (sides, sides[::-1]):
                left, right = own.search(premise.text), other.search(hypothesis.text)
                if left is None or right is None or other.search(premise.text) or own.search(hypothesis.text):
                    continue
                if not opposition.applies(premise.text, hypothesis.text):
                    continue
                if denied(premise.text, left.span()) or denied(hypothesis.text, right.span()):
                    continue
                weight = self.weights["opposite sides"]
                yield RuleVerdict(CONTRADICTS, opposition.kind, left.span(), right.span(), weight)
