"""The ledger's table with a checker that compares words, so that every verdict can be foretold."""

from __future__ import annotations

import pytest

from medassay.language.ledger import (
    CANDIDATE,
    MOST_STATEMENTS,
    REFERENCE,
    SOURCE,
    Ledger,
    LedgerMaker,
    Texts,
    Verdict,
    joined,
)
from medassay.language.statements import Statement
from medassay.spans import Check

from .checker_double import WordChecker


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


def verdict(against: str, *probabilities: float) -> Verdict:
    supported, not_stated, contradicted = probabilities
    return Verdict(
        CANDIDATE, Statement("x", 0, 1, ""), against, Check((supported, not_stated, contradicted), 0, 1, "", 0.5)
    )


@pytest.mark.parametrize(
    ("reference", "source", "expected", "against"),
    [
        ((0.1, 0.8, 0.1), (0.9, 0.1, 0.0), (0.9, 0.1, 0.0), SOURCE),
        ((0.1, 0.2, 0.7), (0.2, 0.7, 0.1), (0.2, 0.1, 0.7), REFERENCE),
        ((0.1, 0.8, 0.1), (0.3, 0.6, 0.1), (0.3, 0.6, 0.1), SOURCE),
    ],
)
def test_two_verdicts_on_one_statement_are_joined(
    reference: tuple[float, ...], source: tuple[float, ...], expected: tuple[float, ...], against: str
) -> None:
    both = joined([verdict(REFERENCE, *reference), verdict(SOURCE, *source)])
    assert both.check.probabilities == pytest.approx(expected)
    assert both.against == against


def test_a_template_states_nothing() -> None:
    template = "Gross: [describe fever]\nDiagnosis: [insert fever]"
    (ledger,) = LedgerMaker(WordChecker()).ledgers([Texts(template, reference="She has fever.")])
    assert verdicts(ledger, CANDIDATE, REFERENCE) == []
    assert verdicts(ledger, REFERENCE, CANDIDATE) == [("She has fever", "not_stated")]


def test_a_text_of_many_statements_is_judged_as_far_as_the_limit() -> None:
    text = " ".join(f"She has a cyst of {number} mm." for number in range(MOST_STATEMENTS + 50))
    (ledger,) = LedgerMaker(WordChecker()).ledgers([Texts(text, reference="She has fever.")])
    assert len(ledger.select(CANDIDATE, REFERENCE)) == MOST_STATEMENTS
    assert ledger.cut == (CANDIDATE,)


class SentenceChecker(WordChecker):
    """Supports a statement that the text has word for word, whatever its full stop."""

    def _check(self, text: str, statement: str) -> Check:
        if statement.rstrip(".") in text:
            return Check((0.9, 0.05, 0.05), 0, 1, "other", 0.1)
        return Check((0.2, 0.6, 0.2), 0, 1, "finding", 0.5)


def test_a_part_of_a_supported_sentence_is_supported_however_it_was_cut() -> None:
    text = "She denies fever or chills."
    (ledger,) = LedgerMaker(SentenceChecker()).ledgers([Texts(text, reference=f"{text} She smokes.")])
    parts = ledger.select(CANDIDATE, REFERENCE)
    assert [part.statement.text for part in parts] == ["She denies fever", "She denies chills"]
    assert parts[1].check.probabilities == pytest.approx((0.9, 0.075, 0.025))


def test_a_part_of_an_unsupported_sentence_keeps_its_own_verdict() -> None:
    texts = Texts("She denies fever or chills.", reference="She denies fever.")
    (ledger,) = LedgerMaker(SentenceChecker()).ledgers([texts])
    assert verdicts(ledger, CANDIDATE, REFERENCE) == [
        ("She denies fever", "supported"),
        ("She denies chills", "not_stated"),
    ]


def test_passages_are_whole_sentences_with_room_beside_the_other_text() -> None:
    candidate, reference = "She has fever. She has cough.", "She has fever."
    (short, long, nothing) = LedgerMaker(WordChecker()).passages(
        [Texts(candidate, reference), Texts(candidate * 8, reference * 200), Texts("...", reference)]
    )
    assert [(verdict.of, verdict.statement.text) for verdict in short] == [
        (CANDIDATE, candidate),
        (REFERENCE, reference),
    ]
    lengths = [len(verdict.statement.text) for verdict in long if verdict.of == CANDIDATE]
    assert max(lengths) <= 240 and sum(lengths) >= len(candidate) * 8 - len(lengths)
    assert nothing == ()
