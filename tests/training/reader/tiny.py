"""A reader small enough to train in a test, and its weights under the names of transformers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
from medassay.models.reader_network import Reader, Shape

TINY = Shape(vocabulary=30527, hidden=24, layers=2, heads=12, inner=48, early=1)


def as_mpnet(network: Reader) -> dict[str, Any]:
    """The encoder's weights under the names that transformers gives an MPNet's."""
    state = {name: value.detach().numpy() for name, value in network.encoder.state_dict().items()}
    weights = {
        "embeddings.word_embeddings.weight": state["words.weight"],
        "embeddings.position_embeddings.weight": state["positions.weight"],
        "embeddings.LayerNorm.weight": state["norm.weight"],
        "embeddings.LayerNorm.bias": state["norm.bias"],
        "encoder.relative_attention_bias.weight": state["relative.weight"],
    }
    parts = {
        "attention.attn.o": "attention.out",
        "attention.LayerNorm": "attention.norm",
        "intermediate.dense": "inner",
        "output.dense": "outer",
        "output.LayerNorm": "norm",
    }
    for i in range(TINY.layers):
        for kind in ("weight", "bias"):
            for theirs, ours in parts.items():
                weights[f"encoder.layer.{i}.{theirs}.{kind}"] = state[f"layers.{i}.{ours}.{kind}"]
            for letter, value in zip("qkv", np.split(state[f"layers.{i}.attention.qkv.{kind}"], 3)):
                weights[f"encoder.layer.{i}.attention.attn.{letter}.{kind}"] = np.ascontiguousarray(value)
    return weights
