"""Relations and assertions in one pass: all entities are marked at once, then pairs and spans are read.

Every token carries the tag of the entity it belongs to (a typed entity marker, added to the hidden
state where the task's own layers begin), so one pass over a window serves all its pairs and all its
assertions, where a marker sequence per pair would need one pass each.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from medassay.spans import ASSERTIONS, ENTITY_TYPES, RELATION_TYPES
from medassay.training.annotation import Entity, Segment
from medassay.training.bert import SplitEncoder, load_encoder, load_tokenizer
from medassay.training.graph_weights import encoder_of, is_model_set, load_part
from medassay.training.loop import Schedule, buckets, fit, padded, padded_ids, pick_device, set_seed
from medassay.training.ner import Words, words_of

FAR = 40
ORDER = 10
COMPATIBLE = frozenset(RELATION_TYPES)


class RelationModel(nn.Module):
    """Tags in, one score per pair and three scores per entity out."""

    def __init__(self, encoder: SplitEncoder, dropout: float = 0.15) -> None:
        super().__init__()
        size = encoder.size
        self.encoder = encoder
        self.tags = nn.Embedding(1 + 2 * len(ENTITY_TYPES), size)
        nn.init.normal_(self.tags.weight, std=0.1)
        self.distance = nn.Embedding(2 * FAR + 1, 32)
        self.order = nn.Embedding(2 * ORDER + 1, 32)
        self.pair = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(4 * size + 64, 256), nn.GELU(), nn.Dropout(dropout), nn.Linear(256, 1)
        )
        self.assertion = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(2 * size, 128), nn.GELU(), nn.Linear(128, len(ASSERTIONS))
        )

    def read(
        self,
        hidden: Tensor,
        mask: Tensor,
        tags: Tensor,
        row: Tensor,
        first: Tensor,
        last: Tensor,
        head: Tensor,
        tail: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Pair scores [pairs] and assertion scores [entities, 3] from the trunk's hidden states.

        Entity e stands in batch row `row[e]` over pieces `first[e]`…`last[e]`; pair p joins entities
        `head[p]` and `tail[p]`. Entities of a row are listed in the order of the text.
        """
        states = self.encoder.upper(hidden + self.tags(tags), mask)
        width = hidden.shape[1]
        flat = states.reshape(-1, states.shape[2])
        spans = torch.cat([flat[row * width + first], flat[row * width + last]], -1)
        gap = (first[tail] - first[head]).clamp(-FAR, FAR) + FAR
        steps = (tail - head).clamp(-ORDER, ORDER) + ORDER
        pairs = torch.cat([spans[head], spans[tail], self.distance(gap), self.order(steps)], -1)
        return self.pair(pairs)[:, 0], self.assertion(spans)

    def forward(self, ids: Tensor, mask: Tensor, tags: Tensor, *places: Tensor) -> tuple[Tensor, Tensor]:
        """Pair scores [pairs] and assertion scores [entities, 3] of token ids (`read` describes the other inputs)."""
        hidden = self.encoder.below(ids, mask, torch.zeros_like(ids))
        return self.read(hidden, mask, tags, *places)


@dataclass(frozen=True, slots=True)
class Marked:
    """A tokenised segment with its entities in pieces and its pairs.

    `pairs` are all type-compatible (head, tail) indices, `related` whether the annotation joins them.
    """

    ids: list[int]
    tags: list[int]
    first: list[int]
    last: list[int]
    types: list[str]
    assertions: list[int]
    pairs: list[tuple[int, int]]
    related: list[bool]
    weight: float = 1.0


def compatible_pairs(types: Sequence[str]) -> list[tuple[int, int]]:
    """All (head, tail) indices whose types may be related."""
    return [(i, j) for i, a in enumerate(types) for j, b in enumerate(types) if i != j and (a, b) in COMPATIBLE]


def mark(words: Words, entities: Sequence[Entity], relations: frozenset[tuple[int, int]]) -> Marked | None:
    """Tags and pairs of a tokenised text; None where no entity falls on a word."""
    tags = [0] * len(words.ids)
    first, last, types, assertions, kept = [], [], [], [], []
    ends = [*words.first[1:], len(words.ids) - 1]
    for number, entity in enumerate(entities):
        inside = [i for i, (s, e) in enumerate(words.spans) if s < entity.end and e > entity.start]
        if not inside:
            continue
        begin, end = words.first[inside[0]], ends[inside[-1]] - 1
        kind = ENTITY_TYPES.index(entity.type)
        tags[begin : end + 1] = [2 + 2 * kind] * (end + 1 - begin)
        tags[begin] = 1 + 2 * kind
        first.append(begin)
        last.append(end)
        types.append(entity.type)
        assertions.append(ASSERTIONS.index(entity.assertion))
        kept.append(number)
    if not kept:
        return None
    pairs = compatible_pairs(types)
    related = [(kept[h], kept[t]) in relations for h, t in pairs]
    return Marked(list(words.ids), tags, first, last, types, assertions, pairs, related)


def jitter(segment: Segment, words: Words, shuffler: random.Random, rate: float) -> Segment:
    """`segment` as an imperfect reader would mark it: entities lost or with a boundary off by a word."""
    entities: list[Entity] = []
    kept: dict[int, int] = {}
    taken = [(e.start, e.end) for e in segment.entities]
    for number, entity in enumerate(segment.entities):
        draw = shuffler.random()
        if draw < rate / 2:
            continue
        if draw < rate:
            inside = [i for i, (s, e) in enumerate(words.spans) if s < entity.end and e > entity.start]
            i, j = inside[0], inside[-1]
            side, step = shuffler.random() < 0.5, shuffler.choice((-1, 1))
            i, j = (i + step, j) if side else (i, j + step)
            if 0 <= i <= j < len(words.spans):
                start, end = words.spans[i][0], words.spans[j][1]
                if all(end <= s or start >= e for n, (s, e) in enumerate(taken) if n != number):
                    entity = replace(entity, start=start, end=end)
                    taken[number] = (start, end)
        kept[number] = len(entities)
        entities.append(entity)
    links = frozenset((kept[h], kept[t]) for h, t in segment.relations if h in kept and t in kept)
    return replace(segment, entities=tuple(entities), relations=links)


def _tensors(items: Sequence[Marked], device: torch.device) -> tuple[list[Tensor], list[int]]:
    """Model inputs of a batch and the number of the first entity of each item."""
    ids, mask = padded_ids([m.ids for m in items], device, 0)
    tags = padded([m.tags for m in items], device)
    row: list[int] = []
    first: list[int] = []
    last: list[int] = []
    head: list[int] = []
    tail: list[int] = []
    starts: list[int] = []
    for i, m in enumerate(items):
        offset = len(row)
        starts.append(offset)
        row += [i] * len(m.first)
        first += m.first
        last += m.last
        head += [offset + h for h, _ in m.pairs]
        tail += [offset + t for _, t in m.pairs]
    places = [torch.tensor(x, dtype=torch.long, device=device) for x in (row, first, last, head, tail)]
    return [ids, mask, tags, *places], starts


def relation_loss(model: RelationModel, items: Sequence[Marked]) -> Tensor:
    """Cross-entropy of assertions and of pairs, related and unrelated ones."""
    device = model.tags.weight.device
    inputs, _ = _tensors(items, device)
    scores, stances = model(*inputs)
    related = np.array([r for m in items for r in m.related], np.float32)
    weights = np.array([m.weight for m in items for _ in m.related], np.float32)
    gold = torch.tensor([a for m in items for a in m.assertions], device=device)
    doubt = torch.tensor([m.weight for m in items for _ in m.assertions], device=device)
    loss = (F.cross_entropy(stances.float(), gold, reduction="none") * doubt).mean()
    if len(related):
        target = torch.from_numpy(related).to(device)
        weight = torch.from_numpy(weights).to(device)
        losses = F.binary_cross_entropy_with_logits(scores.float(), target, reduction="none")
        loss = loss + (losses * weight).sum() / weight.sum().clamp(min=1.0)
    return loss


def relation_batches(
    segments: Sequence[Segment], words: Sequence[Words], batch: int, seed: int, noise: float = 0.0
) -> list[list[Marked]]:
    """One epoch of marked segments, spoilt by `noise`, in batches of like length."""
    shuffler = random.Random(seed)
    items: list[Marked] = []
    for segment, tokens in zip(segments, words):
        noisy = jitter(segment, tokens, shuffler, noise) if noise else segment
        marked = mark(tokens, noisy.entities, noisy.relations)
        if marked is not None:
            items.append(replace(marked, weight=segment.weight))
    return [[items[i] for i in group] for group in buckets([len(m.ids) for m in items], batch, seed)]


def predict_relations(
    model: RelationModel, items: Sequence[Marked], batch: int = 96
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Probability of each pair [pairs] and of each assertion [entities, 3], per item."""
    device = model.tags.weight.device
    out = []
    model.eval()
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
        for start in range(0, len(items), batch):
            chunk = items[start : start + batch]
            inputs, starts = _tensors(chunk, device)
            scores, stances = model(*inputs)
            linked = torch.sigmoid(scores.float()).cpu().numpy()
            stance = torch.softmax(stances.float(), -1).cpu().numpy()
            first_pair = 0
            for m, begin in zip(chunk, starts):
                out.append((linked[first_pair : first_pair + len(m.pairs)], stance[begin : begin + len(m.first)]))
                first_pair += len(m.pairs)
    return out


def train_re(
    train: Sequence[Segment],
    base: str | Path,
    plan: Schedule,
    shared: int = 3,
    noise: float = 0.1,
) -> tuple[RelationModel, Any]:
    """Train a relation and assertion model; returns the model and its tokenizer.

    Args:
        base: a BERT, of which `shared` layers are frozen, or a model set, whose relation model is trained further.
        noise: share of the entities that are lost or shifted by a word, as an imperfect reader would mark them.
    """
    set_seed(plan.seed)
    tokenizer = load_tokenizer(base)
    encoder = encoder_of(base, "re") if is_model_set(base) else load_encoder(base, shared)
    assert isinstance(encoder, SplitEncoder)
    model = RelationModel(encoder)
    if is_model_set(base):
        load_part(model, base, "re")
    model.to(pick_device())
    words = [words_of(tokenizer, s.text) for s in train]

    def batches(epoch: int) -> list[list[Marked]]:
        # Every second epoch sees the annotation as it is.
        return relation_batches(train, words, plan.batch, plan.seed * 7919 + epoch, noise if epoch % 2 else 0.0)

    fit(model, batches, lambda items: relation_loss(model, items), plan)
    return model, tokenizer
