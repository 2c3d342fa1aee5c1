"""Levels of risk, by hand."""

from __future__ import annotations

import pytest

from medassay.cases import Case, make_cases
from medassay.language.ledger import CANDIDATE, REFERENCE, Verdict
from medassay.language.statements import Statement
from medassay.metrics.registry import load_metric
from medassay.metrics.risk import expected_level, level
from medassay.spans import Check

from ..language.checker_double import WordChecker


def verdict(of: str, name: str, critical: float) -> Verdict:
    sure = {"supported": (1.0, 0.0, 0.0), "not_stated": (0.0, 1.0, 0.0), "contradicted": (0.0, 0.0, 1.0)}[name]
    return Verdict(of, Statement("x", 0, 1, ""), REFERENCE, Check(sure, 0, 1, "other", critical))


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], 1),
        ([verdict(CANDIDATE, "contradicted", 0.1)], 2),
        ([verdict(REFERENCE, "not_stated", 0.9)], 3),
        ([verdict(REFERENCE, "contradicted", 0.9)], 3),
        ([verdict(CANDIDATE, "not_stated", 0.1), verdict(CANDIDATE, "contradicted", 0.9)], 4),
        ([verdict(CANDIDATE, "not_stated", 0.1)] * 2, 2),
        ([verdict(CANDIDATE, "not_stated", 0.1)] * 3, 4),
        ([verdict(CANDIDATE, "not_stated", 0.1)] * 3 + [verdict(CANDIDATE, "supported", 0.1)], 2),
    ],
)
def test_levels(verdicts: list[Verdict], expected: int) -> None:
    assert level(verdicts) == expected


def test_expected_levels() -> None:
    assert expected_level([verdict(CANDIDATE, "supported", 0.9)]) == 1.0
    assert expected_level([verdict(CANDIDATE, "contradicted", 0.9)]) == pytest.approx(3.8)
    assert expected_level([verdict(REFERENCE, "not_stated", 0.9)]) == pytest.approx(2.9)
    assert expected_level([verdict(CANDIDATE, "not_stated", 0.1)] * 2) == pytest.approx(2.1)
    assert expected_level([verdict(CANDIDATE, "not_stated", 0.1)] * 3) == pytest.approx(4.0)


def test_counts_of_errors(checker: WordChecker) -> None:
    cases = make_cases(["She has fever.", "She has asthma."], ["She has fever.", "She has not asthma."])
    fit, wrong = load_metric("risk(counts=hard)").score(cases)
    assert fit.value == 1.0 and (fit.parts["critical"], fit.parts["minor"]) == (0.0, 0.0)
    assert wrong.value == 4.0 and wrong.parts["critical"] == 2.0  # the statement of either side


def test_without_a_reference_the_candidate_alone_is_judged(checker: WordChecker) -> None:
    case = Case("1", "She has fever.", (), source="She has fever. She has diabetes.")
    assert load_metric("risk(counts=hard)").score([case])[0].value == 1.0
