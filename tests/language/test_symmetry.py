"""Contradictions weighed against their counterparts, by hand."""

from __future__ import annotations

import pytest

from medassay.language.ledger import CANDIDATE, REFERENCE, Verdict
from medassay.language.statements import Statement
from medassay.language.symmetry import both_ways
from medassay.spans import Check


def verdict(of: str, chances: tuple[float, float, float], by: tuple[int, int], span: tuple[int, int]) -> Verdict:
    against = REFERENCE if of == CANDIDATE else CANDIDATE
    return Verdict(of, Statement("words", *span, ""), against, Check(chances, *by, "value", 0.9))


def test_a_contradiction_that_holds_both_ways_stays() -> None:
    ours = verdict(CANDIDATE, (0.0, 0.1, 0.9), (5, 9), (0, 10))
    theirs = verdict(REFERENCE, (0.0, 0.05, 0.95), (2, 6), (0, 12))
    assert both_ways([ours, theirs])[0] is ours
    # The other one is a little surer, and weighed against ours: the square root of .95 times .9.
    assert both_ways([ours, theirs])[1].check.probabilities[2] == pytest.approx(0.92466, abs=1e-4)


def test_a_contradiction_that_the_counterpart_denies_goes_to_what_that_says() -> None:
    ours = verdict(CANDIDATE, (0.05, 0.05, 0.9), (5, 9), (0, 10))
    theirs = verdict(REFERENCE, (0.9, 0.06, 0.04), (2, 6), (0, 12))
    weighed, kept = both_ways([ours, theirs])
    # √(.9 · .04) = .19; the .71 that is freed goes to supported and not stated as .9 to .06.
    assert weighed.check.probabilities == pytest.approx((0.05 + 0.71 * 0.9375, 0.05 + 0.71 * 0.0625, 0.19), abs=1e-3)
    assert weighed.verdict == "supported"
    assert kept is theirs


def test_without_a_counterpart_at_the_deciding_words_nothing_changes() -> None:
    ours = verdict(CANDIDATE, (0.05, 0.05, 0.9), (30, 40), (0, 10))
    theirs = verdict(REFERENCE, (0.9, 0.06, 0.04), (2, 6), (0, 12))
    assert both_ways([ours, theirs]) == [ours, theirs]
