"""`facts`: factual precision, recall and F1, counted statement by statement."""

from __future__ import annotations

from medassay.metrics.base import f1
from medassay.metrics.ledger_metric import Counts, LedgerMetric, Tallies
from medassay.scores import Score


def factual_f1(candidate: Counts, reference: Counts) -> float:
    """F1 of the shares of the candidate's and of the reference's statements that are supported."""
    return f1(candidate.rate(candidate.supported), reference.rate(reference.supported))


class Facts(LedgerMetric):
    """Factual F1, 0 to 1, higher is better (Ben Abacha et al. 2023, section 3.3).

    precision: statements of the candidate that the reference or the source supports / statements of the candidate; a
    fact is correct "according to the input conversation and the reference" (section 3.1). recall: statements of the
    reference that the candidate supports / statements of the reference. Without a reference both are against the
    source, of which the clinical statements are expected. The hard counts fill the table of the protocol *fact
    categories*: `reference` (R), `supported` (correct), `contradicted` (incorrect), `not_stated` (hallucinated),
    `missed` (omitted); each stands beside its expectation. `precision_reference` is the precision against the
    reference alone. 0 where the candidate states nothing.
    """

    name = "facts"
    summary = "factual F1: statements of either text that the other supports"
    defined = "Ben Abacha et al. 2023, section 3.3; statements judged by the role checker"
    parts = (
        "precision",
        "recall",
        "precision_reference",
        "statements",
        "supported",
        "contradicted",
        "not_stated",
        "missed",
        "reference",
        "expected_supported",
        "expected_contradicted",
        "expected_not_stated",
        "expected_missed",
        "hard",
        "expected",
    )

    def count(self, tallies: Tallies) -> Score:
        if not tallies.expected:
            return Score.none(f"no clinical statement found in the {tallies.against}")
        candidate, reference = self.chosen(tallies.grounded), self.chosen(tallies.expected)
        alone = self.chosen(tallies.candidate)
        hard, sums = tallies.grounded.hard(), tallies.grounded.expected()
        parts = {
            "precision": candidate.rate(candidate.supported),
            "recall": reference.rate(reference.supported),
            "precision_reference": alone.rate(alone.supported),
            "statements": hard.statements,
            "supported": hard.supported,
            "contradicted": hard.contradicted,
            "not_stated": hard.not_stated,
            "missed": tallies.expected.hard().not_stated,
            "reference": reference.statements,
            "expected_supported": sums.supported,
            "expected_contradicted": sums.contradicted,
            "expected_not_stated": sums.not_stated,
            "expected_missed": tallies.expected.expected().not_stated,
            "hard": factual_f1(hard, tallies.expected.hard()),
            "expected": factual_f1(sums, tallies.expected.expected()),
        }
        return Score(factual_f1(candidate, reference), parts={name: float(part) for name, part in parts.items()})
