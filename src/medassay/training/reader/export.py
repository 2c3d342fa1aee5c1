"""The reader as the files of a model set: its layers as an ONNX graph with 8-bit weights, its tables as arrays.

Activations are quantised row by row while the graph runs (one pair per run), so that an answer never depends on
what else was asked.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from medassay.models.reader import OUTPUTS
from medassay.training.export import trace_graph
from medassay.training.reader.model import Reader


class Layers(nn.Module):
    """What the graph computes: from embedded tokens to the heads' answers, for one row without padding."""

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self.reader = reader

    def forward(self, hidden: Tensor, statement: Tensor) -> tuple[Tensor, ...]:
        encoder = self.reader.encoder
        mask = torch.ones_like(statement)
        bias = encoder.bias(hidden.shape[1], mask, torch.float32)
        x = hidden
        for layer in encoder.layers:
            x = layer(x, bias, 0.0)
        out = self.reader.answers(x, mask, statement)
        return tuple(out[name] for name in OUTPUTS)


def export_graph(reader: Reader, path: Path) -> None:
    """Write the layers with 8-bit weights."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    hidden = torch.zeros(1, 24, reader.shape.hidden)
    statement = torch.zeros(1, 24, dtype=torch.long)
    statement[:, 16:] = 1
    tokens = {1: "tokens"}
    outputs: dict[str, dict[int, str]] = {name: {} for name in OUTPUTS} | {"place": tokens}
    with tempfile.TemporaryDirectory() as folder:
        plain, prepared = Path(folder) / "plain.onnx", Path(folder) / "prepared.onnx"
        trace_graph(Layers(reader), (hidden, statement), {"hidden": tokens, "statement": tokens}, outputs, plain)
        quant_pre_process(str(plain), str(prepared), skip_symbolic_shape=True)
        quantize_dynamic(
            str(prepared),
            str(path),
            weight_type=QuantType.QInt8,
            per_channel=True,
            op_types_to_quantize=["MatMul"],
            extra_options={"MatMulConstBOnly": True},
        )


def tables(reader: Reader) -> dict[str, Any]:
    """The embedding tables: words as 8-bit rows with a scale each, the others as float16."""
    encoder = reader.encoder
    words = encoder.words.weight.detach().float().numpy()
    scales = np.abs(words).max(1, keepdims=True) / 127 + 1e-12
    return {
        "words": np.round(words / scales).astype(np.int8),
        "scales": scales[:, 0].astype(np.float32),
        "positions": encoder.positions.weight.detach().numpy().astype(np.float16),
        "gain": encoder.norm.weight.detach().numpy().astype(np.float32),
        "shift": encoder.norm.bias.detach().numpy().astype(np.float32),
    }
