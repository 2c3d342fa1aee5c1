"""Raw outputs to probabilities and unit vectors, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from medassay.models.activations import sigmoid, softmax, unit_rows


def test_softmax_is_a_distribution_over_the_last_axis() -> None:
    # exp(0) : exp(log 3) = 1 : 3; large logits do not overflow.
    assert softmax(np.array([[0.0, np.log(3.0)], [1000.0, 1000.0]])).tolist() == [
        [pytest.approx(0.25), pytest.approx(0.75)],
        [0.5, 0.5],
    ]


def test_sigmoid_of_log_odds() -> None:
    # Odds of 3 : 1.
    assert sigmoid([np.log(3.0), -np.log(3.0)]).tolist() == pytest.approx([0.75, 0.25])


def test_rows_have_length_one_unless_they_are_zero() -> None:
    assert unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [[0.6, 0.8], [0.0, 0.0]]
