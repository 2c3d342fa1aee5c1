"""How the judgements of two excerpts become one, and which words decide, by hand."""

from __future__ import annotations

import numpy as np
import pytest

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


REPORT = (
    "Left breast, core biopsy: invasive ductal carcinoma, grade 2, measuring 14 mm. No lymphovascular invasion is "
    "seen. Oestrogen receptor positive in 95% of cells, HER2 negative."
)


@pytest.mark.parametrize(
    ("statement", "verdict"),
    [
        ("The tumour is an invasive ductal carcinoma.", "supported"),
        ("The tumor cells express ER.", "supported"),
        ("The tumour measures 41 mm.", "contradicted"),
        ("Lymphovascular invasion is present.", "contradicted"),
        ("The biopsy is of the right breast.", "contradicted"),
        ("The patient's mother had ovarian cancer.", "not_stated"),
    ],
)
def test_the_embedded_checker_reads(statement: str, verdict: str) -> None:
    assert load("checker").check([(REPORT, statement)])[0].verdict == verdict


def test_answers_do_not_depend_on_what_else_is_asked() -> None:
    pairs = [(REPORT, "HER2 is positive."), ("Chest clear.", "No crackles."), (REPORT, "The tumour is grade 2.")]
    for spec in ("embedded", "fast"):
        checker = load("checker", spec)
        together = checker.probabilities(pairs)
        assert np.allclose(together.sum(1), 1.0, atol=1e-5)
        assert np.array_equal(together, np.concatenate([checker.probabilities([pair]) for pair in pairs]))


def test_the_fast_checker_has_a_name_of_its_own() -> None:
    assert load("checker", "fast").name == load("checker").name + "-fast"
    assert load("encoder", "fast") is load("encoder")


def test_a_long_text_is_read_where_the_statement_points() -> None:
    filler = "The patient was reviewed on the ward and the plan was unchanged. " * 400
    text = filler + REPORT + " " + filler
    check = load("checker").check([(text, "The tumour measures 14 mm.")])[0]
    assert check.verdict == "supported"
    assert "14 mm" in text[check.start - 40 : check.end + 40]
