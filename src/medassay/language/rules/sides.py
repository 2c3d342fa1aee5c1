"""Left against right of one organ."""

from __future__ import annotations

from collections.abc import Iterator

from medassay.language import knowledge
from medassay.language.graph import Report
from medassay.language.lexicon import named_pattern
from medassay.language.rules.base import Rule
from medassay.language.rules.verdict import CONTRADICTS, ENTAILS, Kind, RuleVerdict
from medassay.language.terms import LATERALITY, words

_SIDE = named_pattern("side and its words")
_ELSEWHERE = named_pattern("elsewhere")


class SideRule(Rule):
    """Two statements that each name one side alone and share a word or an organ."""

    name = "side"

    def compare(self, premise: Report, hypothesis: Report) -> Iterator[RuleVerdict]:
        ours, theirs = _sides(premise.text), _sides(hypothesis.text)
        if len({side for side, _, _, _ in ours}) != 1 or len({side for side, _, _, _ in theirs}) != 1:
            return
        if _ELSEWHERE.search(hypothesis.text) or _ELSEWHERE.search(premise.text):
            return
        (side, own_words, *span), (other, other_words, *other_span) = ours[0], theirs[0]
        spans = (span[0], span[1]), (other_span[0], other_span[1])
        if {side, other} == {"left", "right"}:
            if _share_subject(premise.text, hypothesis.text, other_words):
                yield RuleVerdict(CONTRADICTS, Kind.SIDE, *spans, self.weights["left and right"])
        elif side == other and own_words & other_words:
            yield RuleVerdict(ENTAILS, Kind.SIDE, *spans, self.weights["same side"])


def _sides(text: str) -> list[tuple[str, frozenset[str], int, int]]:
    """(side, the words after it, start, end) of each side that a text names."""
    return [
        (LATERALITY.get(match[1].lower(), match[1].lower()), frozenset(words(match[2])), match.start(), match.end())
        for match in _SIDE.finditer(text)
    ]


def _share_subject(first: str, second: str, after_side: frozenset[str]) -> bool:
    own, other = frozenset(words(first)), frozenset(words(second)) - {"left", "right"}
    return bool(own & (after_side | other) or knowledge.organs(first) & knowledge.organs(second))
