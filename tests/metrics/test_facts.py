"""Factual precision, recall and F1 by hand."""

from __future__ import annotations

import pytest

from medassay.cases import Case, make_cases
from medassay.metrics.facts import Facts
from medassay.scores import Score

from ..language.checker_double import WordChecker

CANDIDATE = "She has fever. She has cough. She has asthma. She has gout."
REFERENCE = "She has fever. She has cough. She has nausea. She has not asthma."


def score(metric: Facts, candidate: str, reference: str | None, source: str | None = None) -> Score:
    case = Case("1", candidate, () if reference is None else (reference,), source=source)
    return metric.score([case])[0]


@pytest.mark.parametrize("counts", ["hard", "expected"])
def test_counts_by_hand(checker: WordChecker, counts: str) -> None:
    # Candidate: fever, cough supported; asthma contradicted; gout not stated. Reference: fever, cough found; asthma
    # contradicted; nausea missing. P = 2/4, R = 2/4, F1 = 0.5.
    result = score(Facts(counts=counts), CANDIDATE, REFERENCE)  # type: ignore[arg-type]
    assert result.value == pytest.approx(0.5)
    assert result.parts["precision"] == 0.5 and result.parts["recall"] == 0.5
    assert [result.parts[name] for name in ("supported", "contradicted", "not_stated", "missed", "reference")] == [
        2,
        1,
        1,
        1,
        4,
    ]
    assert result.parts["hard"] == pytest.approx(0.5) and result.parts["expected"] == pytest.approx(0.5)


def test_every_statement_that_is_wrong_or_missing_is_quoted(checker: WordChecker) -> None:
    quoted = score(Facts(), CANDIDATE, REFERENCE).evidence["sentences"]
    assert [(item["side"], item["text"], item["verdict"]) for item in quoted] == [
        ("candidate", "She has asthma", "contradicted"),
        ("candidate", "She has gout", "not_stated"),
        ("reference", "She has nausea", "not_stated"),
        ("reference", "She has not asthma", "contradicted"),
    ]
    first = quoted[0]
    assert CANDIDATE[first["start"] : first["end"]].startswith("She has asthma")
    assert REFERENCE[slice(*first["by"])] == "asthma"
    assert first["note"] == "contradicted by the reference (negation, critical): “asthma”"
    assert (first["kind"], first["severity"], first["against"]) == ("negation", "critical", "reference")


def test_the_source_counts_beside_the_reference(checker: WordChecker) -> None:
    result = score(Facts(), CANDIDATE, REFERENCE, "Patient has gout.")
    assert result.parts["precision"] == 0.75 and result.parts["precision_reference"] == 0.5
    assert (result.parts["supported"], result.parts["not_stated"]) == (3, 0)


def test_without_a_reference_the_source_is_the_measure(checker: WordChecker) -> None:
    result = score(Facts(), "She has fever.", None, "She has fever. She likes tea. She has diabetes.")
    assert result.parts["reference"] == 2 and result.parts["recall"] == 0.5


def test_a_repeated_statement_counts_once(checker: WordChecker) -> None:
    result = score(Facts(), "She has fever. She has gout. She  has gout.", REFERENCE)
    assert result.parts["statements"] == 2


@pytest.mark.parametrize(
    "candidate", ["Gross: [describe specimen]\nDiagnosis: [insert diagnosis]", "Gross:\nMicroscopy:\nDiagnosis:\n"]
)
def test_a_template_states_nothing_and_has_zero(checker: WordChecker, candidate: str) -> None:
    result = score(Facts(), candidate, REFERENCE)
    assert result.value == 0.0 and result.parts["recall"] == 0.0 and result.parts["missed"] == 4
    assert result.evidence["sentences"][0]["note"] == "candidate is only a template: it states nothing"


def test_several_references(checker: WordChecker) -> None:
    cases = make_cases(["She has fever."], [["She has gout.", "She has fever."]])
    best, mean = (Facts(references=how).score(cases)[0] for how in ("best", "mean"))  # type: ignore[arg-type]
    assert best.value == 1.0 and mean.value == 0.5
