"""The words of a sentence and what they are."""

from __future__ import annotations

import pytest

from medassay.language.syntax import CARRIED, Chunk, Sentence, is_adjective


def sentence(text: str) -> Sentence:
    return Sentence(text, 0, len(text))


def verbs(text: str) -> list[str]:
    read = sentence(text)
    return [word for word, is_verb in zip(read.words, read.verbs) if is_verb]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She denies fever", ["denies"]),
        ("The mass was excised", ["was"]),
        ("History of smoking", []),
        ("The patient reports pain", ["reports"]),
        ("The reports are old", ["are"]),
    ],
)
def test_finite_verbs(text: str, expected: list[str]) -> None:
    assert verbs(text) == expected


def test_words_keep_their_places_and_brackets_shield_them() -> None:
    text = "Tumour (2.5 cm, grade 2), excised."
    read = sentence(text)
    assert [text[a:b].lower() for a, b in zip(read.starts, read.ends)] == read.words
    assert [word for word, shielded in zip(read.words, read.shielded) if shielded] == [
        "(", "2.5", "cm", ",", "grade", "2", ")",
    ]  # fmt: skip


def test_a_bracket_that_is_never_closed_shields_nothing() -> None:
    assert not any(sentence("Tumour (2 cm, excised").shielded)


def test_what_says_nothing() -> None:
    read = sentence("She is the one with fever")
    assert not read.states(0, 3) and read.states(0, len(read)) and not read.states(2, 2)


def test_negations() -> None:
    read = sentence("No fever, and chills")
    assert read.is_negated(0, 2) and not read.is_negated(1, 5)
    assert read.last_of(0, 5, "negation") == 0 and read.last_of(1, 5, "negation") == -1


def test_a_long_context_is_carried_from_its_negation_on() -> None:
    long = "word " * CARRIED + "without evidence of"
    read = sentence(long)
    assert read.context(0, len(read)) == "without evidence of"
    assert sentence("no evidence of,").context(0, 4) == "no evidence of"


def test_subject_and_object_of_a_clause() -> None:
    read = sentence("The patient denies chest pain.")
    clause = Chunk("clause", 0, len(read))
    assert read.subject(clause) == "The patient"
    assert read.quote(*read.object(clause)) == "chest pain"


def test_persons_and_durations() -> None:
    read = sentence("A 50-year-old woman for two weeks")
    assert read.is_person(0, 5) and not read.is_person(5, 8)
    assert read.is_duration(6) and not read.is_duration(0)


def test_adjectives_by_their_ending() -> None:
    assert is_adjective("vascular") and is_adjective("invasive") and not is_adjective("tumour")
