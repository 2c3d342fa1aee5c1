"""`risk`: how a reader of drafts would sort a candidate, from fit as it is to dangerous."""

from __future__ import annotations

import math
from collections.abc import Sequence

from medassay.language.ledger import CANDIDATE, REFERENCE, Verdict
from medassay.metrics.ledger_metric import LedgerMetric, Tallies, is_critical
from medassay.scores import Score

UNRELATED = 3
"""A candidate of at least this many statements, none of them supported, is a text on another case."""


class Risk(LedgerMetric):
    """Level 1 to 4, lower is better: 1 fit as it is, 2 minor errors, 3 must be corrected, 4 dangerous.

    Judged are the candidate's statements against reference and source, and the reference's against the candidate;
    without a reference, the candidate's alone. 4: a statement of the candidate is contradicted, and critically so, or
    the candidate is on another case (three or more statements, none supported). 3: another critical error (something
    critical is invented or missing). 2: only minor ones. 1: none. `critical` and `minor` are how many there are, each
    beside its expectation. `expected` is 1 + P(≥ 2) + P(≥ 3) + P(≥ 4), each probability that of the statement with the
    greatest, or of a text on another case.
    """

    name = "risk"
    summary = "1 fit as it is, 2 minor errors, 3 must be corrected, 4 dangerous"
    defined = "docs/metrics/risk.md"
    higher_is_better = False
    bounds = (1.0, 4.0)
    parts = ("critical", "minor", "expected_critical", "expected_minor", "hard", "expected")

    def count(self, tallies: Tallies) -> Score:
        verdicts = _judged(tallies)
        if not verdicts:
            return Score.none("no statement found in the candidate")
        wrong = [verdict for verdict in verdicts if verdict.check.verdict != "supported"]
        critical = sum(map(is_critical, wrong))
        doubts = [1.0 - verdict.check.probabilities[0] for verdict in verdicts]
        expected_critical = sum(doubt * verdict.check.critical for doubt, verdict in zip(doubts, verdicts))
        hard, expected = level(verdicts), expected_level(verdicts)
        parts = {
            "critical": float(critical),
            "minor": float(len(wrong) - critical),
            "expected_critical": expected_critical,
            "expected_minor": sum(doubts) - expected_critical,
            "hard": float(hard),
            "expected": expected,
        }
        return Score(float(hard) if self.counts == "hard" else expected, parts=parts)

    def quoted(self, tallies: Tallies) -> list[Verdict]:
        return [verdict for verdict in _judged(tallies) if verdict.check.verdict != "supported"]


def _judged(tallies: Tallies) -> list[Verdict]:
    reference = tallies.expected.verdicts if tallies.against == REFERENCE else ()
    return [*tallies.grounded.verdicts, *reference]


def level(verdicts: Sequence[Verdict]) -> int:
    """The level of a text with these verdicts."""
    wrong = [verdict for verdict in verdicts if verdict.check.verdict != "supported"]
    critical = [verdict for verdict in wrong if is_critical(verdict)]
    own = [verdict for verdict in verdicts if verdict.of == CANDIDATE]
    if any(verdict.of == CANDIDATE and verdict.check.verdict == "contradicted" for verdict in critical):
        return 4
    if len(own) >= UNRELATED and all(verdict.check.verdict != "supported" for verdict in own):
        return 4
    return 3 if critical else 2 if wrong else 1


def expected_level(verdicts: Sequence[Verdict]) -> float:
    """1 plus the probabilities that the level is at least 2, 3 and 4."""
    checks = [(verdict.of == CANDIDATE, verdict.check) for verdict in verdicts]
    doubts = [1.0 - check.probabilities[0] for own, check in checks if own]
    unrelated = math.prod(doubts) if len(doubts) >= UNRELATED else 0.0
    two = max(1.0 - check.probabilities[0] for _, check in checks)
    three = max((1.0 - check.probabilities[0]) * check.critical for _, check in checks)
    four = max(own * check.probabilities[2] * check.critical for own, check in checks)
    return 1.0 + two + max(three, unrelated) + max(four, unrelated)
