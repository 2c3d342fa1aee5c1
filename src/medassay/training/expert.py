"""The expert's 0–5 score of a report pair: a cross-encoder with a distribution over half points.

Learns from scored pairs (an expert's, careful readers') and, in distillation, from the distributions
of other models on unscored pairs. The scale is HARE's: 5 identical in diagnosis and description,
4 diagnosis right and a description wrong, 3 diagnosis right without description, 2 broad category
right, 1 diagnosis wrong but some description right, 0 nothing right.
"""

from __future__ import annotations

import csv
import sys
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
from medassay.language.layout import diagnosis_first
from medassay.models.pairs import bert_frame, join_pair
from medassay.training.bert import Encoder, load_encoder
from medassay.training.loop import Schedule, buckets, fit, padded, padded_ids, pick_device, set_seed

BINS: NDArray[np.float32] = np.arange(0, 5.01, 0.5, dtype=np.float32)
VERDICTS = ("exact", "broad", "wrong")


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """A report pair and what is known of it: a 0–5 score, a verdict on the diagnosis, a group for splits."""

    reference: str
    candidate: str
    score: float
    verdict: str = ""
    source: str = ""
    weight: float = 1.0


def read_pairs(path: Path, score: str = "score") -> list[ScoredPair]:
    """Scored pairs of a CSV with columns `reference`, `candidate`, the score column and, if there, `diagnosis`."""
    csv.field_size_limit(sys.maxsize)
    pairs = []
    with path.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        columns = reader.fieldnames or []
        for needed in ("reference", "candidate", score):
            if needed not in columns:
                raise InputError(f"{path}: no column '{needed}'; found {', '.join(columns)}")
        for number, row in enumerate(reader, 2):
            try:
                value = float(row[score])
            except ValueError as error:
                raise InputError(
                    f"{path}: row {number}: column '{score}' holds '{row[score]}', not a number"
                ) from error
            if not 0 <= value <= 5:
                raise InputError(f"{path}: row {number}: score {value} lies outside 0–5")
            pairs.append(
                ScoredPair(
                    row["reference"], row["candidate"], value, row.get("diagnosis") or "", row.get("source") or ""
                )
            )
    return pairs


class ExpertModel(nn.Module):
    """Encoder over both texts; 11 scores for 0, 0.5 … 5 and 3 for the verdict on the diagnosis."""

    def __init__(self, encoder: Encoder, dropout: float = 0.1) -> None:
        super().__init__()
        self.encoder = encoder
        self.mix = nn.Linear(2 * encoder.size, encoder.size)
        self.dropout = nn.Dropout(dropout)
        self.bins = nn.Linear(encoder.size, len(BINS))
        self.verdict = nn.Linear(encoder.size, len(VERDICTS))

    def judge(self, seen: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Bin scores [rows, 11] and verdict scores [rows, 3] from the last hidden states."""
        kept = mask[:, :, None].to(seen.dtype)
        mean = (seen * kept).sum(1) / kept.sum(1)
        pooled = self.dropout(torch.tanh(self.mix(torch.cat([seen[:, 0], mean], -1))))
        return self.bins(pooled), self.verdict(pooled)

    def forward(self, ids: Tensor, mask: Tensor, sides: Tensor) -> tuple[Tensor, Tensor]:
        return self.judge(self.encoder(ids, mask, sides), mask)


@dataclass(frozen=True, slots=True)
class PairTokens:
    """A tokenised pair and its target: a distribution over `BINS`, its mean, a verdict (−1: unknown)."""

    ids: list[int]
    sides: list[int]
    target: NDArray[np.float32]
    score: float
    verdict: int = -1
    weight: float = 1.0


def soft_bins(score: float, width: float = 0.4) -> NDArray[np.float32]:
    """A distribution over half points around `score`: neighbours count too, since readers differ by that."""
    mass = np.exp(-0.5 * ((BINS - score) / width) ** 2)
    return (mass / mass.sum()).astype(np.float32)


class PairTokenizer:
    """Tokenises report pairs, each distinct text once."""

    def __init__(self, tokenizer: Any, limit: int = 512) -> None:
        self.tokenizer = tokenizer
        self.limit = limit
        self.frame = bert_frame(*(tokenizer.encode("a").ids[i] for i in (0, -1)))
        self._seen: dict[str, list[int]] = {}

    def text_ids(self, text: str) -> list[int]:
        """Piece ids of the prepared text, without frame tokens."""
        if text not in self._seen:
            self._seen[text] = self.tokenizer.encode(diagnosis_first(text), add_special_tokens=False).ids
        return self._seen[text]

    def pair(self, pair: ScoredPair, target: NDArray[np.float32] | None = None) -> PairTokens:
        """Tokens of `pair`; a teacher's distribution `target` replaces the score's own."""
        ids, sides = join_pair(self.text_ids(pair.reference), self.text_ids(pair.candidate), self.frame, self.limit)
        verdict = VERDICTS.index(pair.verdict) if pair.verdict in VERDICTS else -1
        bins = soft_bins(pair.score) if target is None else target
        score = pair.score if target is None else float(target @ BINS)
        return PairTokens(ids, sides, bins, score, verdict, pair.weight)


def _inputs(model: ExpertModel, items: Sequence[PairTokens]) -> tuple[Tensor, Tensor, Tensor]:
    device = model.bins.weight.device
    ids, mask = padded_ids([p.ids for p in items], device, model.encoder.pad)
    return ids, mask, padded([p.sides for p in items], device)


def expert_loss(model: ExpertModel, items: Sequence[PairTokens], order_weight: float) -> Tensor:
    """Cross-entropy on bins and on mean/5, plus a pairwise term: the better pair must score higher."""
    device = model.bins.weight.device
    logits, verdicts = model(*_inputs(model, items))
    logits = logits.float()
    target = torch.from_numpy(np.stack([p.target for p in items])).to(device)
    score = torch.tensor([p.score for p in items], device=device)
    weight = torch.tensor([p.weight for p in items], device=device)
    bins = torch.from_numpy(BINS).to(device)
    mean = (logits.softmax(-1) * bins).sum(-1)  # no matrix product: bf16 would round the score
    share = (mean / 5).clamp(1e-4, 1 - 1e-4)
    loss = -(target * logits.log_softmax(-1)).sum(-1)
    wanted = score / 5
    loss = loss - 2.0 * (wanted * share.log() + (1 - wanted) * (1 - share).log())
    total = (loss * weight).sum() / weight.sum()
    gap = score[:, None] - score[None]
    better = (gap > 0.4).float() * weight[:, None] * weight[None]
    wrong = F.softplus(-2.0 * (mean[:, None] - mean[None]))
    total = total + order_weight * (wrong * better).sum() / better.sum().clamp(min=1.0)
    known = torch.tensor([p.verdict for p in items], device=device)
    if bool((known >= 0).any()):
        total = total + 0.3 * F.cross_entropy(verdicts.float(), known, ignore_index=-1)
    return total


def pair_batches(items: Sequence[PairTokens], batch: int, seed: int) -> list[list[PairTokens]]:
    """One epoch of pairs in batches of like length."""
    return [[items[i] for i in group] for group in buckets([len(p.ids) for p in items], batch, seed)]


def fit_expert(
    model: ExpertModel, items: Sequence[PairTokens], plan: Schedule, order_weight: float = 1.0
) -> list[float]:
    """Train on tokenised pairs."""

    def batches(epoch: int) -> list[list[PairTokens]]:
        return pair_batches(items, plan.batch, plan.seed * 31 + epoch)

    return fit(model, batches, lambda chunk: expert_loss(model, chunk, order_weight), plan)


def predict_expert(model: ExpertModel, items: Sequence[PairTokens], batch: int = 128) -> NDArray[np.float32]:
    """Distribution over `BINS` of each pair, [pairs, 11]; the score is its mean, `p @ BINS`."""
    device = model.bins.weight.device
    out = np.zeros((len(items), len(BINS)), np.float32)
    order = sorted(range(len(items)), key=lambda i: len(items[i].ids))
    model.eval()
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
        for start in range(0, len(order), batch):
            chunk = order[start : start + batch]
            logits, _ = model(*_inputs(model, [items[i] for i in chunk]))
            out[chunk] = logits.float().softmax(-1).cpu().numpy()
    return out


def train_expert(
    train: Sequence[ScoredPair],
    base: str | Path,
    plan: Schedule,
    shared: int = -1,
    tokenizer_file: Path | None = None,
    limit: int = 512,
    device: torch.device | None = None,
) -> tuple[ExpertModel, PairTokenizer]:
    """Train an expert model from `base` on scored pairs; returns the model and its pair tokenizer."""
    from tokenizers import Tokenizer

    set_seed(plan.seed)
    tokenizer = Tokenizer.from_file(str(tokenizer_file or Path(base) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    pairs = PairTokenizer(tokenizer, limit)
    model = ExpertModel(load_encoder(base, shared)).to(device or pick_device())
    fit_expert(model, [pairs.pair(p) for p in train], plan)
    return model, pairs
