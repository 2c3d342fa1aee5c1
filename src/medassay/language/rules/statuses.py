"""Margins and lymph nodes: involved by tumour against free of it."""

from __future__ import annotations

from collections.abc import Iterator

from medassay.language.graph import Report
from medassay.language.rules.base import Rule
from medassay.language.rules.verdict import CONTRADICTS, ENTAILS, Kind, RuleVerdict
from medassay.language.status import compare_status, read_status

_LABELS = {"apart": CONTRADICTS, "same": ENTAILS}


class StatusRule(Rule):
    """One margin or node group, involved in one statement and free in the other."""

    name = "status"

    def compare(self, premise: Report, hypothesis: Report) -> Iterator[RuleVerdict]:
        known = read_status(premise.text)
        for status in read_status(hypothesis.text):
            relations = [compare_status(other, status) for other in known]
            for relation, label in _LABELS.items():
                if relation in relations:
                    other = known[relations.index(relation)]
                    spans = (other.start, other.end), (status.start, status.end)
                    yield RuleVerdict(label, Kind(status.topic), *spans, self.weights["two statements"])
                    break
