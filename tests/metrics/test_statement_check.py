"""The ledger of a case as a score: problems of either text, counted by hand."""

from __future__ import annotations

from medassay.cases import Case, make_cases
from medassay.metrics.statement_check import StatementCheck

from ..language.checker_double import WordChecker


def test_problems_of_either_text_are_counted(checker: WordChecker) -> None:
    # Gout is invented; cough and nausea are missing.
    cases = make_cases(["She has fever. She has gout."], ["She has fever. She has cough. She has nausea."])
    (score,) = StatementCheck().score(cases)
    assert score.value == 3.0
    verdicts = [row["verdict"] for row in score.evidence["statements"] if row["of"] == "candidate"]
    assert verdicts == ["supported", "not_stated"]


def test_a_copy_has_no_problem(checker: WordChecker) -> None:
    text = "She has fever. She has cough."
    (score,) = StatementCheck().score(make_cases([text], [text]))
    assert score.value == 0.0


def test_the_reference_with_the_fewest_problems_counts(checker: WordChecker) -> None:
    case = Case("1", "She has fever.", ("She has gout. She has cough.", "She has fever."))
    (score,) = StatementCheck().score([case])
    assert score.value == 0.0 and score.evidence["reference"] == 1
