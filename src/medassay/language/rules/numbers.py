"""Numbers that measure the same thing."""

from __future__ import annotations

from collections.abc import Iterator

from medassay.language.graph import Report
from medassay.language.lexicon import named_pattern
from medassay.language.quantities import Quantity, comparable, quantities, relation
from medassay.language.rules.base import Rule
from medassay.language.rules.subject import is_limited
from medassay.language.rules.verdict import CONTRADICTS, ENTAILS, Characters, Kind, RuleVerdict

_SHARED_WORDS = 0.6
"""Share of the words around two numbers of one report that must be common to both."""

_PIECES = named_pattern("pieces of tissue")


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

    def same_subject(self, verdict: RuleVerdict, premise: Report, hypothesis: Report) -> bool:
        first = _quantity_at(premise.text, verdict.premise)
        second = _quantity_at(hypothesis.text, verdict.hypothesis)
        if first is None or second is None or is_limited(premise.text, hypothesis.text):
            return False
        if _PIECES.search(premise.text) or _PIECES.search(hypothesis.text):
            return False
        if first.aspect == second.aspect == "extent":
            return True
        if first.dimension == "number" or (first.dimension == "count" and first.of != second.of):
            return False
        shared = first.subject & second.subject
        contained = len(shared) == min(len(first.subject), len(second.subject))
        return len(shared) >= _SHARED_WORDS * len(first.subject | second.subject) or (len(shared) >= 2 and contained)


def _quantity_at(text: str, span: Characters) -> Quantity | None:
    return next((quantity for quantity in quantities(text) if (quantity.start, quantity.end) == span), None)
