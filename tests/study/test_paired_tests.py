"""Paired tests over cluster sums, by hand and against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.study.paired_tests import (
    cliffs_delta,
    corpus_bootstrap,
    corpus_randomisation_p,
    holm,
    mean_bootstrap,
    randomisation_p,
)
from medassay.study.studentised import quotient


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_is_monotone_and_never_below_p(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(p <= c <= 1 for p, c in zip(p_values, corrected))
    ordered = [c for _, c in sorted(zip(p_values, corrected))]
    assert ordered == sorted(ordered)


def test_holm_by_hand() -> None:
    # 0.01 × 4, then 0.02 × 3, then 0.03 × 2 = 0.06 (not below 0.06), then 0.5 × 1.
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_cliffs_delta_counts_pairs(a: list[int], b: list[int]) -> None:
    brute = sum((x > y) - (x < y) for x in a for y in b) / (len(a) * len(b))
    assert cliffs_delta(np.array(a, float), np.array(b, float)) == pytest.approx(brute)


def test_all_patterns_of_signs_are_counted_where_clusters_are_few() -> None:
    # Sums 1, 2, 3: of eight patterns +++ and −−− reach 6. The cluster of 0 needs no pattern.
    ((p, exact),) = randomisation_p(np.array([[1.0], [2.0], [0.0], [3.0]]), 10_000, 1)
    assert exact and p == pytest.approx(2 / 8)


def test_the_corpus_test_of_a_mean_is_the_test_of_its_sums() -> None:
    first = np.array([[2.0, 1.0], [4.0, 1.0], [6.0, 1.0]])
    second = np.array([[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
    assert corpus_randomisation_p(first, second, quotient, 10_000, 1) == (pytest.approx(2 / 8), True)
    assert corpus_randomisation_p(first, first, quotient, 10_000, 1) == (1.0, True)
    assert corpus_bootstrap(first, second, quotient, 200, 1).value == pytest.approx(2.0)


def test_the_mean_difference_is_over_the_counted_items() -> None:
    drawn = mean_bootstrap(np.array([[3.0], [0.0], [1.0]]), np.array([[2.0], [0.0], [2.0]]), 100, 1)
    assert drawn[0].value == pytest.approx(1.0)
