"""The reader as the files of a model set: two ONNX graphs with 8-bit weights, and its embedding tables as arrays.

The first graph runs the early layers and their heads, the second the other layers and theirs. While they run,
activations are rounded to 8 bits too. Two things keep the rounding small: channels that are much larger than the
others are made smaller beforehand and the weights that read them larger (SmoothQuant, Xiao et al. 2023, section 4),
and where a layer's input was not normalised just before, every token is divided by its largest channel, so that a
token with large numbers does not take the precision of the others. One pair is read per run, so that an answer never
depends on what else was asked.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from medassay.models.reader import OUTPUTS
from medassay.models.reader_network import Heads, Layer, Reader
from medassay.training.export import trace_graph

MIGRATION = 0.5
"""How much of the difference between channels moves from activations to weights (Xiao et al. 2023, section 4)."""


NOT_NORMALISED = ("out", "outer")
"""Linear layers whose input does not come from a layer norm: its tokens differ much in size."""


class Scaled(nn.Module):
    """A linear layer whose input is scaled by channel, and by token where asked; the result is the layer's own."""

    def __init__(self, linear: nn.Linear, largest: Tensor, *, by_token: bool) -> None:
        super().__init__()
        self.by_token = by_token
        weight = linear.weight.detach()
        scale = largest.clamp(min=1e-5) ** MIGRATION / weight.abs().amax(0).clamp(min=1e-5) ** (1 - MIGRATION)
        self.smaller: nn.Parameter | None = nn.Parameter(1 / scale, requires_grad=False)
        self.weight = nn.Parameter((weight * scale).T.contiguous(), requires_grad=False)
        self.bias = nn.Parameter(linear.bias.detach().clone(), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        """The output of the linear layer."""
        if self.smaller is not None:
            x = x * self.smaller
        if not self.by_token:
            return x @ self.weight + self.bias
        row = x.abs().amax(-1, keepdim=True).clamp(min=1e-9)
        return (x * row.reciprocal()) @ self.weight * row + self.bias


def largest_inputs(reader: Reader, batches: Iterable[tuple[Tensor, Tensor, Tensor]]) -> dict[str, Tensor]:
    """For each linear layer of the encoder the largest magnitude of each input channel over some batches."""
    largest: dict[str, Tensor] = {}
    hooks = []
    for name, module in reader.encoder.named_modules():
        if isinstance(module, nn.Linear):

            def record(_: nn.Module, given: tuple[Tensor, ...], name: str = name) -> None:
                values = given[0].detach().abs().flatten(0, -2).amax(0)
                largest[name] = torch.maximum(largest[name], values) if name in largest else values

            hooks.append(module.register_forward_pre_hook(record))
    with torch.no_grad():
        for batch in batches:
            reader(*batch)
    for hook in hooks:
        hook.remove()
    return largest


def scale_layers(reader: Reader, largest: dict[str, Tensor]) -> None:
    """Put `Scaled` in the place of every linear layer of the encoder."""
    for name, values in largest.items():
        parent, _, child = name.rpartition(".")
        owner = reader.encoder.get_submodule(parent)
        setattr(owner, child, Scaled(getattr(owner, child), values, by_token=child in NOT_NORMALISED))
    for layer in reader.encoder.layers:
        _scale_values(layer.attention)


def _scale_values(attention: nn.Module) -> None:
    """Let `qkv` write its values in the scale that `out` reads: mixing values by attention keeps their channels."""
    qkv, out = attention.qkv, attention.out
    with torch.no_grad():
        values = slice(-len(out.smaller), None)
        qkv.weight[:, values] *= out.smaller
        qkv.bias[values] *= out.smaller
    out.smaller = None


class Stage(nn.Module):
    """What one graph computes: some layers and heads, for one row without padding."""

    def __init__(self, reader: Reader, layers: Sequence[Layer], heads: Heads, *, states: bool) -> None:
        super().__init__()
        self.encoder = reader.encoder
        self.layers = nn.ModuleList(layers)
        self.heads = heads
        self.states = states

    def forward(self, hidden: Tensor, statement: Tensor) -> tuple[Tensor, ...]:
        """The states after the layers (where `states`), then the answers of the heads."""
        bias = self.encoder.relative_bias(hidden.shape[1], hidden.device)
        x = hidden
        for layer in self.layers:
            x = _through_layer(layer, x, bias)
        out = self.heads(x, torch.ones_like(statement), statement)
        answers = tuple(out[name] for name in OUTPUTS)
        return (x, *answers) if self.states else answers


class _Scores(torch.autograd.Function):
    """Scaled products of queries and keys in one operation."""

    @staticmethod
    def forward(_: Any, q: Tensor, k: Tensor, scale: float) -> Tensor:
        return q @ k.transpose(-1, -2) * scale

    @staticmethod
    def symbolic(graph: Any, q: Any, k: Any, scale: float) -> Any:
        return graph.op("com.microsoft::FusedMatMul", q, k, transB_i=1, alpha_f=scale).setType(q.type())


def _through_layer(layer: Any, x: Tensor, bias: Tensor) -> Tensor:
    """What `Layer` computes, in the operations that ONNX Runtime runs fastest."""
    attention = layer.attention
    size = len(attention.norm.weight) // attention.heads
    x = attention.norm(x + attention.out(_mixed(attention.qkv(x), bias, attention.heads, size)))
    moved = layer.outer(F.gelu(layer.inner(x)))
    return layer.norm(x + moved)  # type: ignore[no-any-return]


def _mixed(qkv: Tensor, bias: Tensor, heads: int, size: int) -> Tensor:
    """The values of one row, mixed by attention. qkv: [1, length, 3 × heads × size]."""
    q, k, v = qkv.view(1, -1, 3 * heads, size).transpose(1, 2).split(heads, dim=1)
    weights = (_Scores.apply(q, k, size**-0.5) + bias).softmax(-1)
    return (weights @ v).transpose(1, 2).reshape(1, -1, heads * size)


def export_graphs(reader: Reader, early: Path, late: Path) -> None:
    """Write the two graphs with 8-bit weights."""
    layers = list(reader.encoder.layers)
    cut = reader.shape.early
    _export(Stage(reader, layers[:cut], reader.early_heads, states=True), early)
    _export(Stage(reader, layers[cut:], reader.heads, states=False), late)


def _export(stage: Stage, path: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    hidden = torch.zeros(1, 24, stage.encoder.shape.hidden)
    statement = torch.zeros(1, 24, dtype=torch.long)
    statement[:, 16:] = 1
    tokens = {1: "tokens"}
    outputs: dict[str, dict[int, str]] = {"states": tokens} if stage.states else {}
    outputs |= {name: {} for name in OUTPUTS} | {"place": tokens}
    with tempfile.TemporaryDirectory() as folder:
        plain, prepared = Path(folder) / "plain.onnx", Path(folder) / "prepared.onnx"
        trace_graph(stage, (hidden, statement), {"hidden": tokens, "statement": tokens}, outputs, plain)
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
