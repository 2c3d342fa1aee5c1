"""The weights of the NLI combination: the regression against a trusted one."""

from __future__ import annotations

import numpy as np
import pytest

from medassay.training.combination import figures, fit_weights, held_out


@pytest.fixture
def sample() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(3)
    rows = np.concatenate([draw.normal(size=(300, 4)), np.ones((300, 1))], axis=1)
    logits = rows @ draw.normal(size=(5, 3))
    labels = (logits + draw.gumbel(size=logits.shape)).argmax(1)
    return rows, labels


def test_the_gradient_vanishes_at_the_weights(sample: tuple[np.ndarray, np.ndarray]) -> None:
    rows, labels = sample
    weights = fit_weights(rows, labels, penalty=0.5)
    logits = rows @ weights.T
    chances = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    gradient = (chances - np.eye(3)[labels]).T @ rows
    gradient[:, :-1] += 2 * 0.5 * weights[:, :-1]
    np.testing.assert_allclose(gradient, 0.0, atol=1e-4)


def test_held_out_pairs_of_a_premise_share_a_fold(sample: tuple[np.ndarray, np.ndarray]) -> None:
    rows, labels = sample
    made = held_out(rows, labels, [f"premise {i // 3}" for i in range(300)], range(5))
    np.testing.assert_allclose(made.sum(1), 1.0)
    assert figures(made, labels)["accuracy"] > 0.5


def test_figures_by_hand() -> None:
    # Ten others below 0.5, two of three contradictions above them all.
    chances = np.array([[0.9 - s, 0.1, s] for s in [*np.linspace(0, 0.4, 10), 0.8, 0.7, 0.1]])
    labels = np.array([0] * 10 + [2] * 3)
    assert figures(chances, labels)["contradiction_recall"] == pytest.approx(2 / 3)
