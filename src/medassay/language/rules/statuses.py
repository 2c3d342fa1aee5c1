"""Margins and lymph nodes: involved by tumour against free of it."""

from __future__ import annotations

from collections.abc import Iterator

from medassay.language.graph import Report
from medassay.language.rules.base import Rule
from medassay.language.rules.subject import IN_SITU, is_limited
from medassay.language.rules.verdict import CONTRADICTS, ENTAILS, Kind, RuleVerdict
from medassay.language.status import Status, compare_status, read_status

_LABELS = {"apart": CONTRADICTS, "same": ENTAILS}


class StatusRule(Rule):
    """One margin or node group, involved in one statement and free in the other."""

    name = "status"

    def compare(self, premise: Report, hypothesis: Report) -> Iterator[RuleVerdict]:
        known = read_status(premise.text)
        for status in read_status(hypothesis.text):
            relations = [compare_status(other, status) for other in known]
            for relation in _LABELS:
                if relation in relations:
                    yield self._verdict(relation, "two statements", known[relations.index(relation)], status)
                    break

    def within(self, report: Report) -> Iterator[RuleVerdict]:
        statuses = read_status(report.text)
        for i, first in enumerate(statuses):
            for second in statuses[i + 1 :]:
                relation = compare_status(first, second)
                if relation != "open":
                    yield self._verdict(relation, "one statement", first, second)

    def same_subject(self, verdict: RuleVerdict, premise: Report, hypothesis: Report) -> bool:
        first, second = premise.text, hypothesis.text
        if (IN_SITU.search(first) is None) != (IN_SITU.search(second) is None):
            return False
        return not is_limited(first[slice(*verdict.premise)], second[slice(*verdict.hypothesis)])

    def _verdict(self, relation: str, case: str, first: Status, second: Status) -> RuleVerdict:
        spans = (first.start, first.end), (second.start, second.end)
        return RuleVerdict(_LABELS[relation], Kind(second.topic), *spans, self.weights[case])
