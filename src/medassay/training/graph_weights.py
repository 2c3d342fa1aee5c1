"""The weights of an exported graph under the names that they had in the module, to train it further."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor

from medassay.errors import ModelError
from medassay.models.graphs import ModelSet
from medassay.training.bert import SplitEncoder


def is_model_set(folder: str | Path) -> bool:
    """Whether a folder is a model set rather than a BERT."""
    return (Path(folder) / "manifest.json").is_file()


def graph_weights(path: Path) -> dict[str, Tensor]:
    """The weights of a graph that `training.export` wrote, as float32 and by the module's names.

    The exporter transposes the matrix of a linear layer and gives it a name of its own; the bias that is added to the
    product keeps its name, and the matrix is named after it.
    """
    graph = onnx.load(str(path)).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    axes = {
        node.output[0]: next((a.i for a in node.attribute if a.name == "axis"), 1)
        for node in graph.node
        if node.op_type == "DequantizeLinear"
    }
    values = {
        name: value for name, value in stored.items() if value.dtype == np.float32 and not name.endswith(".scale")
    }
    values |= {name: _dequantised(stored, name, axis) for name, axis in axes.items()}
    weights = {name: value for name, value in values.items() if "::" not in name}
    added = {tensor: node for node in graph.node if node.op_type == "Add" for tensor in node.input}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in values:
            bias = next(name for name in added[node.output[0]].input if name.endswith(".bias"))
            weights[bias.removesuffix("bias") + "weight"] = values[node.input[1]].T
    return {name: torch.from_numpy(np.array(value, np.float32)) for name, value in weights.items()}


def _dequantised(stored: dict[str, Any], name: str, axis: int) -> Any:
    codes, scale = stored[f"{name}.int8"], stored[f"{name}.scale"]
    shape = [1] * codes.ndim
    shape[axis] = -1
    return codes.astype(np.float32) * scale.reshape(shape)


def load_part(module: torch.nn.Module, folder: str | Path, role: str) -> None:
    """Load what a role of a model set has above the trunk (its layers and its head) into a module of `training`."""
    own = _own_weights(ModelSet(Path(folder)), role)
    missing, unknown = module.load_state_dict(own, strict=False)
    missing = [name for name in missing if not name.startswith("encoder.trunk.")]
    if missing or unknown:
        parts = f"missing {missing[:3]}, unknown {unknown[:3]}"
        raise ModelError(f"{folder}: its {role} has other parts than the recipe: {parts}")


def _own_weights(models: ModelSet, role: str) -> dict[str, Tensor]:
    weights = graph_weights(models.file(str(models.role(role)["graph"])))
    return {name.removeprefix("model."): value for name, value in weights.items() if name.startswith("model.")}


def encoder_of(folder: str | Path, role: str) -> SplitEncoder:
    """The trunk of a model set, frozen, with as many untrained layers above it as the role has."""
    models = ModelSet(Path(folder))
    settings = models.role("trunk")
    weights = graph_weights(models.file(str(settings["graph"])))
    inner, size = weights["lower.layers.0.up.weight"].shape
    shared, upper = _layers(weights, "lower.layers."), _layers(_own_weights(models, role), "encoder.upper.layers.")
    config = {
        "hidden_size": size,
        "intermediate_size": inner,
        "num_hidden_layers": shared + upper,
        "num_attention_heads": int(settings["heads"]),
        "vocab_size": len(weights["embeddings.word.weight"]),
        "max_position_embeddings": len(weights["embeddings.place.weight"]),
        "type_vocab_size": len(weights["embeddings.side.weight"]),
        "layer_norm_eps": 1e-12,
    }
    encoder = SplitEncoder(config, shared)
    encoder.trunk.load_state_dict(weights)
    return encoder


def _layers(weights: dict[str, Tensor], prefix: str) -> int:
    return len({name.removeprefix(prefix).split(".")[0] for name in weights if name.startswith(prefix)})
