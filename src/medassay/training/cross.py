"""A cross-encoder over text pairs and how it is trained.

One model, several heads on the pooled state. A *class* head answers a question with one of n answers
(entailment, neutral, contradiction); a *share* head estimates numbers between 0 and 1 (quality).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from medassay.models.pairs import bert_frame, join_pair
from medassay.training.bert import Encoder
from medassay.training.loop import Schedule, fit, padded, padded_ids

Kind = Literal["class", "share"]
_Item = TypeVar("_Item", bound="Row")


@dataclass(frozen=True, slots=True)
class PairItem:
    """A tokenised pair and what is known of it: the class, or a share between 0 and 1."""

    ids: list[int]
    sides: list[int]
    target: float = 0.0


class PairTexts:
    """Tokenises pairs, each distinct text once and after `prepare`."""

    def __init__(self, tokenizer: Any, limit: int = 512, prepare: Callable[[str], str] = str) -> None:
        self.tokenizer, self.limit, self.prepare = tokenizer, limit, prepare
        self.frame = bert_frame(*(tokenizer.encode("a").ids[i] for i in (0, -1)))
        self._seen: dict[str, list[int]] = {}

    def ids(self, text: str) -> list[int]:
        """Piece ids of a text, without frame tokens."""
        if text not in self._seen:
            self._seen[text] = self.tokenizer.encode(self.prepare(text), add_special_tokens=False).ids
        return self._seen[text]

    def join(self, first: str, second: str) -> tuple[list[int], list[int]]:
        """Ids and sides of a pair in one row."""
        return join_pair(self.ids(first), self.ids(second), self.frame, self.limit)


class PairModel(nn.Module):
    """An encoder over both texts, and heads on the pooled state."""

    def __init__(self, encoder: Encoder, heads: Mapping[str, int], dropout: float = 0.1) -> None:
        super().__init__()
        self.encoder = encoder
        self.mix = nn.Linear(2 * encoder.size, encoder.size)
        self.dropout = nn.Dropout(dropout)
        self.heads = nn.ModuleDict({name: nn.Linear(encoder.size, size) for name, size in heads.items()})

    def judge(self, states: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """The heads' numbers [rows, size] from the last hidden states."""
        weights = mask[:, :, None].to(states.dtype)
        mean = (states * weights).sum(1) / weights.sum(1)
        pooled = self.dropout(torch.tanh(self.mix(torch.cat([states[:, 0], mean], -1))))
        return {name: head(pooled) for name, head in self.heads.items()}

    def forward(self, ids: Tensor, mask: Tensor, sides: Tensor) -> dict[str, Tensor]:
        """The heads' numbers [rows, size] of token ids, their mask and sides."""
        return self.judge(self.encoder(ids, mask, sides), mask)


class Row(Protocol):
    """A tokenised pair, whatever is known of it."""

    @property
    def ids(self) -> list[int]:
        """Token ids, frame tokens included."""

    @property
    def sides(self) -> list[int]:
        """0 on the first text, 1 on the second."""


def pair_inputs(model: PairModel, items: Sequence[Row]) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, mask and sides of a batch, on the model's device."""
    device = model.mix.weight.device
    ids, mask = padded_ids([item.ids for item in items], device, model.encoder.pad)
    return ids, mask, padded([item.sides for item in items], device)


def token_batches(items: Sequence[_Item], tokens: int, seed: int, pool: int = 600) -> list[list[_Item]]:
    """One epoch: pairs of like length in batches of at most `tokens` padded tokens, shuffled."""
    shuffler = random.Random(seed)
    order = list(items)
    shuffler.shuffle(order)
    batches: list[list[_Item]] = []
    for start in range(0, len(order), pool):
        batch: list[_Item] = []
        for item in sorted(order[start : start + pool], key=lambda item: len(item.ids)):
            if batch and (len(batch) + 1) * len(item.ids) > tokens:
                batches.append(batch)
                batch = []
            batch.append(item)
        batches.append(batch)
    shuffler.shuffle(batches)
    return batches


def fit_pairs(
    model: PairModel,
    head: str,
    kind: Kind,
    items: Sequence[PairItem],
    plan: Schedule,
    tokens: int = 8192,
    smooth: float = 0.05,
) -> list[float]:
    """Train one head; returns the mean loss of each epoch.

    Args:
        tokens: padded tokens of a batch.
        smooth: label smoothing of a class head.
    """

    def batches(epoch: int) -> list[list[PairItem]]:
        return token_batches(items, tokens, plan.seed * 7919 + epoch)

    def loss_of(batch: Sequence[PairItem]) -> Tensor:
        logits = model(*pair_inputs(model, batch))[head].float()
        target = torch.tensor([item.target for item in batch], device=logits.device)
        if kind == "class":
            return F.cross_entropy(logits, target.long(), label_smoothing=smooth)
        return F.binary_cross_entropy_with_logits(logits[:, 0], target)

    return fit(model, batches, loss_of, plan)


def predict_logits(model: PairModel, head: str, items: Sequence[Row], batch: int = 128) -> NDArray[np.float32]:
    """What a head says of each pair, [pairs, size], before softmax or sigmoid."""
    order = sorted(range(len(items)), key=lambda i: len(items[i].ids))
    out: list[NDArray[np.float32] | None] = [None] * len(items)
    device = model.mix.weight.device
    model.eval()
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
        for start in range(0, len(order), batch):
            chunk = order[start : start + batch]
            logits = model(*pair_inputs(model, [items[i] for i in chunk]))[head]
            for i, row in zip(chunk, logits.float().cpu().numpy()):
                out[i] = row
    return np.stack([row for row in out if row is not None])
