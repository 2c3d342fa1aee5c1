"""Limits, ratios and F-scores that the protocols are made of."""

from __future__ import annotations

import pytest

from medassay.errors import UnknownName
from medassay.human.protocols import load_protocol
from medassay.human.protocols.base import Limit, f_score, part_of, ratio


def test_a_limit_that_hangs_on_an_open_answer_cannot_be_told():
    limit = part_of("RG", "G")
    assert limit.excess({"RG": 5, "G": 3}) == 2
    assert limit.excess({"RG": None, "G": 3}) == -3, "no answer counts as 0 where it adds"
    assert limit.excess({"RG": 5}) is None
    assert Limit({"a": 2, "b": 1}, "", at_most=4).excess({"a": 1, "b": 3}) == 1


def test_ratio_and_f_score_are_undefined_without_a_divisor():
    assert ratio(1, 0) is None and ratio(None, 4) is None and ratio(0, 4) == 0
    assert f_score(0.5, 1) == pytest.approx(2 / 3) and f_score(0, 0) == 0 and f_score(None, 1) is None


def test_questions_marks_and_broken_limits_by_name():
    facts = load_protocol("fact-counting")
    assert facts.question("R").per == "case" and facts.question("none") is None
    assert facts.mark("fact").flags == ("in_reference", "correct") and facts.mark("none") is None
    assert [limit.terms for limit in facts.broken({"R": 9, "G": 2, "RG": 3, "C": 1})] == [{"RG": 1, "G": -1}]
    with pytest.raises(UnknownName, match="fact-counting"):
        load_protocol("fact-countin")
