"""A ledger's table: what is counted, joined, written and read again."""

from __future__ import annotations

import pytest

from medassay.language.ledger import CANDIDATE, REFERENCE, SOURCE, Ledger, Texts, Verdict, joined
from medassay.language.ledger_maker import LedgerMaker
from medassay.language.statements import Statement
from medassay.spans import Check

from .checker_double import WordChecker


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


FEVER = Texts(
    "She has fever. She has cough. She has asthma.",
    reference="She has fever. She has not asthma. She has nausea.",
    source="There is a cough.",
)


def test_counts_go_by_the_verdict_that_counts() -> None:
    (ledger,) = LedgerMaker(WordChecker()).ledgers([FEVER])
    # Fever: by the reference; cough: by the source; asthma: contradicted by the reference, nowhere in the source.
    assert [verdict.verdict for verdict in ledger.decisive()] == ["supported", "supported", "contradicted"]
    assert ledger.counts == {
        "statements": 3, "supported": 2, "contradicted": 1, "not_stated": 0,
        "expected": 3, "missed": 1, "misstated": 1, "critical": 2,
    }  # fmt: skip
    assert [verdict.statement.text for verdict in ledger.problems()] == ["She has asthma", "She has nausea"]


def test_a_ledger_can_be_written_and_read_again() -> None:
    (ledger,) = LedgerMaker(WordChecker()).ledgers([FEVER])
    again = Ledger.from_dict(ledger.to_dict(), FEVER)
    assert again.to_dict() == ledger.to_dict()
    assert again.counts == ledger.counts
    assert [again.quote(verdict) for verdict in again.problems()] == ["asthma", ""]
