"""Which statements are asked about, with a checker that compares words, so that every verdict can be foretold."""

from __future__ import annotations

import pytest

from medassay.language import ledger_maker
from medassay.language.ledger import CANDIDATE, REFERENCE, SOURCE, Ledger, Texts
from medassay.language.ledger_maker import MOST_STATEMENTS, LedgerMaker, unjudgeable
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


@pytest.mark.parametrize(("start", "end"), [(2, 11), (0, 10), (0, 13)])
def test_the_deciding_characters_are_whole_words(start: int, end: int) -> None:
    class Pieces(WordChecker):
        def _check(self, text: str, statement: str) -> Check:
            return Check((0.0, 0.0, 1.0), start, min(end, len(text)), "certainty", 0.5)

    (ledger,) = LedgerMaker(Pieces()).ledgers([Texts("She has gout.", reference="Probable gout. She has pain.")])
    assert ledger.quote(ledger.select(CANDIDATE, REFERENCE)[0]) == "Probable gout"


class SwappedChecker(WordChecker):
    """Takes a sentence for supported whose words are there in another order, and sees through its parts."""

    def _check(self, text: str, statement: str) -> Check:
        if " and " in statement:
            return Check((0.97, 0.02, 0.01), 0, 1, "other", 0.1)
        return Check((0.01, 0.01, 0.98), 0, 1, "site", 0.5)


def test_a_clearly_contradicted_part_is_not_saved_by_its_sentence() -> None:
    texts = Texts("She has left pain and right rash.", reference="She has right pain and left rash.")
    checker = SwappedChecker()
    (ledger,) = LedgerMaker(checker).ledgers([texts])
    assert ledger.counts["contradicted"] == 2
    assert not any(" and " in statement for _, statement in checker.asked)


def long_text(words: int) -> str:
    return " ".join(f"On day {i} she has fever{i} and pain{i}." for i in range(words // 8))


@pytest.mark.parametrize("words", [500, 5_000])
def test_checks_grow_with_the_statements_and_no_faster(words: int) -> None:
    checker = WordChecker()
    texts = Texts(long_text(words), reference=long_text(words)[:-200], source="Nothing of this.")
    (ledger,) = LedgerMaker(checker).ledgers([texts])
    counts = ledger.counts
    assert counts["statements"] >= words // 8
    # Each statement, its sentence, and the source for those of the candidate.
    assert len(checker.asked) <= 3 * counts["statements"] + 2 * counts["expected"]


def test_a_text_of_very_many_statements_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_maker, "MOST_STATEMENTS", 5)
    checker = WordChecker()
    (ledger,) = LedgerMaker(checker).ledgers([Texts(long_text(100), reference="She has fever.")])
    assert ledger.cut == (CANDIDATE,) and ledger.to_dict()["cut"] == [CANDIDATE]
    assert len(checker.asked) == 5 + 3 + 1  # statements, the sentences they stand in, and the reference's statement


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (Texts("She has fever."), "no reference and no source; it needs one of them"),
        (Texts("She has fever.", "Sie hat Fieber und keine Schmerzen in der Brust."), "reference is not English"),
        (Texts("She has fever.", "She has fever."), None),
    ],
)
def test_what_cannot_be_judged(texts: Texts, reason: str | None) -> None:
    assert unjudgeable(texts) == reason
