"""Every kind and every weight of the tables is known."""

from __future__ import annotations

from medassay.language.lexicon import read_tsv
from medassay.language.rules import RULES, Kind


def test_every_opposition_is_of_a_known_kind() -> None:
    assert {row["kind"] for row in read_tsv("oppositions.tsv")} <= set(Kind)


def test_every_weight_belongs_to_a_rule() -> None:
    rules = {row["rule"] for row in read_tsv("rule_weights.tsv")} - {"concept"}  # the credit of near concepts
    assert rules == {rule.name for rule in RULES}
    assert all(rule.weights for rule in RULES)
