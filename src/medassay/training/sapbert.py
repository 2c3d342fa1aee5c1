"""SapBERT's alignment (Liu et al. 2021), the way HARE's alignment model was made: preset `paper` of `train align`.

Names of one concept are brought together by the multi-similarity loss (Wang et al. 2019) over the pairs that an
online miner finds hard: triplets of two names of a concept and one of another whose distances are less than a margin
apart. The vector of a name is the state of its first token. Settings as in SapBERT's published script: one pass over
pairs of names, 256 pairs per batch, learning rate 2e-5, 25 tokens, margin 0.2, α 1, β 60, base 0.5. Unlike our own
recipe (align.py), nothing holds the base's other similarities.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from medassay.training.align import Concept, held_out_concepts, read_concepts
from medassay.training.loop import Schedule, fit, pick_device, set_seed
from medassay.training.paper import PaperResult, write_model
from medassay.training.umls import NAMES_FILE, read_synonyms

SAPBERT = Schedule(
    epochs=1, rate=2e-5, head_rate=2e-5, batch=256, warmup=0.0, weight_decay=0.01, betas=(0.9, 0.999), eps=1e-8
)
PAIRS_PER_CONCEPT = 50
"""Pairs of names of one concept at most, as in SapBERT's data; drawn by seed where there are more."""

LONGEST = 25
"""Tokens of a name that are read."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """The loss: `margin` of the miner; weights `alpha` of positive and `beta` of negative pairs about `base`."""

    margin: float = 0.2
    alpha: float = 1.0
    beta: float = 60.0
    base: float = 0.5


NamePair = tuple[int, str, str]
"""A concept's number and two of its names."""


def read_names(path: Path) -> list[Concept]:
    """Concepts of a UMLS release (a folder with MRCONSO.RRF) or of a JSONL file of `{"id", "names"}`."""
    if path.is_dir():
        return [Concept(concept, names) for concept, names in read_synonyms(path / NAMES_FILE).items()]
    return read_concepts(path)


def name_pairs(concepts: Sequence[Concept], seed: int) -> list[NamePair]:
    """Pairs of different names of one concept, at most `PAIRS_PER_CONCEPT` of each, in random order."""
    shuffler = random.Random(seed)
    pairs: list[NamePair] = []
    for number, concept in enumerate(concepts):
        names = list(dict.fromkeys(name.lower() for name in concept.names))
        every = list(combinations(names, 2))
        if len(every) > PAIRS_PER_CONCEPT:
            every = shuffler.sample(every, PAIRS_PER_CONCEPT)
        pairs += [(number, first, second) for first, second in every]
    shuffler.shuffle(pairs)
    return pairs


def hard_pairs(vectors: Tensor, owner: Tensor, margin: float) -> tuple[Tensor, Tensor]:
    """Masks [names, names] of the positive and negative pairs that stand in a hard triplet.

    A triplet is an anchor, another name of its concept and a name of another concept; it is hard where the negative
    is not farther from the anchor than the positive by more than `margin` (Euclidean, of unit vectors).
    """
    same = owner[:, None] == owner[None]
    positive = same & ~torch.eye(len(owner), dtype=torch.bool, device=owner.device)
    negative = ~same
    distance = (2 - 2 * vectors @ vectors.T).clamp(min=0).sqrt()
    infinite = torch.tensor(float("inf"), device=vectors.device)
    farthest = distance.masked_fill(~positive, -infinite).amax(1)
    nearest = distance.masked_fill(~negative, infinite).amin(1)
    # A pair is in some hard triplet of its anchor where it is so with the anchor's hardest counterpart.
    return (
        positive & (nearest[:, None] - distance <= margin),
        negative & (distance - farthest[:, None] <= margin),
    )


def similarity_loss(vectors: Tensor, owner: Tensor, plan: Similarity) -> Tensor:
    """The multi-similarity loss over hard pairs: the mean over names of
    log(1 + Σ exp(−α(s − base)))/α over positives plus log(1 + Σ exp(β(s − base)))/β over negatives, s the cosine.
    """
    unit = F.normalize(vectors.float(), dim=-1)
    with torch.no_grad():
        positive, negative = hard_pairs(unit, owner, plan.margin)
    cosine = unit @ unit.T

    def soft_sum(exponent: Tensor, kept: Tensor) -> Tensor:
        zero = torch.zeros(len(exponent), 1, device=exponent.device)
        return torch.logsumexp(torch.cat([zero, exponent.masked_fill(~kept, -1e9)], 1), 1)

    pull = soft_sum(plan.alpha * (plan.base - cosine), positive) / plan.alpha
    push = soft_sum(plan.beta * (cosine - plan.base), negative) / plan.beta
    return (pull + push).mean()


def train_sapbert(
    concepts: Sequence[Concept], base: str, out: Path, plan: Schedule = SAPBERT, loss: Similarity | None = None
) -> PaperResult:
    """Align `base` on synonyms, write it to `out`; held out: a tenth of the concepts (at most 2,000).

    The figure is the share (0–1) of held-out synonyms whose nearest preferred name, of all concepts, is their own.
    """
    from transformers import AutoModel, AutoTokenizer

    set_seed(plan.seed)
    several = [c for c in concepts if len({name.lower() for name in c.names}) > 1]
    test = held_out_concepts(several, plan.seed)
    hidden = {c.id for c in test}
    train = [c for c in several if c.id not in hidden]
    tokenizer = AutoTokenizer.from_pretrained(base, use_fast=True)
    model = AutoModel.from_pretrained(base).to(pick_device())

    def embed(names: Sequence[str]) -> Tensor:
        rows = tokenizer(list(names), truncation=True, max_length=LONGEST, padding=True, return_tensors="pt")
        states: Tensor = model(**{name: value.to(model.device) for name, value in rows.items()}).last_hidden_state
        return states[:, 0]

    def batches(epoch: int) -> list[list[NamePair]]:
        pairs = name_pairs(train, plan.seed + epoch)
        return [pairs[i : i + plan.batch] for i in range(0, len(pairs), plan.batch)]

    def loss_of(chunk: list[NamePair]) -> Tensor:
        owner = torch.tensor([number for number, _, _ in chunk] * 2, device=model.device)
        names = [first for _, first, _ in chunk] + [second for _, _, second in chunk]
        return similarity_loss(embed(names), owner, loss or Similarity())

    fit(model, batches, loss_of, plan)
    queries = [c.names[-1].lower() for c in test]
    pool = [c.names[0].lower() for c in concepts]
    row_of = {c.id: i for i, c in enumerate(concepts)}
    figures = {"synonym_retrieval": _retrieved(embed, queries, [row_of[c.id] for c in test], pool)}
    write_model(model, tokenizer, out, "align", figures, train=len(train), test=len(test))
    return PaperResult(out, figures, len(train), len(test))


def _retrieved(embed: Any, queries: Sequence[str], right: Sequence[int], pool: Sequence[str]) -> float:
    def vectors(names: Sequence[str]) -> Iterator[np.ndarray[Any, Any]]:
        with torch.no_grad():
            for start in range(0, len(names), 256):
                yield F.normalize(embed(names[start : start + 256]).float(), dim=-1).cpu().numpy()

    preferred = np.concatenate(list(vectors(pool)))
    query_vectors = np.concatenate(list(vectors(queries)))
    best = [int(np.argmax(preferred @ query)) for query in query_vectors]
    return float(np.mean([pool[b] == pool[r] for b, r in zip(best, right)]))
