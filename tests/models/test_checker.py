"""How the judgements of two excerpts become one, and which words decide, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from medassay.errors import ModelError
from medassay.models import load
from medassay.models.checker import deciding_words, joined_check
from medassay.models.tokens import Tokens
from medassay.spans import Check


def check(supported: float, not_stated: float, contradicted: float, start: int = 0) -> Check:
    return Check((supported, not_stated, contradicted), start, start + 1, "other", 0.5)


def test_one_supporting_excerpt_is_enough() -> None:
    assert joined_check(check(0.1, 0.1, 0.8), check(0.9, 0.05, 0.05, 7)) == check(0.9, 0.05, 0.05, 7)


def test_a_contradiction_counts_where_nothing_supports() -> None:
    both = joined_check(check(0.1, 0.8, 0.1), check(0.1, 0.2, 0.7, 7))
    assert both.probabilities == pytest.approx((0.1, 0.2, 0.7))
    assert both.verdict == "contradicted"
    assert both.start == 7


def test_probabilities_sum_to_one_whatever_two_excerpts_say() -> None:
    both = joined_check(check(0.45, 0.5, 0.05), check(0.05, 0.05, 0.9))
    assert both.probabilities == pytest.approx((0.45, 0.0, 0.55))


def test_the_deciding_words_are_the_likeliest_token_and_its_likely_neighbours() -> None:
    tokens = Tokens([1, 2, 3, 4], [(0, 2), (3, 7), (8, 12), (13, 15)], ["no", "free", "fluid", "is"])
    assert deciding_words(tokens, np.array([-4.0, 2.0, 1.0, -4.0], np.float32)) == (3, 12)
    assert deciding_words(tokens, np.zeros(0, np.float32)) == (0, 0)


def test_a_set_without_a_checker_says_so() -> None:
    with pytest.raises(ModelError, match="no model for the role 'checker'"):
        load("checker")
