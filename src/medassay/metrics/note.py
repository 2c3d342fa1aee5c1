"""`note`: one number for a generated clinical note."""

from __future__ import annotations

from medassay.metrics.facts import factual_f1
from medassay.metrics.ledger_metric import Counts, LedgerMetric, Tallies
from medassay.scores import Score


def aggregate(facts: float, hallucination: float, omission: float) -> float:
    """¼ (2 F1 + (1 − hallucination) + (1 − omission)).

    >>> aggregate(1.0, 0.0, 0.0), aggregate(0.5, 0.5, 0.5)
    (1.0, 0.5)
    """
    return (2 * facts + (1 - hallucination) + (1 - omission)) / 4


class Note(LedgerMetric):
    """One number for a note, 0 to 1, higher is better: ¼ (2 F1 + (1 − hallucination) + (1 − omission)).

    The weights are those of the aggregate of Ben Abacha et al. 2023 (section 6). F1, hallucination and omission are
    `facts`, `hallucination` and `omission` of the same case. 0 where the candidate states nothing: there is no
    hallucination rate then, and nothing of the note is right.
    """

    name = "note"
    summary = "one number for a clinical note: factual F1, hallucination and omission"
    defined = "the weights of the aggregate in Ben Abacha et al. 2023, section 6"
    parts = ("facts", "hallucination", "omission", "hard", "expected")

    def count(self, tallies: Tallies) -> Score:
        if not tallies.expected:
            return Score.none(f"no clinical statement found in the {tallies.against}")
        if not tallies.candidate:
            return Score(0.0, parts={"facts": 0.0, "omission": 1.0, "hard": 0.0, "expected": 0.0})
        rates = _rates(self.chosen(tallies.grounded), self.chosen(tallies.expected))
        hard = _rates(tallies.grounded.hard(), tallies.expected.hard())
        sums = _rates(tallies.grounded.expected(), tallies.expected.expected())
        parts = {**dict(zip(self.parts, rates)), "hard": aggregate(*hard), "expected": aggregate(*sums)}
        return Score(aggregate(*rates), parts=parts)


def _rates(candidate: Counts, reference: Counts) -> tuple[float, float, float]:
    """Factual F1, hallucination and omission."""
    facts = factual_f1(candidate, reference)
    return facts, candidate.rate(candidate.not_stated), reference.rate(reference.not_stated)
