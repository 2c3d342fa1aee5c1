"""A BERT encoder in two parts: a trunk that tasks share and the layers above it.

The embedded set stores the embeddings and the lowest layers once; each task has its own upper layers. The two parts
are separate modules, so that each can be exported to ONNX. Other architectures come through `load_encoder`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from medassay.errors import ModelError


class Embeddings(nn.Module):
    """Word, place and text-side embeddings, summed and normalised."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        size = config["hidden_size"]
        self.word = nn.Embedding(config["vocab_size"], size)
        self.place = nn.Embedding(config["max_position_embeddings"], size)
        self.side = nn.Embedding(config.get("type_vocab_size", 2), size)
        self.norm = nn.LayerNorm(size, eps=config["layer_norm_eps"])
        self.dropout = nn.Dropout(config.get("hidden_dropout_prob", 0.1))

    def forward(self, ids: Tensor, sides: Tensor) -> Tensor:
        """States [rows, length, size] where the first layer begins."""
        places = torch.arange(ids.shape[1], device=ids.device)
        summed = self.word(ids) + self.place(places)[None] + self.side(sides)
        return self.dropout(self.norm(summed))  # type: ignore[no-any-return]


class Layer(nn.Module):
    """Self-attention and feed-forward, each with a residual and a norm after it (post-norm, as BERT)."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        size, inner = config["hidden_size"], config["intermediate_size"]
        self.heads = config["num_attention_heads"]
        eps = config["layer_norm_eps"]
        self.query, self.key, self.value = (nn.Linear(size, size) for _ in range(3))
        self.mix = nn.Linear(size, size)
        self.mix_norm = nn.LayerNorm(size, eps=eps)
        self.up = nn.Linear(size, inner)
        self.down = nn.Linear(inner, size)
        self.down_norm = nn.LayerNorm(size, eps=eps)
        self.drop = config.get("hidden_dropout_prob", 0.1)
        self.attention_drop = config.get("attention_probs_dropout_prob", 0.1)

    def forward(self, hidden: Tensor, bias: Tensor) -> Tensor:
        """States after the layer; `bias` is added to the scores of attention."""
        rows, length, size = hidden.shape

        query = self.query(hidden)
        bias = bias.to(query.dtype)

        def split(projected: Tensor) -> Tensor:
            return projected.view(rows, length, self.heads, size // self.heads).transpose(1, 2)

        attended = F.scaled_dot_product_attention(
            split(query),
            split(self.key(hidden)),
            split(self.value(hidden)),
            attn_mask=bias,
            dropout_p=self.attention_drop if self.training else 0.0,
        )
        attended = attended.transpose(1, 2).reshape(rows, length, size)
        hidden = self.mix_norm(hidden + F.dropout(self.mix(attended), self.drop, self.training))
        inner = self.down(F.gelu(self.up(hidden)))
        return self.down_norm(hidden + F.dropout(inner, self.drop, self.training))  # type: ignore[no-any-return]


def attention_bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """0 where a token may be looked at and a large negative number where it is padding, [rows, 1, 1, length]."""
    return (1.0 - mask[:, None, None, :].to(dtype)) * -1e4


class Layers(nn.Module):
    """A run of layers from hidden states to hidden states."""

    def __init__(self, layers: list[Layer]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """States after all layers; `mask` is 1 on tokens, 0 on padding."""
        bias = attention_bias(mask, hidden.dtype)
        for layer in self.layers:
            hidden = layer(hidden, bias)
        return hidden


class Trunk(nn.Module):
    """Token ids to hidden states after the shared layers."""

    def __init__(self, embeddings: Embeddings, layers: list[Layer]) -> None:
        super().__init__()
        self.embeddings = embeddings
        self.lower = Layers(layers)

    def forward(self, ids: Tensor, mask: Tensor, sides: Tensor) -> Tensor:
        """States after the shared layers."""
        return self.lower(self.embeddings(ids, sides), mask)  # type: ignore[no-any-return]


class SplitEncoder(nn.Module):
    """Trunk (embeddings and `shared` layers) and upper layers; −1 shares nothing and trains everything.

    A `frozen` trunk runs as it will at run time, without dropout and without gradient.
    """

    def __init__(self, config: dict[str, Any], shared: int) -> None:
        super().__init__()
        self.config = config
        self.size: int = config["hidden_size"]
        self.pad: int = config.get("pad_token_id") or 0
        self.shared = shared
        cut = max(shared, 0)
        layers = [Layer(config) for _ in range(config["num_hidden_layers"])]
        self.trunk = Trunk(Embeddings(config), layers[:cut])
        self.upper = Layers(layers[cut:])
        self.frozen = shared >= 0
        if self.frozen:
            self.trunk.requires_grad_(False)

    def below(self, ids: Tensor, mask: Tensor, sides: Tensor) -> Tensor:
        """Hidden states where the upper layers begin."""
        if not self.frozen:
            return self.trunk(ids, mask, sides)  # type: ignore[no-any-return]
        self.trunk.eval()
        with torch.no_grad():
            return self.trunk(ids, mask, sides)  # type: ignore[no-any-return]

    def forward(self, ids: Tensor, mask: Tensor, sides: Tensor) -> Tensor:
        """States after the last layer."""
        return self.upper(self.below(ids, mask, sides), mask)  # type: ignore[no-any-return]


class LibraryEncoder(nn.Module):
    """Any encoder of the transformers library behind the same call; used as a teacher."""

    def __init__(self, model: nn.Module, sides: bool) -> None:
        super().__init__()
        self.model = model
        self.size: int = model.config.hidden_size
        self.pad: int = model.config.pad_token_id or 0
        self.sides = sides

    def forward(self, ids: Tensor, mask: Tensor, sides: Tensor) -> Tensor:
        """States after the last layer."""
        extra = {"token_type_ids": sides} if self.sides else {}
        out = self.model(input_ids=ids, attention_mask=mask, **extra)
        return out.last_hidden_state  # type: ignore[no-any-return]

    def below(self, ids: Tensor, mask: Tensor, sides: Tensor) -> Tensor:
        """Input embeddings: the lowest point at which tag embeddings can be added."""
        raise ModelError("a library encoder cannot be split: use a BERT base for the relation recipe")


Encoder = SplitEncoder | LibraryEncoder

_NAMES = {
    "attention.self.query": "query",
    "attention.self.key": "key",
    "attention.self.value": "value",
    "attention.output.dense": "mix",
    "attention.output.LayerNorm": "mix_norm",
    "intermediate.dense": "up",
    "output.dense": "down",
    "output.LayerNorm": "down_norm",
}
_EMBEDDINGS = {
    "word_embeddings": "word",
    "position_embeddings": "place",
    "token_type_embeddings": "side",
    "LayerNorm": "norm",
}


def _our_name(name: str, shared: int) -> str | None:
    """Where a tensor of a BERT checkpoint belongs here; None for the parts that are not used (pooler)."""
    parts = name.removeprefix("bert.").split(".")
    leaf = parts[-1]
    if parts[0] == "embeddings" and parts[1] in _EMBEDDINGS:
        return f"trunk.embeddings.{_EMBEDDINGS[parts[1]]}.{leaf}"
    if parts[0] == "encoder":
        number, cut = int(parts[2]), max(shared, 0)
        where = f"trunk.lower.layers.{number}" if number < cut else f"upper.layers.{number - cut}"
        return f"{where}.{_NAMES['.'.join(parts[3:-1])]}.{leaf}"
    return None


def load_encoder(base: str | Path, shared: int = -1) -> Encoder:
    """The encoder in folder `base` (config.json + model.safetensors), or of hub name `base`.

    A BERT is split after `shared` layers, which are frozen with the embeddings; −1 trains everything.
    """
    folder = Path(base)
    if not folder.is_dir():
        return _library_encoder(str(base))
    for needed in ("config.json", "model.safetensors"):
        if not (folder / needed).is_file():
            raise ModelError(
                f"{folder}: {needed} is missing; a base is a folder with config.json, "
                "model.safetensors and tokenizer.json"
            )
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config.get("model_type") != "bert":
        return _library_encoder(str(folder))
    from safetensors.torch import load_file

    encoder = SplitEncoder(config, shared)
    state = {}
    for name, tensor in load_file(folder / "model.safetensors").items():
        ours = _our_name(name, shared)
        if ours is not None:
            state[ours] = tensor.float()
    missing, unexpected = encoder.load_state_dict(state, strict=False)
    if missing or unexpected:
        raise ModelError(f"{folder}: not a complete BERT encoder; missing {missing[:3]}, unknown {unexpected[:3]}")
    return encoder


def _library_encoder(name: str) -> LibraryEncoder:
    from transformers import AutoModel

    model = AutoModel.from_pretrained(name, add_pooling_layer=False, dtype=torch.float32)
    return LibraryEncoder(model, sides=getattr(model.config, "type_vocab_size", 0) > 1)


def load_tokenizer(base: str | Path) -> Any:
    """The tokenizer in folder `base`, which neither cuts nor pads."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(base) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
