"""Greedy matching, by hand and against a plain double loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.cases import Case
from medassay.metrics import matching
from medassay.metrics.matching import Encoded, by_reference, match, unit


def encoded(states: np.ndarray, weights: np.ndarray | None = None) -> Encoded:
    weights = np.ones(len(states)) if weights is None else weights
    return Encoded(unit(states.astype(np.float32)), weights, float(weights.sum()), [(0, 1)] * len(states), 1, 0)


def test_by_hand() -> None:
    # Candidate tokens lie along x and y, the reference's along x alone: precision (1 + 0) / 2, recall 1.
    candidate = encoded(np.array([[2.0, 0.0], [0.0, 3.0]]))
    reference = encoded(np.array([[1.0, 0.0]]))
    [found] = match([candidate], reference)
    assert (found.precision, found.recall) == (0.5, 1.0)
    assert found.f1 == pytest.approx(2 / 3)


def test_weights_count_and_zero_weights_only_serve_as_matches() -> None:
    candidate = encoded(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([3.0, 1.0]))
    reference = encoded(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, 0.0]))
    [found] = match([candidate], reference)
    assert (found.precision, found.recall) == (1.0, 1.0)
    lonely = encoded(np.array([[1.0, 0.0]]))
    [found] = match([candidate], lonely)
    assert found.precision == 0.75


def test_no_f1_where_a_side_is_not_positive() -> None:
    [found] = match([encoded(np.array([[1.0, 0.0]]))], encoded(np.array([[-1.0, 0.0]])))
    assert found.precision == -1.0 and found.f1 is None


@given(
    st.integers(0, 10_000), st.lists(st.integers(1, 7), min_size=1, max_size=5), st.integers(1, 9), st.integers(1, 40)
)
def test_grouped_and_sliced_products_are_the_plain_ones(seed: int, lengths: list[int], width: int, cells: int) -> None:
    rng = np.random.default_rng(seed)
    candidates = [encoded(rng.normal(size=(n, 4))) for n in lengths]
    reference = encoded(rng.normal(size=(width, 4)))
    old, matching.CELLS = matching.CELLS, cells
    try:
        found = match(candidates, reference)
    finally:
        matching.CELLS = old
    for one, candidate in zip(found, candidates):
        similar = candidate.states @ reference.states.T
        assert one.precision == pytest.approx(similar.max(axis=1).mean(), abs=1e-6)
        assert one.recall == pytest.approx(similar.max(axis=0).mean(), abs=1e-6)


def test_blocks_hold_every_case_once_and_few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [Case(str(i), "c" * 30, ("r" * (i % 3 + 1),)) for i in range(10)]
    monkeypatch.setattr(matching, "CHARACTERS", 100)
    blocks = list(by_reference(cases))
    assert sorted(i for block in blocks for members in block.values() for i in members) == list(range(10))
    assert all(sum(30 * len(members) + len(r) for r, members in block.items()) <= 100 for block in blocks)
    assert all(cases[i].references[0] == r for block in blocks for r, members in block.items() for i in members)
