"""The reader: an MPNet encoder that reads a text and a statement together, and its heads.

A row is `<s> text </s> </s> statement </s>`. The heads answer, for the pair: the verdict (supported, not stated,
contradicted), the kind of error, its severity, the expert's 0–5 score of a report pair, and, for each token of the
text, whether it belongs to the words that decide. A second set of heads answers after the first few layers: that is
the fast model, and where it is sure the other layers need not be run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from medassay.spans import CONTRADICTION_KINDS, INVENTION_KINDS

FIRST_POSITION = 2
"""MPNet's positions are counted from here."""

EPSILON = 1e-5


@dataclass(frozen=True)
class Shape:
    """Sizes of the encoder."""

    vocabulary: int = 30527
    hidden: int = 768
    layers: int = 12
    heads: int = 12
    inner: int = 3072
    positions: int = 514
    buckets: int = 32
    early: int = 4
    """Layers after which the early heads answer."""


class Attention(nn.Module):
    """Self-attention with a bias on relative positions, added and normalised."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.qkv = nn.Linear(shape.hidden, 3 * shape.hidden)
        self.out = nn.Linear(shape.hidden, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=EPSILON)

    def forward(self, x: Tensor, bias: Tensor, dropout: float) -> Tensor:
        """States [batch, length, hidden] after attention; `bias` is added to its scores."""
        batch, length, hidden = x.shape
        size = hidden // self.heads
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, size).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        mixed = self.out(mixed.transpose(1, 2).reshape(batch, length, hidden))
        return self.norm(x + F.dropout(mixed, dropout, self.training))


class Layer(nn.Module):
    """One layer of the encoder."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention = Attention(shape)
        self.inner = nn.Linear(shape.hidden, shape.inner)
        self.outer = nn.Linear(shape.inner, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=EPSILON)

    def forward(self, x: Tensor, bias: Tensor, dropout: float) -> Tensor:
        """States [batch, length, hidden] after the layer."""
        x = self.attention(x, bias, dropout)
        moved = self.outer(F.gelu(self.inner(x)))
        return self.norm(x + F.dropout(moved, dropout, self.training))


class Encoder(nn.Module):
    """MPNet: absolute positions from 2, one table of relative position biases for all layers."""

    def __init__(self, shape: Shape, dropout: float = 0.1) -> None:
        super().__init__()
        self.shape = shape
        self.dropout = dropout
        self.words = nn.Embedding(shape.vocabulary, shape.hidden, padding_idx=1)
        self.positions = nn.Embedding(shape.positions, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=EPSILON)
        self.relative = nn.Embedding(shape.buckets, shape.heads)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))

    def bias(self, length: int, mask: Tensor, dtype: torch.dtype) -> Tensor:
        """[batch, heads, length, length]: the relative bias, and minus infinity on padding."""
        hidden = (1.0 - mask.float())[:, None, None, :] * -10000.0
        # The sum keeps the layout of the looked-up table, with which attention would be computed the slow way.
        return (self.relative_bias(length, mask.device) + hidden).to(dtype).contiguous()

    def relative_bias(self, length: int, device: torch.device) -> Tensor:
        """[1, heads, length, length]: what each pair of positions adds to the scores of attention."""
        positions = torch.arange(length, device=device)
        # Positions are 1 - length to length - 1 apart: that many are looked up, and laid out for all pairs.
        buckets = _bucket(torch.arange(1 - length, length, device=device), self.shape.buckets)
        table = F.embedding(positions[None, :] - positions[:, None] + length - 1, self.relative(buckets))
        return table.permute(2, 0, 1)[None]

    def embed(self, ids: Tensor) -> Tensor:
        """The states where the first layer begins."""
        positions = torch.arange(ids.shape[1], device=ids.device) + FIRST_POSITION
        return F.dropout(self.norm(self.words(ids) + self.positions(positions)[None]), self.dropout, self.training)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The states after the early layers and after the last."""
        x = self.embed(ids)
        device = x.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
        bias = self.bias(ids.shape[1], mask, dtype)
        early = x
        for number, layer in enumerate(self.layers, start=1):
            x = layer(x, bias, self.dropout)
            if number == self.shape.early:
                early = x
        return early, x


def _bucket(relative: Tensor, buckets: int, furthest: int = 128) -> Tensor:
    """MPNet's bucket of a relative position (transformers' `relative_position_bucket`)."""
    n = -relative
    half = buckets // 2
    side = (n < 0).long() * half
    n = n.abs()
    exact = half // 2
    log = exact + (torch.log(n.float().clamp(min=1) / exact) / math.log(furthest / exact) * (half - exact)).long()
    return side + torch.where(n < exact, n, log.clamp(max=half - 1))


class Heads(nn.ModuleDict):
    """Every head reads the mean over the row's tokens, over the statement's, and the first; `place` single tokens."""

    def __init__(self, hidden: int) -> None:
        kinds = len(CONTRADICTION_KINDS) + len(INVENTION_KINDS)
        sizes = {"verdict": 3, "kind": kinds, "severity": 1, "expert": 1, "quality": 1}
        heads = {name: nn.Linear(3 * hidden, size) for name, size in sizes.items()}
        super().__init__(heads | {"place": nn.Linear(hidden, 1)})

    def forward(self, x: Tensor, mask: Tensor, statement: Tensor) -> dict[str, Tensor]:
        """x: [batch, length, hidden] states; mask, statement: [batch, length], 1 on tokens, on the statement's."""
        of_row, of_statement = mask.float()[..., None], statement.float()[..., None]
        pooled = torch.cat([_mean(x, of_row), _mean(x, of_statement), x[:, 0]], 1)
        answers = {name: head(pooled) for name, head in self.items() if name != "place"}
        answers["place"] = self["place"](x)[..., 0]
        return answers


class Reader(nn.Module):
    """The encoder with its heads, and the early heads."""

    def __init__(self, shape: Shape | None = None, dropout: float = 0.1) -> None:
        super().__init__()
        self.shape = shape or Shape()
        self.encoder = Encoder(self.shape, dropout)
        self.heads = Heads(self.shape.hidden)
        self.early_heads = Heads(self.shape.hidden)

    def forward(self, ids: Tensor, mask: Tensor, statement: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The early heads' answers and the heads' answers; ids, mask, statement: [batch, length]."""
        return self.answers(self.encoder(ids, mask), mask, statement)

    def answers(
        self, states: tuple[Tensor, Tensor], mask: Tensor, statement: Tensor
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """The same from the encoder's early and last states."""
        early, last = states
        return self.early_heads(early.float(), mask, statement), self.heads(last.float(), mask, statement)


def _mean(x: Tensor, weight: Tensor) -> Tensor:
    return (x * weight).sum(1) / weight.sum(1).clamp(min=1.0)


def from_mpnet(state: dict[str, Any], shape: Shape | None = None, dropout: float = 0.1) -> Reader:
    """A reader on the weights of an MPNet of transformers (all-mpnet-base-v2); heads start at small random values."""
    state = {name.removeprefix("mpnet."): value.float() for name, value in state.items()}
    reader = Reader(shape or _shape_of(state), dropout)
    encoder = reader.encoder
    names = {
        "words.weight": "embeddings.word_embeddings.weight",
        "positions.weight": "embeddings.position_embeddings.weight",
        "norm.weight": "embeddings.LayerNorm.weight",
        "norm.bias": "embeddings.LayerNorm.bias",
        "relative.weight": "encoder.relative_attention_bias.weight",
    }
    renamed = {ours: state[theirs] for ours, theirs in names.items()}
    for i in range(reader.shape.layers):
        theirs, ours = f"encoder.layer.{i}.", f"layers.{i}."
        for kind in ("weight", "bias"):
            parts = [state[f"{theirs}attention.attn.{name}.{kind}"] for name in "qkv"]
            renamed[f"{ours}attention.qkv.{kind}"] = torch.cat(parts)
            renamed[f"{ours}attention.out.{kind}"] = state[f"{theirs}attention.attn.o.{kind}"]
            renamed[f"{ours}attention.norm.{kind}"] = state[f"{theirs}attention.LayerNorm.{kind}"]
            renamed[f"{ours}inner.{kind}"] = state[f"{theirs}intermediate.dense.{kind}"]
            renamed[f"{ours}outer.{kind}"] = state[f"{theirs}output.dense.{kind}"]
            renamed[f"{ours}norm.{kind}"] = state[f"{theirs}output.LayerNorm.{kind}"]
    encoder.load_state_dict(renamed)
    return reader


def _shape_of(state: dict[str, Any]) -> Shape:
    """The sizes of an MPNet, read off its weights."""
    vocabulary, hidden = state["embeddings.word_embeddings.weight"].shape
    buckets, heads = state["encoder.relative_attention_bias.weight"].shape
    layers = len({name.split(".")[2] for name in state if name.startswith("encoder.layer.")})
    inner = len(state["encoder.layer.0.intermediate.dense.bias"])
    positions = len(state["embeddings.position_embeddings.weight"])
    return Shape(vocabulary, hidden, layers, heads, inner, positions, buckets, min(Shape.early, layers - 1))
