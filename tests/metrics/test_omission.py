"""Rates of what is left out, by hand."""

from __future__ import annotations

from medassay.cases import Case, make_cases
from medassay.metrics.omission import Omission

from ..language.checker_double import WordChecker

REFERENCE = "She has fever. She has cough. She has nausea. She has asthma."


def test_missing_and_contradicted_are_told_apart(checker: WordChecker) -> None:
    (score,) = Omission().score(make_cases(["She has fever. She has not asthma."], [REFERENCE]))
    assert score.value == 0.5
    assert score.parts["contradicted"] == 0.25
    assert [item["note"] for item in score.evidence["sentences"]] == [
        "missing from the candidate (finding, critical)",
        "missing from the candidate (finding, critical)",
        "contradicted by the candidate (negation, critical): “asthma”",
    ]


def test_of_a_source_alone_small_talk_is_not_expected(checker: WordChecker) -> None:
    dialogue = "Doctor: Good morning. Patient: I love this weather. I have diabetes and a cough. Doctor: Thank you."
    (score,) = Omission().score([Case("1", "She has a cough.", (), source=dialogue)])
    assert score.parts["statements"] == 1.0
    assert all("weather" not in item["text"] for item in score.evidence.get("sentences", ()))


def test_nothing_clinical_in_the_source_is_unscored(checker: WordChecker) -> None:
    (score,) = Omission().score([Case("1", "She has a cough.", (), source="The weather was lovely that day.")])
    assert score.unscored == "no clinical statement found in the source"
