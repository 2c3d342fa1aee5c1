"""Which verdict counts, and that every kind of the tables is known."""

from __future__ import annotations

from medassay.language.lexicon import read_tsv
from medassay.language.rules import CONTRADICTS, ENTAILS, RULES, Kind, RuleVerdict, strongest_verdict


def verdict(label: str, weight: float, kind: Kind = Kind.MARKER) -> RuleVerdict:
    return RuleVerdict(label, kind, (0, 1), (0, 1), weight)


def test_a_contradiction_counts_before_a_surer_entailment() -> None:
    assert strongest_verdict([verdict(ENTAILS, 0.9), verdict(CONTRADICTS, 0.6)]) == verdict(CONTRADICTS, 0.6)


def test_the_surest_counts_and_of_equal_ones_the_first() -> None:
    first, second = verdict(ENTAILS, 0.7), verdict(ENTAILS, 0.7, Kind.NUMBER)
    assert strongest_verdict([verdict(ENTAILS, 0.6), first, second]) is first


def test_what_is_not_sure_does_not_count() -> None:
    assert strongest_verdict([verdict(CONTRADICTS, 0.49)]) is None
    assert strongest_verdict([]) is None


def test_every_opposition_is_of_a_known_kind() -> None:
    assert {row["kind"] for row in read_tsv("oppositions.tsv")} <= set(Kind)


def test_every_weight_belongs_to_a_rule() -> None:
    rules = {row["rule"] for row in read_tsv("rule_weights.tsv")} - {"concept"}  # the credit of near concepts
    assert rules == {rule.name for rule in RULES}
    assert all(rule.weights for rule in RULES)
