"""A narrower reader gives nearly what the whole one gives, and exactly that where outputs repeat each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytestmark = pytest.mark.hf
torch = pytest.importorskip("torch")
from medassay.models.reader_network import Reader  # noqa: E402
from medassay.training.reader.narrow import narrowed  # noqa: E402
from medassay.training.reader.train import Packed, answers  # noqa: E402

from .tiny import TINY  # noqa: E402


def _batches(packed: Packed) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    return [(b.ids, b.mask, b.statement) for b in (packed.batch(rows) for rows in np.array_split(np.arange(96), 6))]


def _with_copies(seed: int) -> Reader:
    """A reader in which every second output of the inner maps is the one before it."""
    torch.manual_seed(seed)
    reader = Reader(TINY, dropout=0.0).eval()
    with torch.no_grad():
        for layer in reader.encoder.layers:
            layer.inner.weight[1::2] = layer.inner.weight[::2]
            layer.inner.bias[1::2] = layer.inner.bias[::2]
    return reader


def test_outputs_that_repeat_others_are_removed_at_no_cost(packed: Packed) -> None:
    reader = _with_copies(3)
    smaller = narrowed(reader, TINY.inner // 2, _batches(packed))
    assert smaller.shape == replace(TINY, inner=TINY.inner // 2)
    rows = np.arange(100, 120)
    for whole, narrow in zip(answers(reader, packed, rows), answers(smaller, packed, rows)):
        np.testing.assert_allclose(narrow["verdict"], whole["verdict"], atol=5e-3)


def test_fitting_is_closer_than_leaving_outputs_out(packed: Packed) -> None:
    torch.manual_seed(4)
    reader = Reader(TINY, dropout=0.0).eval()
    smaller = narrowed(reader, TINY.inner // 2, _batches(packed))
    cut = narrowed(reader, TINY.inner // 2, _batches(packed))
    with torch.no_grad():
        for layer, whole in zip(cut.encoder.layers, reader.encoder.layers):
            kept = [int((whole.inner.weight == row).all(1).nonzero()) for row in layer.inner.weight]
            layer.outer.weight.copy_(whole.outer.weight[:, kept])
            layer.outer.bias.copy_(whole.outer.bias)
    ids, mask, _ = _batches(packed)[0]
    with torch.no_grad():
        states = [network.encoder(ids, mask)[1][mask.bool()] for network in (reader, smaller, cut)]
    assert (states[1] - states[0]).square().sum() < 0.5 * (states[2] - states[0]).square().sum()


def test_the_given_reader_is_not_changed(packed: Packed) -> None:
    reader = _with_copies(5)
    before = {name: value.clone() for name, value in reader.state_dict().items()}
    narrowed(reader, 8, _batches(packed))
    assert all(torch.equal(value, before[name]) for name, value in reader.state_dict().items())
