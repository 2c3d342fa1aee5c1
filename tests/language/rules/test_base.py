"""The contract of a rule."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.language.readings import reading

from medassay.language.graph import Report
from medassay.language.rules import CONTRADICTS, RULES, Kind, Rule, RuleVerdict


class Echo(Rule):
    """Contradicts whatever is said twice."""

    name = "marker"

    def compare(self, premise: Report, hypothesis: Report) -> Iterator[RuleVerdict]:
        if premise.text == hypothesis.text:
            yield RuleVerdict(CONTRADICTS, Kind.MARKER, (0, 1), (0, 1), self.weights["same result"])


def test_weights_are_those_of_the_name() -> None:
    rule = Echo()
    (verdict,) = rule.compare(reading("a"), reading("a"))
    assert verdict.weight == rule.weights["same result"]


def test_a_rule_must_compare() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Rule()  # type: ignore[abstract]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_no_rule_finds_anything_in_empty_statements(rule: Rule) -> None:
    assert list(rule.compare(reading(""), reading(""))) == []
