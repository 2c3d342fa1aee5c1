"""`omission`: the share of the reference's statements that a candidate does not state."""

from __future__ import annotations

from medassay.language.ledger import Verdict
from medassay.metrics.ledger_metric import LedgerMetric, Tallies
from medassay.scores import Score


class Omission(LedgerMetric):
    """Rate of omitted statements, 0 to 1, lower is better (Ben Abacha et al. 2023, section 3.3).

    Statements of the reference that the candidate does not state / statements of the reference. One that the candidate
    contradicts is not omitted; `contradicted` is the rate of those, `critical` of the missing or contradicted ones
    whose error is critical. Without a reference the clinical statements of the source are looked for, not its small
    talk. 1 where the candidate states nothing.
    """

    name = "omission"
    summary = "rate of the reference's (else the source's clinical) statements that the candidate lacks, quoted"
    defined = "Ben Abacha et al. 2023, section 3.3; statements judged by the role checker"
    higher_is_better = False
    parts = (
        "contradicted",
        "critical",
        "statements",
        "not_stated",
        "expected_not_stated",
        "hard",
        "expected",
    )

    def count(self, tallies: Tallies) -> Score:
        if not tallies.expected:
            return Score.none(f"no clinical statement found in the {tallies.against}")
        counts, hard, sums = self.chosen(tallies.expected), tallies.expected.hard(), tallies.expected.expected()
        parts = {
            "contradicted": counts.rate(counts.contradicted),
            "critical": counts.rate(counts.critical),
            "statements": float(hard.statements),
            "not_stated": float(hard.not_stated),
            "expected_not_stated": sums.not_stated,
            "hard": hard.rate(hard.not_stated),
            "expected": sums.rate(sums.not_stated),
        }
        return Score(counts.rate(counts.not_stated), parts=parts)

    def quoted(self, tallies: Tallies) -> list[Verdict]:
        return tallies.expected.wrong()
