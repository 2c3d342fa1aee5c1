"""Weights in 8 bits, and the files beside the graphs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.hf

from medassay.models.graphs import ModelSet  # noqa: E402
from medassay.models.tables import Tables, initialisers  # noqa: E402
from medassay.training.bert import load_encoder  # noqa: E402
from medassay.training.export import export_trunk, quantise, write_set, write_tokenizer  # noqa: E402


def test_codes_times_scale_are_the_weights_up_to_half_a_step() -> None:
    weights = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    weights[2] = 0.0
    for axis, shape in ((0, (6, 1)), (1, (1, 5))):
        codes, scale = quantise(weights, axis)
        assert codes.dtype == np.int8 and np.abs(codes).max() == 127
        assert (np.abs(codes * scale.reshape(shape) - weights) <= scale.reshape(shape) / 2 + 1e-7).all()


def test_the_trunk_is_stored_in_8_bits_and_computes_the_same(tiny_base: Path, tmp_path: Path) -> None:
    encoder = load_encoder(tiny_base, 2).eval()
    export_trunk(encoder, tmp_path)
    write_set(tmp_path, str(tiny_base), "ner", {}, {"f1": 0.5})
    stored = initialisers(tmp_path / "trunk.onnx")
    assert any(values.dtype == np.int8 for values in stored.values())
    ids = torch.tensor([[2, 5, 7, 9, 3]])
    with torch.no_grad():
        expected = encoder.trunk(ids, torch.ones_like(ids), torch.zeros_like(ids)).numpy()
    (states,) = ModelSet(tmp_path).hidden([(2, 5, 7, 9, 3)])
    np.testing.assert_allclose(states, expected[0], atol=0.1)
    assert Tables(tmp_path / "trunk.onnx").size == encoder.size
    assert json.loads((tmp_path / "training.json").read_text())["held_out"] == {"f1": 0.5}


def test_the_tokenizer_neither_cuts_nor_pads(tmp_path: Path) -> None:
    source = tmp_path / "source.json"
    source.write_text(json.dumps({"truncation": {"max_length": 8}, "padding": {"pad_id": 0}, "model": {}}))
    write_tokenizer(source, tmp_path)
    assert json.loads((tmp_path / "tokenizer.json").read_text()) == {"truncation": None, "padding": None, "model": {}}
