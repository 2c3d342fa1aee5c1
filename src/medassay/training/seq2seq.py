"""A small encoder–decoder for the likelihood of one text given another, with a copy mechanism.

The source is read by the shared trunk and own layers above it; a decoder with cross-attention predicts the
target piece by piece. Each piece is either written from the vocabulary or copied from the source (See et al.,
"Get To The Point", ACL 2017, section 2.2): a mixture of both whose share the decoder sets. The word table is
factorised (Lan et al., ALBERT, 2020, section 3.1), started from the trunk's own, and serves as input and output.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from medassay.training.bert import Layer, Layers, SplitEncoder, attention_bias

FLOOR = 1e-7
"""Added to the probability of copying, so that a piece which the source lacks has a finite logarithm."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the decoder: `narrow` is the width of the factorised word table, `copy` that of
    the copying reader's keys, `places` the longest target.
    """

    reader_layers: int = 1
    layers: int = 3
    inner: int = 896
    narrow: int = 120
    copy: int = 192
    places: int = 320


class Attention(nn.Module):
    """Multi-head attention of one text's states on another's (or on its own)."""

    def __init__(self, size: int, heads: int, drop: float) -> None:
        super().__init__()
        self.heads = heads
        self.drop = drop
        self.query, self.key, self.value, self.mix = (nn.Linear(size, size) for _ in range(4))

    def forward(self, hidden: Tensor, context: Tensor, bias: Tensor) -> Tensor:
        """States of `hidden` after attention to `context`."""

        def split(projected: Tensor) -> Tensor:
            rows, length, size = projected.shape
            return projected.view(rows, length, self.heads, size // self.heads).transpose(1, 2)

        query = split(self.query(hidden))
        drop = self.drop if self.training else 0.0
        attended = F.scaled_dot_product_attention(
            query, split(self.key(context)), split(self.value(context)), attn_mask=bias.to(query.dtype), dropout_p=drop
        )
        return self.mix(attended.transpose(1, 2).reshape(hidden.shape))  # type: ignore[no-any-return]


class DecoderLayer(nn.Module):
    """Attention to the target so far, attention to the source, feed-forward; each with a residual and a norm."""

    def __init__(self, config: dict[str, Any], inner: int) -> None:
        super().__init__()
        size, heads, eps = config["hidden_size"], config["num_attention_heads"], config["layer_norm_eps"]
        self.drop = config.get("hidden_dropout_prob", 0.1)
        self.own, self.cross = Attention(size, heads, self.drop), Attention(size, heads, self.drop)
        self.up, self.down = nn.Linear(size, inner), nn.Linear(inner, size)
        self.own_norm, self.cross_norm, self.down_norm = (nn.LayerNorm(size, eps=eps) for _ in range(3))

    def forward(self, hidden: Tensor, memory: Tensor, past: Tensor, bias: Tensor) -> Tensor:
        """States after the layer; `past` hides later target pieces, `bias` the padding of the source."""

        def dropped(x: Tensor) -> Tensor:
            return F.dropout(x, self.drop, self.training)

        hidden = self.own_norm(hidden + dropped(self.own(hidden, hidden, past)))
        hidden = self.cross_norm(hidden + dropped(self.cross(hidden, memory, bias)))
        return self.down_norm(hidden + dropped(self.down(F.gelu(self.up(hidden)))))  # type: ignore[no-any-return]


class Reader(nn.Module):
    """Own layers over the trunk's states of the source: hidden, mask → memory."""

    def __init__(self, config: dict[str, Any], layers: int) -> None:
        super().__init__()
        self.layers = Layers([Layer(config) for _ in range(layers)])

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """The source's memory [rows, length, size]."""
        return self.layers(hidden, mask)  # type: ignore[no-any-return]


class Writer(nn.Module):
    """The decoder: log-probability of each target piece, given the source's memory and the pieces before it."""

    def __init__(self, config: dict[str, Any], sizes: Sizes) -> None:
        super().__init__()
        size = config["hidden_size"]
        self.table = nn.Embedding(config["vocab_size"], sizes.narrow)
        self.widen = nn.Linear(sizes.narrow, size)
        self.place = nn.Embedding(sizes.places, size)
        self.norm = nn.LayerNorm(size, eps=config["layer_norm_eps"])
        self.layers = nn.ModuleList(DecoderLayer(config, sizes.inner) for _ in range(sizes.layers))
        self.narrow = nn.Linear(size, sizes.narrow)
        self.bias = nn.Parameter(torch.zeros(config["vocab_size"]))
        self.copy_query, self.copy_key = nn.Linear(size, sizes.copy), nn.Linear(2 * size, sizes.copy)
        self.share = nn.Linear(2 * size, 1)
        self.drop = config.get("hidden_dropout_prob", 0.1)

    def states(self, memory: Tensor, mask: Tensor, given: Tensor) -> Tensor:
        """Decoder states [rows, length, size] after the pieces `given` (which begin with a start piece)."""
        length = given.shape[1]
        places = torch.arange(length, device=given.device)
        hidden = self.norm(self.widen(self.table(given)) + self.place(places)[None])
        hidden = F.dropout(hidden, self.drop, self.training)
        past = (places[None, :] > places[:, None]).to(hidden.dtype)[None, None] * -1e4
        bias = attention_bias(mask, hidden.dtype)
        for layer in self.layers:
            hidden = layer(hidden, memory, past, bias)
        return hidden

    def copied(
        self, hidden: Tensor, memory: Tensor, mask: Tensor, source: Tensor, wanted: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Probability that the copying reader picks a source piece equal to the wanted one; the share of copying.

        The key of a source piece also holds the state of the piece before it: to go on copying is to find the
        place whose predecessor was just written.
        """
        before = torch.cat([memory[:, :1], memory[:, :-1]], 1)
        keys = self.copy_key(torch.cat([memory, before], -1))
        scores = self.copy_query(hidden) @ keys.transpose(1, 2) / math.sqrt(keys.shape[-1])
        looks = (scores.float() + attention_bias(mask, torch.float32)[:, 0]).softmax(-1)
        same = (source[:, None, :] == wanted[:, :, None]).to(looks.dtype)
        context = looks.to(memory.dtype) @ memory
        share = self.share(torch.cat([hidden, context], -1))[..., 0]
        return (looks * same).sum(-1), share.float()

    def written(self, hidden: Tensor, wanted: Tensor) -> Tensor:
        """Log-probability of the wanted pieces from the vocabulary, for flat states [n, size]."""
        logits = F.linear(self.narrow(hidden), self.table.weight, self.bias).float()
        return logits.gather(1, wanted[:, None])[:, 0] - logits.logsumexp(1)

    def forward(self, memory: Tensor, mask: Tensor, source: Tensor, given: Tensor, wanted: Tensor) -> Tensor:
        """Log-probabilities [rows, length] of `wanted`, where `given` is the start piece and wanted[:, :-1]."""
        hidden = self.states(memory, mask, given)
        copied, share = self.copied(hidden, memory, mask, source, wanted)
        flat = self.written(hidden.reshape(-1, hidden.shape[-1]), wanted.reshape(-1)).view(wanted.shape)
        return mixed(flat, copied, share)


def mixed(written: Tensor, copied: Tensor, share: Tensor) -> Tensor:
    """log(share · copied + (1 − share) · written), `share` before the sigmoid and `written` a logarithm."""
    from_copying, from_vocabulary = F.logsigmoid(share) + torch.log(copied + FLOOR), F.logsigmoid(-share) + written
    return torch.maximum(from_copying, from_vocabulary) + F.softplus(-(from_copying - from_vocabulary).abs())


class LikelihoodModel(nn.Module):
    """Frozen trunk, reader and writer."""

    def __init__(self, encoder: SplitEncoder, sizes: Sizes | None = None) -> None:
        super().__init__()
        self.sizes = sizes or Sizes()
        self.trunk = encoder.trunk
        self.trunk.requires_grad_(False)
        self.reader = Reader(encoder.config, self.sizes.reader_layers)
        self.writer = Writer(encoder.config, self.sizes)
        self._start(encoder)

    def _start(self, encoder: SplitEncoder) -> None:
        """Initialise from the encoder: its upper layers for the reader, its attention and word table for the writer."""
        for ours, theirs in zip(self.reader.layers.layers, encoder.upper.layers):
            ours.load_state_dict(theirs.state_dict())
        lower = [*encoder.trunk.lower.layers, *encoder.upper.layers]
        for n, layer in enumerate(self.writer.layers):
            for name in ("query", "key", "value", "mix"):
                getattr(layer.own, name).load_state_dict(getattr(lower[n], name).state_dict())
        words = encoder.trunk.embeddings.word.weight.detach().float()
        middle = words.mean(0)
        left, length, right = torch.linalg.svd(words - middle, full_matrices=False)
        kept = min(self.sizes.narrow, len(length))
        with torch.no_grad():
            self.writer.table.weight[:, :kept] = left[:, :kept] * length[:kept]
            self.writer.widen.weight[:, :kept] = right[:kept].t()
            self.writer.widen.bias.copy_(middle)
            self.writer.narrow.weight[:kept] = right[:kept]
            places = encoder.trunk.embeddings.place.weight.detach()
            self.writer.place.weight.copy_(places[: self.sizes.places])

    def read(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Memory of source windows: ids, mask → [windows, length, size]."""
        self.trunk.eval()
        with torch.no_grad():
            hidden = self.trunk(ids, mask, torch.zeros_like(ids))
        return self.reader(hidden, mask)  # type: ignore[no-any-return]

    def forward(self, windows: Tensor, window_mask: Tensor, places: Tensor, given: Tensor, wanted: Tensor) -> Tensor:
        """Log-probabilities of `wanted`; `places` [rows, source] index the flat window pieces, −1 is padding."""
        flat = self.read(windows, window_mask).reshape(-1, self.reader.layers.layers[0].query.in_features)
        mask = (places >= 0).long()
        rows = places.clamp(min=0)
        return self.writer(flat[rows], mask, windows.reshape(-1)[rows], given, wanted)  # type: ignore[no-any-return]
