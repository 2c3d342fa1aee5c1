"""The ledger's table with a checker that compares words, so that every verdict can be foretold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medassay.language.ledger import CANDIDATE, REFERENCE, SOURCE, Ledger, LedgerMaker, Texts
from medassay.models.base import Matrix
from medassay.spans import Check


class WordChecker:
    """Supports a statement whose last word the text has, and contradicts it where the text has `not` before it."""

    name = "words"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Matrix:
        return np.array([check.probabilities for check in self.check(pairs)], np.float32)

    def check(self, pairs: Sequence[tuple[str, str]]) -> list[Check]:
        self.asked += pairs
        return [self._check(*pair) for pair in pairs]

    def _check(self, text: str, statement: str) -> Check:
        word = statement.rstrip(".").split()[-1]
        at = text.find(word)
        if at < 0:
            return Check((0.0, 1.0, 0.0), 0, 0, "finding", 0.5)
        if f"not {word}" in text:
            return Check((0.0, 0.0, 1.0), at, at + len(word), "negation", 0.9)
        return Check((1.0, 0.0, 0.0), at, at + len(word), "other", 0.0)


def verdicts(ledger: Ledger, of: str, against: str) -> list[tuple[str, str]]:
    return [(verdict.statement.text, verdict.check.verdict) for verdict in ledger.select(of, against)]


def test_both_directions_against_the_reference() -> None:
    texts = Texts("She has fever. She has cough.", reference="She has fever. She has nausea.")
    (ledger,) = LedgerMaker(WordChecker()).ledgers([texts])
    assert verdicts(ledger, CANDIDATE, REFERENCE) == [("She has fever", "supported"), ("She has cough", "not_stated")]
    assert verdicts(ledger, REFERENCE, CANDIDATE) == [("She has fever", "supported"), ("She has nausea", "not_stated")]


def test_the_source_is_asked_where_the_reference_does_not_support() -> None:
    checker = WordChecker()
    texts = Texts("She has fever. She has cough.", reference="She has fever.", source="There is a cough.")
    (ledger,) = LedgerMaker(checker).ledgers([texts])
    assert verdicts(ledger, CANDIDATE, SOURCE) == [("She has cough", "supported")]
    assert [len(group) for group in ledger.candidate()] == [1, 2]


def test_without_a_reference_the_source_says_what_is_expected() -> None:
    texts = Texts("She has fever.", source="She has fever. She likes tea. She has diabetes.")
    (ledger,) = LedgerMaker(WordChecker()).ledgers([texts])
    assert [verdict.statement.text for verdict in ledger.expected()] == ["She has fever", "She has diabetes"]


def test_a_case_is_judged_once() -> None:
    checker = WordChecker()
    maker = LedgerMaker(checker)
    texts = Texts("She has fever.", reference="She has fever.")
    assert maker.ledgers([texts, texts]) == maker.ledgers([texts]) * 2
    assert len(checker.asked) == 2


def test_nothing_to_compare_with_gives_an_empty_ledger() -> None:
    (ledger,) = LedgerMaker(WordChecker()).ledgers([Texts("She has fever.")])
    assert ledger == Ledger(())
