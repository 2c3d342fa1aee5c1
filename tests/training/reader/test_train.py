"""Training of the reader on tiny data: a planted rule is learnt, and a seed fixes the weights."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.hf
torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
from medassay.models.reader_network import Reader as Network  # noqa: E402
from medassay.training.reader.figures import figures  # noqa: E402
from medassay.training.reader.train import Packed, Recipe, answers, train  # noqa: E402

from .tiny import TINY  # noqa: E402


def test_a_planted_rule_is_learnt(packed: Packed) -> None:
    torch.manual_seed(0)
    network = Network(TINY, dropout=0.0)
    train(network, packed, Recipe(rate=3e-3, tokens=1500, rows=32))
    rows = np.flatnonzero(packed.columns["held_out"])
    for given in answers(network, packed, rows):  # the early heads and the last ones
        table = figures(packed.columns, rows, given)["planted"]
        assert table["accuracy"] > 0.9
        assert table["place"] > 0.9


def test_early_layers_and_heads_can_be_kept(packed: Packed) -> None:
    torch.manual_seed(0)
    network = Network(TINY)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    train(network, packed, Recipe(passes=0.1, tokens=1500, late_only=True))
    after = network.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all(name.startswith(("encoder.layers.1.", "heads.")) for name in changed)


def test_the_same_seed_gives_the_same_weights(packed: Packed) -> None:
    networks = []
    for _ in range(2):
        torch.manual_seed(0)
        network = Network(TINY)
        train(network, packed, Recipe(passes=0.3, tokens=1500))
        networks.append(network.state_dict())
    assert all(torch.equal(networks[0][name], networks[1][name]) for name in networks[0])
