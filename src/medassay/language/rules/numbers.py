"""Numbers that measure the same thing."""

from __future__ import annotations

from collections.abc import Iterator

from medassay.language.graph import Report
from medassay.language.quantities import comparable, quantities, relation
from medassay.language.rules.base import Rule
from medassay.language.rules.verdict import CONTRADICTS, ENTAILS, Kind, RuleVerdict


class NumberRule(Rule):
    """Numbers about the same thing; a contradiction where no number of the premise allows the hypothesis's."""

    name = "number"

    def compare(self, premise: Report, hypothesis: Report) -> Iterator[RuleVerdict]:
        known = quantities(premise.text)
        for quantity in quantities(hypothesis.text):
            related = [(relation(other, quantity), other) for other in known if comparable(other, quantity)]
            if not related:
                continue
            relations = [name for name, _ in related]
            best = min(relations, key=("same", "open", "apart").index)
            other = related[relations.index(best)][1]
            spans = (other.start, other.end), (quantity.start, quantity.end)
            if best == "same":
                yield RuleVerdict(ENTAILS, Kind.NUMBER, *spans, self.weights["same"])
            elif best == "apart":
                case = "different, of one number" if len(related) == 1 else "different, of several numbers"
                yield RuleVerdict(CONTRADICTS, Kind.NUMBER, *spans, self.weights[case])
