"""Alignment of terms: synonyms of one concept get similar vectors, and the base's other similarities are kept.

SapBERT's idea (multi-similarity over synonyms of a terminology) with a second term that keeps the
cosine structure of the base on terms and sentences, because synonym training alone forgets relatedness.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from medassay.errors import InputError
from medassay.training.bert import Encoder, load_encoder, load_tokenizer
from medassay.training.loop import Schedule, fit, padded_ids, pick_device, set_seed


@dataclass(frozen=True, slots=True)
class Concept:
    """A concept of a terminology and all its names, the preferred one first."""

    id: str
    names: tuple[str, ...]


def read_concepts(path: Path) -> list[Concept]:
    """Concepts of a JSONL file: one `{"id", "names"}` per line; concepts with one name are kept as anchors."""
    concepts = []
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = json.loads(line)
                concepts.append(Concept(str(row["id"]), tuple(str(n) for n in row["names"])))
            except (json.JSONDecodeError, KeyError, TypeError) as error:
                raise InputError(f'{path}: line {number}: expected {{"id": …, "names": […]}} ({error!r})') from error
    return concepts


def held_out_concepts(concepts: Sequence[Concept], seed: int) -> list[Concept]:
    """A tenth (at most 2,000) of concepts that all have several names, drawn by `seed`; 20 are needed."""
    if len(concepts) < 20:
        raise InputError(f"alignment needs at least 20 concepts with two names or more; found {len(concepts)}")
    order = list(concepts)
    random.Random(seed).shuffle(order)
    return order[: max(1, min(2000, len(order) // 10))]


class SentenceModel(nn.Module):
    """Encoder, mean over tokens, unit length."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Unit vectors [rows, size] of token ids and their mask."""
        hidden = self.encoder(ids, mask, torch.zeros_like(ids)).float()
        weights = mask[:, :, None].float()
        return F.normalize((hidden * weights).sum(1) / weights.sum(1), dim=-1)


class Texts:
    """Token ids of texts, each text encoded once and cut at `limit` tokens."""

    def __init__(self, tokenizer: Any, limit: int = 128) -> None:
        self.tokenizer, self.limit = tokenizer, limit
        self._seen: dict[str, list[int]] = {}

    def ids(self, text: str) -> list[int]:
        """Ids with frame tokens."""
        if text not in self._seen:
            ids = self.tokenizer.encode(text).ids
            self._seen[text] = [*ids[: self.limit - 1], ids[-1]] if len(ids) > self.limit else ids
        return self._seen[text]


def embed(model: SentenceModel, texts: Texts, strings: Sequence[str], batch: int = 256) -> NDArray[np.float32]:
    """Unit vectors [strings, size], in order."""
    device = next(model.parameters()).device
    order = sorted(range(len(strings)), key=lambda i: len(texts.ids(strings[i])))
    embedded: NDArray[np.float32] | None = None
    model.eval()
    with torch.no_grad():
        for start in range(0, len(order), batch):
            chunk = order[start : start + batch]
            rows = [texts.ids(strings[i]) for i in chunk]
            vectors = model(*padded_ids(rows, device, model.encoder.pad)).cpu().numpy()
            if embedded is None:
                embedded = np.zeros((len(strings), vectors.shape[1]), np.float32)
            embedded[chunk] = vectors
    return embedded if embedded is not None else np.zeros((0, 0), np.float32)


def _contrast(vectors: Tensor, owner: Tensor, sharpness: float) -> Tensor:
    """InfoNCE over a batch in which names of one concept share `owner`: every other name is a negative."""
    scores = vectors @ vectors.T * sharpness
    itself = torch.eye(len(owner), dtype=torch.bool, device=owner.device)
    same = (owner[:, None] == owner[None]) & ~itself
    scores = scores.masked_fill(itself, -1e4)
    log_share = scores - torch.logsumexp(scores, 1, keepdim=True)
    has = same.any(1)
    return -((log_share * same).sum(1) / same.sum(1).clamp(min=1))[has].mean()


@dataclass(frozen=True, slots=True)
class AlignPlan:
    """Weights of the two terms: `contrast` brings synonyms together, `keep` holds the base's cosines."""

    sharpness: float = 20.0
    contrast: float = 1.0
    keep: float = 50.0


AlignBatch = tuple[list[str], list[int], list[str]]
"""Names, the number of the concept each belongs to, and general texts."""


def align_loss(
    model: SentenceModel, fixed: SentenceModel, texts: Texts, item: AlignBatch, weights: AlignPlan
) -> Tensor:
    """The loss of a batch: synonyms together, all other cosines as those of `fixed`."""
    names, owner, other = item
    owners = torch.tensor(owner, device=next(model.parameters()).device)
    ids = padded_ids([texts.ids(n) for n in names], owners.device, model.encoder.pad)
    more = padded_ids([texts.ids(t) for t in other], owners.device, model.encoder.pad)
    term_vectors, text_vectors = model(*ids), model(*more)
    # Cosines and their targets in full precision: bf16 is coarser than the drift that is to be held down.
    with torch.autocast("cuda", enabled=False):
        with torch.no_grad():
            was_terms, was_texts = fixed(*ids), fixed(*more)
        apart = (owners[:, None] != owners[None]).float()
        drift = ((term_vectors @ term_vectors.T - was_terms @ was_terms.T) ** 2 * apart).sum() / apart.sum()
        drift = drift + ((text_vectors @ text_vectors.T - was_texts @ was_texts.T) ** 2).mean()
        return weights.contrast * _contrast(term_vectors, owners, weights.sharpness) + weights.keep * drift


def align_batches(concepts: Sequence[Concept], general: Sequence[str], batch: int, seed: int) -> list[AlignBatch]:
    """Every concept with several names once, two of its names at a time, with as many general texts."""
    shuffler = random.Random(seed)
    order = [c for c in concepts if len(c.names) > 1]
    shuffler.shuffle(order)
    half = batch // 2
    out = []
    for start in range(0, len(order) - half + 1, half):
        chunk = order[start : start + half]
        names = [n for c in chunk for n in shuffler.sample(c.names, 2)]
        owner = [i for i in range(len(chunk)) for _ in range(2)]
        out.append((names, owner, shuffler.sample(general, min(len(general), batch))))
    return out


def train_align(
    concepts: Sequence[Concept],
    general: Sequence[str],
    base: str | Path,
    plan: Schedule,
    shared: int = 3,
    weights: AlignPlan | None = None,
) -> tuple[SentenceModel, Texts]:
    """Train `base` on synonyms while keeping its cosines.

    `general` are texts of every other kind (sentences, report lines) on which similarity must not
    move. `plan.batch` names come in pairs of synonyms, with as many general texts.
    """
    set_seed(plan.seed)
    device = pick_device()
    tokenizer = load_tokenizer(base)
    texts = Texts(tokenizer)
    model = SentenceModel(load_encoder(base, shared)).to(device)
    fixed = SentenceModel(load_encoder(base)).to(device).requires_grad_(False).eval()

    def batches(epoch: int) -> list[AlignBatch]:
        return align_batches(concepts, general, plan.batch, plan.seed * 101 + epoch)

    fit(model, batches, lambda item: align_loss(model, fixed, texts, item, weights or AlignPlan()), plan)
    return model, texts


def retrieval_accuracy(
    model: SentenceModel, texts: Texts, held_out: Sequence[Concept], pool: Sequence[Concept]
) -> float:
    """Share (0–1) of held-out synonyms whose nearest name in `pool`, all preferred names, is their concept's.

    `pool` must contain the held-out concepts; the query is each held-out concept's last synonym.
    """
    queries = [(c.id, c.names[-1]) for c in held_out if len(c.names) > 1]
    names = embed(model, texts, [c.names[0] for c in pool])
    query_vectors = embed(model, texts, [name for _, name in queries])
    best = (query_vectors @ names.T).argmax(1)
    return float(np.mean([pool[int(b)].id == key for b, (key, _) in zip(best, queries)]))
