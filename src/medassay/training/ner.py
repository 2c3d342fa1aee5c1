"""Entities: a token classifier over BIO labels, trained on annotated segments.

A word is scored at its first piece; `medassay.models.decoding` turns word scores into spans, here for
the held-out figures and at run time alike.
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

from medassay.models.decoding import WordSpan, bio_labels, decode_spans
from medassay.spans import ENTITY_TYPES
from medassay.training.annotation import Segment, set_f1
from medassay.training.bert import Encoder, load_encoder, load_tokenizer
from medassay.training.graph_weights import encoder_of, is_model_set, load_part
from medassay.training.loop import Schedule, buckets, fit, padded_ids, pick_device, set_seed


@dataclass(frozen=True, slots=True)
class Words:
    """A tokenised text: piece ids with the frame tokens, and its words.

    `first` is the piece index of each word's first piece, `spans` its characters, `labels` what to learn;
    `weight` scales the loss.
    """

    ids: list[int]
    first: list[int]
    spans: list[tuple[int, int]]
    labels: list[int] | None = None
    weight: float = 1.0


def words_of(tokenizer: Any, text: str, limit: int = 510) -> Words:
    """Pieces and words of `text`; a word is a piece that does not continue the one before (no `##`)."""
    encoding = tokenizer.encode(text)
    first: list[int] = []
    spans: list[tuple[int, int]] = []
    for i, (token, (start, end), special) in enumerate(
        zip(encoding.tokens, encoding.offsets, encoding.special_tokens_mask)
    ):
        if special:
            continue
        if token.startswith("##") and spans:
            spans[-1] = (spans[-1][0], end)
        else:
            first.append(i)
            spans.append((start, end))
    ids = list(encoding.ids)
    if len(ids) > limit + 2:
        ids = [*ids[: limit + 1], ids[-1]]
        spans = spans[: sum(i <= limit for i in first)]
        first = first[: len(spans)]
    return Words(ids, first, spans)


def with_gold(words: Words, segment: Segment, labels: Sequence[str]) -> Words:
    """`words` with a BIO label each; an entity covers every word it shares a character with."""
    number = {name: i for i, name in enumerate(labels)}
    gold = [0] * len(words.spans)
    for entity in segment.entities:
        if f"B-{entity.type}" not in number:
            continue
        inside = [i for i, (s, e) in enumerate(words.spans) if s < entity.end and e > entity.start]
        for i in inside:
            gold[i] = number[f"I-{entity.type}"]
        if inside:
            gold[inside[0]] = number[f"B-{entity.type}"]
    return replace(words, labels=gold, weight=segment.weight)


class EntityModel(nn.Module):
    """Encoder and one linear layer from hidden state to label scores."""

    def __init__(self, encoder: Encoder, labels: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(encoder.size, labels)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Label scores [rows, length, labels]."""
        hidden = self.encoder(ids, mask, torch.zeros_like(ids))
        return self.head(self.dropout(hidden))  # type: ignore[no-any-return]


def _joined(a: Words, b: Words) -> Words:
    """Two texts as one window, so that the model meets windows of several sentences."""
    shift = len(a.ids) - 2
    if a.labels is None or b.labels is None:
        return a
    return Words(
        [*a.ids[:-1], *b.ids[1:]],
        [*a.first, *(i + shift for i in b.first)],
        [*a.spans, *b.spans],
        [*a.labels, *b.labels],
        (a.weight + b.weight) / 2,
    )


def entity_loss(model: EntityModel, items: Sequence[Words]) -> Tensor:
    """Cross-entropy over words."""
    device = model.head.weight.device
    ids, mask = padded_ids([w.ids for w in items], device, model.encoder.pad)
    logits = model(ids, mask).float()
    width = logits.shape[1]
    rows = np.concatenate([np.asarray(w.first) + i * width for i, w in enumerate(items)])
    chosen = logits.reshape(-1, logits.shape[2])[torch.from_numpy(rows).to(device)]
    gold = torch.tensor([label for w in items for label in w.labels or ()], device=device)
    weight = torch.tensor([w.weight for w in items for _ in w.first], device=device)
    losses = F.cross_entropy(chosen, gold, reduction="none")
    return (losses * weight).sum() / weight.sum()


def entity_batches(gold: Sequence[Words], batch: int, seed: int, join: float = 0.3) -> list[list[Words]]:
    """One epoch: texts, some joined two by two, in batches of like length."""
    shuffler = random.Random(seed)
    items = list(gold)
    shuffler.shuffle(items)
    joined: list[Words] = []
    while items:
        a = items.pop()
        if items and shuffler.random() < join and len(a.ids) + len(items[-1].ids) < 500:
            a = _joined(a, items.pop())
        joined.append(a)
    return [[joined[i] for i in group] for group in buckets([len(w.ids) for w in joined], batch, seed)]


def predict_logits(model: EntityModel, texts: Sequence[Words], batch: int = 128) -> list[NDArray[np.float32]]:
    """Label scores [words, labels] of each text, in order."""
    device = model.head.weight.device
    order = sorted(range(len(texts)), key=lambda i: len(texts[i].ids))
    out: list[NDArray[np.float32]] = [np.zeros((0, 1), np.float32)] * len(texts)
    model.eval()
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
        for start in range(0, len(order), batch):
            chunk = order[start : start + batch]
            ids, mask = padded_ids([texts[i].ids for i in chunk], device, model.encoder.pad)
            logits = model(ids, mask).float().cpu().numpy()
            for row, i in enumerate(chunk):
                out[i] = logits[row, texts[i].first]
    return out


def char_spans(words: Words, spans: Sequence[WordSpan]) -> set[tuple[int, int, str]]:
    """Word spans as (start, end, type) in characters."""
    return {(words.spans[s.first][0], words.spans[s.last][1], s.type) for s in spans}


def span_f1(
    gold: Sequence[set[tuple[int, int, str]]],
    predicted: Sequence[set[tuple[int, int, str]]],
    types: Sequence[str] = ENTITY_TYPES,
) -> dict[str, float]:
    """Strict precision, recall and F1 (0–1, higher is better): same characters and same type."""
    return set_f1(*([{span for span in spans if span[2] in types} for spans in side] for side in (gold, predicted)))


def gold_spans(segment: Segment) -> set[tuple[int, int, str]]:
    """The annotated entities as (start, end, type)."""
    return {(e.start, e.end, e.type) for e in segment.entities}


def train_ner(
    train: Sequence[Segment],
    base: str | Path,
    plan: Schedule,
    shared: int = -1,
) -> tuple[EntityModel, Any]:
    """Train an entity model on `train`; returns the model and its tokenizer.

    Args:
        base: a BERT, of which `shared` layers are frozen, or a model set, whose entity model is trained further.
    """
    set_seed(plan.seed)
    tokenizer = load_tokenizer(base)
    labels = bio_labels()
    gold = [with_gold(words_of(tokenizer, s.text), s, labels) for s in train]
    if is_model_set(base):
        model = EntityModel(encoder_of(base, "ner"), len(labels))
        load_part(model, base, "ner")
    else:
        model = EntityModel(load_encoder(base, shared), len(labels))
    model.to(pick_device())

    def batches(epoch: int) -> list[list[Words]]:
        return entity_batches(gold, plan.batch, plan.seed * 1009 + epoch)

    fit(model, batches, lambda items: entity_loss(model, items), plan)
    return model, tokenizer


def evaluate_ner(model: EntityModel, tokenizer: Any, test: Sequence[Segment]) -> list[list[WordSpan]]:
    """Decoded entities of each test segment."""
    labels = bio_labels()
    logits = predict_logits(model, [words_of(tokenizer, s.text) for s in test])
    return [decode_spans(x, labels) for x in logits]
