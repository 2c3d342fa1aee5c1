"""The expert's 0–5 score of a report pair: a cross-encoder with a distribution over half points.

Learns from scored pairs. The scale is HARE's: 5 identical in diagnosis and description,
4 diagnosis right and a description wrong, 3 diagnosis right without description, 2 broad category
right, 1 diagnosis wrong but some description right, 0 nothing right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from medassay.errors import InputError
from medassay.language.layout import diagnosis_first
from medassay.models.activations import softmax
from medassay.study import kendall, pearson, spearman
from medassay.training.annotation import read_rows
from medassay.training.bert import load_encoder, load_tokenizer
from medassay.training.cross import PairModel, PairTexts, pair_inputs, predict_logits
from medassay.training.loop import Schedule, buckets, fit, pick_device, set_seed

BINS: NDArray[np.float32] = np.arange(0, 5.01, 0.5, dtype=np.float32)
VERDICTS = ("exact", "broad", "wrong")


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """A report pair and what is known of it: a 0–5 score and, where given, a verdict on the diagnosis."""

    reference: str
    candidate: str
    score: float
    verdict: str = ""


def read_pairs(path: Path) -> list[ScoredPair]:
    """Scored pairs of a file with columns `reference`, `candidate`, `score` and, if there, `diagnosis`."""
    pairs = []
    for where, row in read_rows(path, ("reference", "candidate", "score")):
        try:
            value = float(row["score"])
        except ValueError as error:
            raise InputError(f"{where}: column 'score' holds '{row['score']}', not a number") from error
        if not 0 <= value <= 5:
            raise InputError(f"{where}: score {value} lies outside 0–5")
        pairs.append(ScoredPair(row["reference"], row["candidate"], value, row.get("diagnosis", "")))
    return pairs


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """A tokenised pair, its score and its verdict's place in `VERDICTS` (−1: unknown)."""

    ids: list[int]
    sides: list[int]
    score: float
    verdict: int = -1


def scored_item(pair: ScoredPair, texts: PairTexts) -> ScoredItem:
    """The pair, tokenised."""
    verdict = VERDICTS.index(pair.verdict) if pair.verdict in VERDICTS else -1
    return ScoredItem(*texts.join(pair.reference, pair.candidate), pair.score, verdict)


def soft_bins(score: float, width: float = 0.4) -> NDArray[np.float32]:
    """A distribution over half points around `score`: neighbours count too, since readers differ by that."""
    mass = np.exp(-0.5 * ((BINS - score) / width) ** 2)
    return (mass / mass.sum()).astype(np.float32)


def expert_loss(model: PairModel, items: Sequence[ScoredItem], order_weight: float = 1.0) -> Tensor:
    """Cross-entropy on bins and on mean/5, plus a pairwise term: the better pair must score higher."""
    device = model.mix.weight.device
    heads = model(*pair_inputs(model, items))
    logits = heads["bins"].float()
    target = torch.from_numpy(np.stack([soft_bins(item.score) for item in items])).to(device)
    score = torch.tensor([item.score for item in items], device=device)
    bins = torch.from_numpy(BINS).to(device)
    mean = (logits.softmax(-1) * bins).sum(-1)  # no matrix product: bf16 would round the score
    share = (mean / 5).clamp(1e-4, 1 - 1e-4)
    loss = -(target * logits.log_softmax(-1)).sum(-1)
    wanted = score / 5
    total = (loss - 2.0 * (wanted * share.log() + (1 - wanted) * (1 - share).log())).mean()
    better = (score[:, None] - score[None] > 0.4).float()
    wrong = F.softplus(-2.0 * (mean[:, None] - mean[None]))
    total = total + order_weight * (wrong * better).sum() / better.sum().clamp(min=1.0)
    known = torch.tensor([item.verdict for item in items], device=device)
    if bool((known >= 0).any()):
        total = total + 0.3 * F.cross_entropy(heads["verdict"].float(), known, ignore_index=-1)
    return total


def predict_expert(model: PairModel, items: Sequence[ScoredItem]) -> NDArray[np.float32]:
    """Distribution over `BINS` of each pair, [pairs, 11]; the score is its mean, `p @ BINS`."""
    return softmax(predict_logits(model, "bins", items))


def train_expert(
    train: Sequence[ScoredPair], base: str | Path, plan: Schedule, shared: int = -1, limit: int = 512
) -> tuple[PairModel, PairTexts]:
    """Train an expert model from `base` on scored pairs; returns the model and its pair tokenizer."""
    set_seed(plan.seed)
    texts = PairTexts(load_tokenizer(base), limit, prepare=diagnosis_first)
    model = PairModel(load_encoder(base, shared), {"bins": len(BINS), "verdict": len(VERDICTS)}).to(pick_device())
    items = [scored_item(pair, texts) for pair in train]

    def batches(epoch: int) -> list[list[ScoredItem]]:
        groups = buckets([len(item.ids) for item in items], plan.batch, plan.seed * 31 + epoch)
        return [[items[i] for i in group] for group in groups]

    fit(model, batches, lambda batch: expert_loss(model, batch), plan)
    return model, texts


def expert_figures(expert: ArrayLike, predicted: ArrayLike) -> dict[str, float]:
    """Agreement with an expert's scores as HARE reports it: on scores above 0, and Pearson on all."""
    e, p = np.asarray(expert, float), np.asarray(predicted, float)
    above = e > 0
    return {
        "pearson": pearson(e[above], p[above]),
        "spearman": spearman(e[above], p[above]),
        "kendall": kendall(e[above], p[above]),
        "pearson_all": pearson(e, p),
        "rmse_all": float(np.sqrt(np.mean((e - p) ** 2))),
    }
