"""The reader: an MPNet encoder that reads a text and a statement together, and its heads.

A row is `<s> text </s> </s> statement </s>`. The heads answer, for the pair: the verdict (supported, not stated,
contradicted), the kind of error, its severity, the expert's 0–5 score of a report pair, and, for each token of the
text, whether it belongs to the words that decide.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from medassay.spans import CONTRADICTION_KINDS, INVENTION_KINDS

@dataclass(frozen=True)
class Shape:
    """Sizes of the encoder."""

    vocabulary: int = 30527
    hidden: int = 768
    layers: int = 12
    heads: int = 12
    inner: int = 3072
    positions: int = 514
    first_position: int = 2
    buckets: int = 32
    sides: int = 0
    epsilon: float = 1e-5


class Attention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.qkv = nn.Linear(shape.hidden, 3 * shape.hidden)
        self.out = nn.Linear(shape.hidden, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)

    def forward(self, x: Tensor, bias: Tensor, dropout: float) -> Tensor:
        batch, length, hidden = x.shape
        size = hidden // self.heads
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, size).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, dropout_p=dropout if self.training else 0.0)
        mixed = self.out(mixed.transpose(1, 2).reshape(batch, length, hidden))
        return self.norm(x + F.dropout(mixed, dropout, self.training))


class Layer(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention = Attention(shape)
        self.inner = nn.Linear(shape.hidden, shape.inner)
        self.outer = nn.Linear(shape.inner, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)

    def forward(self, x: Tensor, bias: Tensor, dropout: float) -> Tensor:
        x = self.attention(x, bias, dropout)
        moved = self.outer(F.gelu(self.inner(x)))
        return self.norm(x + F.dropout(moved, dropout, self.training))


class Encoder(nn.Module):
    """MPNet, with one table of relative position biases for all layers; or BERT, with none and a table of sides."""

    def __init__(self, shape: Shape, dropout: float = 0.1) -> None:
        super().__init__()
        self.shape = shape
        self.dropout = dropout
        self.words = nn.Embedding(shape.vocabulary, shape.hidden, padding_idx=1)
        self.positions = nn.Embedding(shape.positions, shape.hidden)
        self.sides = nn.Embedding(shape.sides, shape.hidden) if shape.sides else None
        self.norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)
        self.relative = nn.Embedding(shape.buckets, shape.heads) if shape.buckets else None
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))

    def bias(self, length: int, mask: Tensor, dtype: torch.dtype) -> Tensor:
        """[batch, heads, length, length]: the relative bias, and minus infinity on padding."""
        hidden = (1.0 - mask.float())[:, None, None, :] * -10000.0
        if self.relative is None:
            return hidden.expand(-1, -1, length, -1).to(dtype)
        at = torch.arange(length, device=mask.device)
        table = self.relative(_bucket(at[None, :] - at[:, None], self.shape.buckets)).permute(2, 0, 1)[None]
        return (table + hidden).to(dtype)

    def embed(self, ids: Tensor, statement: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1], device=ids.device) + self.shape.first_position
        x = self.words(ids) + self.positions(places)[None]
        if self.sides is not None:
            x = x + self.sides(statement.long())
        return F.dropout(self.norm(x), self.dropout, self.training)

    def forward(self, ids: Tensor, mask: Tensor, statement: Tensor) -> Tensor:
        x = self.embed(ids, statement)
        dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else x.dtype
        bias = self.bias(ids.shape[1], mask, dtype)
        for layer in self.layers:
            x = layer(x, bias, self.dropout)
        return x


def _bucket(relative: Tensor, buckets: int, furthest: int = 128) -> Tensor:
    """MPNet's bucket of a relative position (transformers' `relative_position_bucket`)."""
    n = -relative
    half = buckets // 2
    side = (n < 0).long() * half
    n = n.abs()
    exact = half // 2
    log = exact + (torch.log(n.float().clamp(min=1) / exact) / math.log(furthest / exact) * (half - exact)).long()
    return side + torch.where(n < exact, n, log.clamp(max=half - 1))


class Reader(nn.Module):
    """The encoder with its heads; every head reads the mean over the row's tokens, `place` the single tokens."""

    def __init__(self, shape: Shape | None = None, dropout: float = 0.1) -> None:
        super().__init__()
        self.shape = shape or Shape()
        self.encoder = Encoder(self.shape, dropout)
        hidden = self.shape.hidden
        self.heads = nn.ModuleDict(
            {
                "verdict": nn.Linear(3 * hidden, 3),
                "kind": nn.Linear(3 * hidden, len(CONTRADICTION_KINDS) + len(INVENTION_KINDS)),
                "severity": nn.Linear(3 * hidden, 1),
                "expert": nn.Linear(3 * hidden, 1),
                "quality": nn.Linear(3 * hidden, 1),
                "place": nn.Linear(hidden, 1),
            }
        )

    def forward(self, ids: Tensor, mask: Tensor, statement: Tensor) -> dict[str, Tensor]:
        """ids, mask, statement: [batch, length]; `statement` is 1 on the statement's tokens."""
        return self.answers(self.encoder(ids, mask, statement).float(), mask, statement)

    def answers(self, x: Tensor, mask: Tensor, statement: Tensor) -> dict[str, Tensor]:
        """The heads' answers from the encoder's states."""
        every, own = mask.float()[..., None], statement.float()[..., None]
        pooled = torch.cat([_mean(x, every), _mean(x, own), x[:, 0]], 1)
        out = {name: head(pooled) for name, head in self.heads.items() if name != "place"}
        out["place"] = self.heads["place"](x)[..., 0]
        return out

    def save(self, folder: Path) -> None:
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        state = {name: value.detach().cpu().half().contiguous() for name, value in self.state_dict().items()}
        save_file(state, str(folder / "reader.safetensors"))
        (folder / "reader.json").write_text(json.dumps(asdict(self.shape)) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, dropout: float = 0.0) -> Reader:
        from safetensors.torch import load_file

        shape = Shape(**json.loads((folder / "reader.json").read_text(encoding="utf-8")))
        reader = cls(shape, dropout)
        reader.load_state_dict({k: v.float() for k, v in load_file(str(folder / "reader.safetensors")).items()})
        return reader


def _mean(x: Tensor, weight: Tensor) -> Tensor:
    return (x * weight).sum(1) / weight.sum(1).clamp(min=1.0)


def from_mpnet(state: dict[str, Any], shape: Shape | None = None, dropout: float = 0.1) -> Reader:
    """A reader on the weights of an MPNet of transformers (all-mpnet-base-v2); heads start at small random values."""
    reader = Reader(shape, dropout)
    encoder = reader.encoder
    state = {name.removeprefix("mpnet."): value.float() for name, value in state.items()}
    take = {
        "words.weight": "embeddings.word_embeddings.weight",
        "positions.weight": "embeddings.position_embeddings.weight",
        "norm.weight": "embeddings.LayerNorm.weight",
        "norm.bias": "embeddings.LayerNorm.bias",
        "relative.weight": "encoder.relative_attention_bias.weight",
    }
    own = {ours: state[theirs] for ours, theirs in take.items()}
    for i in range(reader.shape.layers):
        theirs, ours = f"encoder.layer.{i}.", f"layers.{i}."
        for kind in ("weight", "bias"):
            parts = [state[f"{theirs}attention.attn.{name}.{kind}"] for name in "qkv"]
            own[f"{ours}attention.qkv.{kind}"] = torch.cat(parts)
            own[f"{ours}attention.out.{kind}"] = state[f"{theirs}attention.attn.o.{kind}"]
            own[f"{ours}attention.norm.{kind}"] = state[f"{theirs}attention.LayerNorm.{kind}"]
            own[f"{ours}inner.{kind}"] = state[f"{theirs}intermediate.dense.{kind}"]
            own[f"{ours}outer.{kind}"] = state[f"{theirs}output.dense.{kind}"]
            own[f"{ours}norm.{kind}"] = state[f"{theirs}output.LayerNorm.{kind}"]
    encoder.load_state_dict(own)
    return reader


def from_bert(state: dict[str, Any], tables: dict[str, Any], layers: int, dropout: float = 0.1) -> Reader:
    """A small reader: the layers of a BERT of transformers on embedding tables that are given and stay as they are.

    Its rows are the large reader's: word ids are those of MPNet's vocabulary, which is BERT's, shifted by four.
    """
    hidden = tables["words"].shape[1]
    inner = state["encoder.layer.0.intermediate.dense.weight"].shape[0]
    words = torch.zeros(30527, hidden)
    words[5:30526] = tables["words"][1:30522]
    for mpnet, bert in ((0, 101), (1, 0), (2, 102), (3, 100), (30526, 103)):
        words[mpnet] = tables["words"][bert]
    shape = Shape(30527, hidden, layers, 12, inner, len(tables["positions"]), 0, 0, 2, 1e-12)
    reader = Reader(shape, dropout)
    own = {
        "words.weight": words,
        "positions.weight": tables["positions"],
        "sides.weight": tables["sides"],
        "norm.weight": tables["gain"],
        "norm.bias": tables["shift"],
    }
    for i in range(layers):
        theirs, ours = f"encoder.layer.{i}.", f"layers.{i}."
        for kind in ("weight", "bias"):
            names = ("query", "key", "value")
            own[f"{ours}attention.qkv.{kind}"] = torch.cat([state[f"{theirs}attention.self.{n}.{kind}"] for n in names])
            own[f"{ours}attention.out.{kind}"] = state[f"{theirs}attention.output.dense.{kind}"]
            own[f"{ours}attention.norm.{kind}"] = state[f"{theirs}attention.output.LayerNorm.{kind}"]
            own[f"{ours}inner.{kind}"] = state[f"{theirs}intermediate.dense.{kind}"]
            own[f"{ours}outer.{kind}"] = state[f"{theirs}output.dense.{kind}"]
            own[f"{ours}norm.{kind}"] = state[f"{theirs}output.LayerNorm.{kind}"]
    reader.encoder.load_state_dict({name: torch.as_tensor(value).float() for name, value in own.items()})
    for name, value in reader.encoder.named_parameters():
        if not name.startswith("layers"):
            value.requires_grad_(False)
    return reader
