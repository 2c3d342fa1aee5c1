"""From trained modules to the embedded set: ONNX graphs with 8-bit weights, a tokenizer, a manifest.

Weights are stored as int8 with one scale per output channel (per row of the word table) and turned
back into float32 by a DequantizeLinear node when the graph is loaded; arithmetic stays float32. The
files' layout is described in `medassay/models/embedded/FORMAT.md`.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from torch import Tensor, nn

from medassay.models.graphs import ModelSet, write_manifest, write_record
from medassay.training.bert import SplitEncoder
from medassay.training.cross import PairModel
from medassay.training.ner import EntityModel
from medassay.training.relations import RelationModel
from medassay.training.seq2seq import LikelihoodModel

OPSET = 17
SMALLEST = 2048
"""Tensors with fewer numbers stay float32: they cost nothing and norms and biases need the precision."""


class _Ner(nn.Module):
    def __init__(self, model: EntityModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        return self.model.head(self.model.encoder.upper(hidden, mask))  # type: ignore[no-any-return]


class _Relations(nn.Module):
    def __init__(self, model: RelationModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, hidden: Tensor, mask: Tensor, tags: Tensor, *places: Tensor) -> tuple[Tensor, Tensor]:
        return self.model.read(hidden, mask, tags, *places)


class _Embedding(nn.Module):
    def __init__(self, encoder: SplitEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        states = self.encoder.upper(hidden, mask)
        weights = mask[:, :, None].to(states.dtype)
        mean = (states * weights).sum(1) / weights.sum(1)
        return mean / mean.norm(dim=-1, keepdim=True).clamp(min=1e-9)


class _Pairs(nn.Module):
    def __init__(self, model: PairModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, hidden: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.model.judge(self.model.encoder.upper(hidden, mask), mask).values())


def quantise(weights: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Codes −127…127 and one scale per slice along `axis`, such that codes × scale ≈ weights."""
    other = tuple(i for i in range(weights.ndim) if i != axis)
    scale = np.abs(weights).max(axis=other) / 127.0
    scale = np.where(scale > 0, scale, 1.0).astype(np.float32)
    shape = [1] * weights.ndim
    shape[axis] = -1
    codes = np.clip(np.rint(weights / scale.reshape(shape)), -127, 127).astype(np.int8)
    return codes, scale


def store_int8(model: onnx.ModelProto) -> onnx.ModelProto:
    """Replace every large float32 initialiser by int8 + scale + DequantizeLinear."""
    graph = model.graph
    rowwise = {node.input[0] for node in graph.node if node.op_type == "Gather"}
    rowwise |= {node.input[1] for node in graph.node if node.op_type == "Gemm" and _turned(node)}
    rowwise |= {node.input[1] for node in graph.node if node.op_type == "Conv"}
    kept, added, nodes = [], [], []
    for tensor in graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype != np.float32 or values.ndim < 2 or values.size < SMALLEST:
            kept.append(tensor)
            continue
        # Tables are read by row; a matrix product x·W has its output channels in the last axis, x·Wᵀ and
        # convolutions in the first.
        axis = 0 if tensor.name in rowwise else values.ndim - 1
        codes, scale = quantise(values, axis)
        name = tensor.name
        zero = np.zeros(scale.shape, np.int8)
        added += [
            numpy_helper.from_array(codes, f"{name}.int8"),
            numpy_helper.from_array(scale, f"{name}.scale"),
            numpy_helper.from_array(zero, f"{name}.zero"),
        ]
        inputs = [f"{name}.int8", f"{name}.scale", f"{name}.zero"]
        nodes.append(helper.make_node("DequantizeLinear", inputs, [name], name=f"{name}.dequantize", axis=axis))
    rest = list(graph.node)
    del graph.initializer[:]
    graph.initializer.extend(kept + added)
    del graph.node[:]
    graph.node.extend(nodes + rest)
    onnx.checker.check_model(model)
    return model


def _turned(node: onnx.NodeProto) -> bool:
    """Whether a Gemm node multiplies by the transpose of its second input."""
    return any(attribute.name == "transB" and attribute.i for attribute in node.attribute)


def trace_graph(
    module: nn.Module,
    example: Sequence[Tensor],
    inputs: Mapping[str, Mapping[int, str]],
    outputs: Mapping[str, Mapping[int, str]],
    path: Path,
) -> None:
    """Write a module as a plain ONNX graph with weights in 32 bits."""
    module.eval().cpu()
    with warnings.catch_warnings():
        # The exporter by tracing is the one that writes plain graphs of this opset; it is marked as legacy.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            tuple(example),
            str(path),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes={name: dict(axes) for name, axes in {**inputs, **outputs}.items()},
            opset_version=OPSET,
            do_constant_folding=True,
            dynamo=False,
        )


def _graph(
    module: nn.Module,
    example: Sequence[Tensor],
    inputs: Mapping[str, Mapping[int, str]],
    outputs: Mapping[str, Mapping[int, str]],
    path: Path,
) -> None:
    trace_graph(module, example, inputs, outputs, path)
    model = store_int8(onnx.load(str(path)))
    for node in model.graph.node:
        node.doc_string = ""
    path.write_bytes(model.SerializeToString(deterministic=True))


_TOKENS = {0: "rows", 1: "length"}


def _example(size: int) -> tuple[Tensor, Tensor]:
    mask = torch.ones(2, 7, dtype=torch.long)
    mask[1, 5:] = 0
    return torch.randn(2, 7, size), mask


def export_trunk(encoder: SplitEncoder, folder: Path) -> None:
    """trunk.onnx: ids, mask, sides → hidden [rows, length, size]."""
    ids = torch.arange(14).view(2, 7)
    mask = torch.ones_like(ids)
    names = {"ids": _TOKENS, "mask": _TOKENS, "sides": _TOKENS}
    _graph(encoder.trunk, (ids, mask, torch.zeros_like(ids)), names, {"hidden": _TOKENS}, folder / "trunk.onnx")


def export_ner(model: EntityModel, folder: Path) -> None:
    """ner.onnx: hidden, mask → logits [rows, length, labels]."""
    names = {"hidden": _TOKENS, "mask": _TOKENS}
    _graph(_Ner(model), _example(model.encoder.size), names, {"logits": _TOKENS}, folder / "ner.onnx")


def export_relations(model: RelationModel, folder: Path) -> None:
    """relations.onnx: hidden, mask, tags and places of entities and pairs → related [pairs], assertion."""
    tags = torch.tensor([[0, 1, 2, 0, 3, 0, 0], [0, 1, 0, 3, 4, 0, 0]])
    row, first = torch.tensor([0, 0, 1, 1]), torch.tensor([1, 4, 1, 3])
    last, head = torch.tensor([2, 4, 1, 4]), torch.tensor([0, 2, 1])
    tail = torch.tensor([1, 3, 0])
    entity, pair = {0: "entities"}, {0: "pairs"}
    names = {"hidden": _TOKENS, "mask": _TOKENS, "tags": _TOKENS, "row": entity, "first": entity, "last": entity}
    _graph(
        _Relations(model),
        (*_example(model.encoder.size), tags, row, first, last, head, tail),
        {**names, "head": pair, "tail": pair},
        {"related": pair, "assertion": entity},
        folder / "relations.onnx",
    )


def export_embedding(encoder: SplitEncoder, path: Path) -> None:
    """encoder.onnx or align.onnx: hidden, mask → embedding [rows, size], unit length."""
    names = {"hidden": _TOKENS, "mask": _TOKENS}
    _graph(_Embedding(encoder), _example(encoder.size), names, {"embedding": {0: "rows"}}, path)


def export_pairs(model: PairModel, path: Path) -> list[str]:
    """A cross-encoder: hidden, mask → each head's numbers [rows, size], before softmax or sigmoid.

    Returns:
        The names of the outputs in their order, which the manifest states.
    """
    names = {"hidden": _TOKENS, "mask": _TOKENS}
    outputs: dict[str, dict[int, str]] = {name: {0: "rows"} for name in model.heads}
    _graph(_Pairs(model), _example(model.encoder.size), names, outputs, path)
    return list(outputs)


def export_likelihood(model: LikelihoodModel, folder: Path) -> None:
    """likelihood_reader.onnx: hidden, mask → memory; likelihood.onnx: memory and target pieces → their logs."""
    hidden, mask = _example(model.reader.layers.layers[0].query.in_features)
    names = {"hidden": _TOKENS, "mask": _TOKENS}
    _graph(model.reader, (hidden, mask), names, {"memory": _TOKENS}, folder / "likelihood_reader.onnx")
    source = torch.arange(14).view(2, 7)
    given, wanted = torch.tensor([[1, 5, 6, 2], [1, 3, 4, 0]]), torch.tensor([[5, 6, 2, 8], [3, 4, 9, 0]])
    target = {0: "rows", 1: "target"}
    inputs = {"memory": _TOKENS, "mask": _TOKENS, "source": _TOKENS, "given": target, "wanted": target}
    example = (hidden, mask, source, given, wanted)
    _graph(model.writer, example, inputs, {"logs": target}, folder / "likelihood.onnx")


def export_image(model: nn.Module, side: int, folder: Path) -> None:
    """image.onnx: pixels [rows, side, side, 3] (bytes) → what `ImageGraph` gives of each."""
    rows = {0: "rows"}
    pixels = torch.zeros(2, side, side, 3, dtype=torch.uint8)
    outputs = dict.fromkeys(("vectors", "deep", "distance", "organs", "processes"), rows)
    _graph(model, (pixels,), {"pixels": rows}, outputs, folder / "image.onnx")


def export_image_text(model: nn.Module, size: int, folder: Path) -> None:
    """image_text.onnx: embedding [rows, size of the encoder] → what `TextGraph` gives of texts and vocabulary."""
    rows: dict[int, str] = {0: "rows"}
    per_text = dict.fromkeys(("vectors", "mean", "spread", "coverage", "nearest"), rows)
    fixed: dict[str, dict[int, str]] = {name: {} for name in ("bank_vectors", "bank_mean", "bank_spread")}
    _graph(model, (torch.randn(2, size),), {"embedding": rows}, {**per_text, **fixed}, folder / "image_text.onnx")


def write_tokenizer(source: Path, folder: Path) -> None:
    """tokenizer.json without truncation or padding: the runtime cuts texts into windows itself."""
    content: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    content["truncation"] = None
    content["padding"] = None
    (folder / "tokenizer.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def _heads(base: Path) -> int:
    """Attention heads of a BERT folder, or of a model set's trunk, which graphs do not tell."""
    config = base / "config.json"
    if config.is_file():
        return int(json.loads(config.read_text(encoding="utf-8"))["num_attention_heads"])
    return int(ModelSet(base).role("trunk")["heads"])


def write_set(out: Path, base: str, role: str, settings: dict[str, Any], figures: dict[str, float]) -> None:
    """Tokenizer, manifest and the held-out figures of a trained role."""
    write_tokenizer(Path(base) / "tokenizer.json", out)
    trunk = {"graph": "trunk.onnx", "max_tokens": 512, "heads": _heads(Path(base))}
    shared = {"trunk": "trunk.onnx", "max_tokens": 512}
    origin = {"licence": "as the base and the annotation", "source": f"trained from {Path(base).name}"}
    write_manifest(out, f"trained-{role}", {"trunk": trunk, role: {**shared, **settings}}, origin)
    write_record(out, role, figures)
