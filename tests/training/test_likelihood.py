"""The likelihood recipe on a tiny random BERT: it learns to copy and to doubt, and what it writes can be run."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytestmark = [pytest.mark.hf, pytest.mark.usefixtures("one_thread")]

from medassay.training import likelihood_tasks as tasks  # noqa: E402
from medassay.training.likelihood import loss_of  # noqa: E402
from medassay.training.seq2seq import LikelihoodModel  # noqa: E402


def test_unlearning_lowers_the_wrong_piece_and_ranks_the_better_one(tiny_likelihood: LikelihoodModel) -> None:
    net = tiny_likelihood
    sound, wrong = tasks.Pair([5, 6, 7], [5, 6, 7]), tasks.Pair([5, 6, 7], [5, 9, 7], 0.0, (1,))
    batch = tasks.packed([tasks.Group((sound, wrong), ((0, 1, True),))], tasks.Marks(2, 3, 4))
    device = torch.device("cpu")
    weights = [w for w in net.parameters() if w.requires_grad]
    optimiser = torch.optim.Adam(weights, lr=3e-3)
    first = None
    for _ in range(60):
        loss = loss_of(net, batch, device, 0.5, 0.25)
        first = float(loss.detach()) if first is None else first
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert float(loss.detach()) < 0.3 * first
