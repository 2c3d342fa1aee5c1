"""BERTScore on the embedded encoder against the package `bert-score` with the same weights.

The embedded trunk is written out as a transformers model, so that both sides compute the same states from
the same weights. Needs the extra `hf` and the packages `bert-score` and `onnx`.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import Figure, seconds
from benchmarks.texts import pairs
from medassay.cases import Case
from medassay.metrics.registry import load_metric
from medassay.models.graphs import HOME

PAIRS = 10_000
SYSTEMS = 4
WORDS = 60
_GOAL = 3.0
_LINEAR = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "mix": "attention.output.dense",
    "up": "intermediate.dense",
    "down": "output.dense",
}
_NORM = {"mix_norm": "attention.output.LayerNorm", "down_norm": "output.LayerNorm"}


def run(number: int = PAIRS) -> Iterator[Figure]:
    """Seconds of both, alternating over slices, and the largest difference between their numbers."""
    missing = [name for name in ("bert_score", "onnx", "torch", "transformers") if find_spec(name) is None]
    if missing:
        yield Figure("embedded BERTScore", f"not measured: {', '.join(missing)} not installed", f"{_GOAL:g}×", None)
        return
    from bert_score import BERTScorer

    made = pairs(number, WORDS)
    references = [made[i - i % SYSTEMS][1] for i in range(number)]
    candidates = [candidate for candidate, _ in made]
    cases = [Case(str(i), c, (r,)) for i, (c, r) in enumerate(zip(candidates, references))]
    metric = load_metric("bertscore")
    with tempfile.TemporaryDirectory() as folder:
        layers = write_trunk(Path(folder))
        peer = BERTScorer(model_type=folder, num_layers=layers, use_fast_tokenizer=True, device="cpu", batch_size=64)
        metric.score(cases[:8])
        peer.score(candidates[:8], references[:8])
        ours = theirs = worst = 0.0
        step = max(SYSTEMS, number // 4 // SYSTEMS * SYSTEMS)
        for start in range(0, number, step):
            got: list[Any] = []
            want: list[Any] = []
            some = slice(start, start + step)
            ours += seconds(lambda: got.extend(metric.score(cases[some])))  # noqa: B023
            theirs += seconds(lambda: want.append(peer.score(candidates[some], references[some])))  # noqa: B023
            for part, values in zip(("precision", "recall", "f1"), want[0]):
                found = np.array([score.parts[part] for score in got])
                worst = max(worst, float(np.abs(found - values.numpy()).max()))
    ratio = theirs / ours
    yield Figure(
        f"embedded BERTScore, {number:,} pairs",
        f"{ours:6.1f} s, bert-score {theirs:6.1f} s: {ratio:4.1f}×, largest difference {worst:.0e}",
        f"{_GOAL:g}×, 1e-5",
        worst <= 1e-5 and ratio >= _GOAL,
    )


def write_trunk(folder: Path) -> int:
    """The embedded trunk as a transformers model in a folder; its number of layers."""
    import onnx
    import torch
    from onnx import numpy_helper
    from transformers import BertConfig, BertModel

    graph = onnx.load(str(HOME / "trunk.onnx")).graph
    arrays = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    for node in graph.node:
        if node.op_type == "DequantizeLinear":
            codes, scale = arrays[node.input[0]], arrays[node.input[1]]
            axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
            shape = [-1 if k == axis % codes.ndim else 1 for k in range(codes.ndim)]
            arrays[node.output[0]] = codes.astype(np.float32) * scale.reshape(shape)
    products = {node.output[0]: node.input[1] for node in graph.node if node.op_type == "MatMul"}
    # A linear layer is a product and the addition of its bias, which carries the layer's name.
    for node in graph.node:
        if node.op_type == "Add":
            for bias, product in (node.input, reversed(node.input)):
                if bias.endswith(".bias") and product in products:
                    arrays[bias.removesuffix("bias") + "weight"] = arrays[products[product]].T
    names = {f"lower.layers.{k}" for k in range(99) if f"lower.layers.{k}.query.bias" in arrays}
    layers = len(names)
    size = arrays["embeddings.norm.weight"].shape[0]
    config = BertConfig(
        vocab_size=len(arrays["embeddings.word.weight"]),
        hidden_size=size,
        num_hidden_layers=layers,
        num_attention_heads=12,
        intermediate_size=len(arrays["lower.layers.0.up.bias"]),
        max_position_embeddings=len(arrays["embeddings.place.weight"]),
    )
    model = BertModel(config, add_pooling_layer=False)
    state = {
        f"embeddings.{theirs}_embeddings.weight": arrays[f"embeddings.{ours}.weight"]
        for ours, theirs in (("word", "word"), ("place", "position"), ("side", "token_type"))
    }
    for kind in ("weight", "bias"):
        state[f"embeddings.LayerNorm.{kind}"] = arrays[f"embeddings.norm.{kind}"]
        for k in range(layers):
            for ours, theirs in {**_LINEAR, **_NORM}.items():
                state[f"encoder.layer.{k}.{theirs}.{kind}"] = arrays[f"lower.layers.{k}.{ours}.{kind}"]
    model.load_state_dict({name: torch.tensor(array) for name, array in state.items()}, strict=True)
    model.save_pretrained(folder)
    shutil.copy(HOME / "tokenizer.json", folder)
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 512,
        **{f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")},
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return layers
