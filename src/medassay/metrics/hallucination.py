"""`hallucination`: the share of a candidate's statements of which neither source nor reference says anything."""

from __future__ import annotations

from medassay.language.ledger import Verdict
from medassay.metrics.ledger_metric import LedgerMetric, Tallies
from medassay.scores import Score


class Hallucination(LedgerMetric):
    """Rate of invented statements, 0 to 1, lower is better (Ben Abacha et al. 2023, section 3.3).

    Statements of the candidate of which neither source nor reference says anything / statements of the candidate: 4
    invented of 10 is 0.4. `incorrect` is the rate of those that are contradicted, `unsupported` of both together,
    `critical` of those of both whose error is critical. Unscored where the candidate states nothing.
    """

    name = "hallucination"
    summary = "rate of statements of which neither source nor reference says anything, quoted"
    defined = "Ben Abacha et al. 2023, section 3.3; statements judged by the role checker"
    higher_is_better = False
    parts = (
        "incorrect",
        "unsupported",
        "critical",
        "statements",
        "not_stated",
        "contradicted",
        "expected_not_stated",
        "expected_contradicted",
        "hard",
        "expected",
    )

    def count(self, tallies: Tallies) -> Score:
        if not tallies.grounded:
            return Score.none("no statement found in the candidate")
        counts, hard, sums = self.chosen(tallies.grounded), tallies.grounded.hard(), tallies.grounded.expected()
        parts = {
            "incorrect": counts.rate(counts.contradicted),
            "unsupported": counts.rate(counts.not_stated + counts.contradicted),
            "critical": counts.rate(counts.critical),
            "statements": float(hard.statements),
            "not_stated": float(hard.not_stated),
            "contradicted": float(hard.contradicted),
            "expected_not_stated": sums.not_stated,
            "expected_contradicted": sums.contradicted,
            "hard": hard.rate(hard.not_stated),
            "expected": sums.rate(sums.not_stated),
        }
        return Score(counts.rate(counts.not_stated), parts=parts)

    def quoted(self, tallies: Tallies) -> list[Verdict]:
        return tallies.grounded.wrong()
