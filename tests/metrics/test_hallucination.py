"""Rates of what is invented, by hand."""

from __future__ import annotations

import pytest

from medassay.cases import Case, make_cases
from medassay.metrics.hallucination import Hallucination

from ..language.checker_double import WordChecker

REFERENCE = "She has fever. She has cough. She has no rash. She has nausea. She has not asthma."


def test_four_invented_of_ten_is_four_tenths(checker: WordChecker) -> None:
    right = "She has fever. She has cough. She has rash. She has nausea. It is fever. It is cough."
    wrong = "She has gout. She has mumps. She has scurvy. She has lupus."
    (score,) = Hallucination().score(make_cases([f"{right} {wrong}"], [REFERENCE]))
    assert score.value == pytest.approx(0.4)
    assert len(score.evidence["sentences"]) == 4


def test_what_is_contradicted_is_incorrect_not_invented(checker: WordChecker) -> None:
    (score,) = Hallucination().score(make_cases(["She has fever. She has asthma."], [REFERENCE]))
    assert score.value == 0.0
    assert score.parts["incorrect"] == 0.5 and score.parts["unsupported"] == 0.5
    assert score.parts["critical"] == pytest.approx(0.45)  # one of two, critical with 0.9


def test_an_unrelated_text_is_near_one(checker: WordChecker) -> None:
    (score,) = Hallucination().score(make_cases(["He has mumps. He has scurvy."], [REFERENCE]))
    assert score.value == 1.0


def test_what_the_source_says_is_not_invented(checker: WordChecker) -> None:
    case = Case("1", "She has fever. She has gout.", (REFERENCE,), source="There is gout.")
    assert Hallucination().score([case])[0].value == 0.0


def test_a_candidate_that_states_nothing_has_no_rate(checker: WordChecker) -> None:
    template = "Gross: [describe specimen]\nDiagnosis: [insert diagnosis]"
    (score,) = Hallucination().score(make_cases([template], [REFERENCE]))
    assert score.unscored == "candidate is only a template: it states nothing"


def test_the_words_that_are_not_borne_out_are_named(checker: WordChecker) -> None:
    candidate = "She has fever. She has acute gout."
    (score,) = Hallucination().score(make_cases([candidate], ["She has fevers."]))
    quoted = score.evidence["sentences"][-1]
    assert [candidate[start:end] for start, end in quoted["words"]] == ["acute", "gout"]
    assert quoted["note"].endswith("not borne out: “acute gout”")


def test_words_of_the_source_are_borne_out(checker: WordChecker) -> None:
    case = Case("1", "She has fever. She has scurvy, mumps.", (REFERENCE,), source="Mumps was long ago.")
    (score,) = Hallucination().score([case])
    named = {case.candidate[a:b] for quoted in score.evidence["sentences"] for a, b in quoted.get("words", [])}
    assert named == {"scurvy"}
