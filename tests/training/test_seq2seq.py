"""The encoder–decoder on a tiny random BERT."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytestmark = [pytest.mark.hf, pytest.mark.usefixtures("one_thread")]
from medassay.training.seq2seq import LikelihoodModel  # noqa: E402


def test_probabilities_over_all_pieces_sum_to_one(tiny_likelihood: LikelihoodModel) -> None:
    net = tiny_likelihood
    source = torch.tensor([[2, 5, 7, 9, 7]])
    mask, given = torch.ones_like(source), torch.tensor([[2, 5, 7]])
    with torch.no_grad():
        memory = net.read(source, mask)
        every = [net.writer(memory, mask, source, given, torch.full_like(given, piece)).exp() for piece in range(60)]
    np.testing.assert_allclose(torch.stack(every).sum(0).numpy(), 1.0, atol=1e-4)


def test_a_piece_knows_nothing_of_what_comes_after_it(tiny_likelihood: LikelihoodModel) -> None:
    net = tiny_likelihood
    windows, places = torch.tensor([[2, 5, 7, 9, 3]]), torch.tensor([[0, 1, 2, 3]])
    one, other = torch.tensor([[5, 7, 9, 6]]), torch.tensor([[5, 7, 12, 13]])
    start = torch.tensor([[2]])
    with torch.no_grad():
        first, second = (
            net(windows, torch.ones_like(windows), places, torch.cat([start, t[:, :-1]], 1), t) for t in (one, other)
        )
    assert torch.allclose(first[:, :2], second[:, :2], atol=1e-6)
