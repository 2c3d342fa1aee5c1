"""The recipe of the `likelihood` role: copying, denoising and writing, with lower likelihood for wrong facts.

Pairs that belong together are learned by cross-entropy, changed pieces of damaged targets unlearned (Welleck et al.,
"Neural Text Generation with Unlikelihood Training", 2020), ranked pairs held apart by a soft margin (as Liu et al.,
"BRIO", ACL 2022, do for candidates of a summary).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from medassay.training.bert import SplitEncoder
from medassay.training.likelihood_tasks import BERT, LONGEST, Group, Marks, Packed, Pair, Pieces, Table, packed
from medassay.training.loop import Schedule, fit, pick_device, set_seed
from medassay.training.seq2seq import LikelihoodModel, Sizes


class Stream(Sequence[Packed]):
    """Batches of `source(seed)` for seed 0, 1, …, up to `steps` batches."""

    def __init__(self, source: Callable[[int], list[Packed]], steps: int) -> None:
        self.source = source
        self.steps = steps

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, index: Any) -> Any:
        raise TypeError("a stream can only be iterated over")

    def __iter__(self) -> Iterator[Packed]:
        yielded = 0
        for seed in range(self.steps):
            for batch in self.source(seed):
                yield batch
                yielded += 1
                if yielded >= self.steps:
                    return


def logs(model: LikelihoodModel, batch: Packed, device: torch.device) -> tuple[Tensor, Tensor]:
    """Log-probabilities [pairs, length] of the targets' pieces (the stop piece last) and their mask."""

    def moved(table: Table) -> Tensor:
        return torch.from_numpy(table).to(device, non_blocking=True).long()

    windows, wanted = moved(batch.windows), moved(batch.wanted)
    log_probs = model(windows, (windows != 0).long(), moved(batch.places), moved(batch.given), wanted)
    return log_probs.float(), (wanted != 0).float()


def _inner(mask: Tensor) -> Tensor:
    """The mask without the stop piece, which depends on the length and not on the content."""
    return mask.scatter(1, (mask.sum(1).long() - 1)[:, None], 0.0)


def loss_of(model: LikelihoodModel, batch: Packed, device: torch.device, unlearn: float, rank: float) -> Tensor:
    """Cross-entropy per piece, unlikelihood of wrong pieces, soft margins of ranks."""
    log_probs, mask = logs(model, batch, device)
    learn = torch.tensor(batch.learn, device=device)[:, None] * mask
    loss = -(log_probs * learn).sum() / learn.sum().clamp(min=1.0)
    if batch.wrong.any():
        wrong = torch.from_numpy(batch.wrong).to(device).float()
        miss = torch.log1p(-log_probs.exp().clamp(max=1 - 1e-4))
        loss = loss - unlearn * (miss * wrong).sum() / wrong.sum()
    if batch.ranks:
        inner = _inner(mask)
        sums = (log_probs * inner).sum(1)
        means = sums / inner.sum(1).clamp(min=1.0)
        better, worse = (torch.tensor([r[k] for r in batch.ranks], device=device) for k in (0, 1))
        by_sum = torch.tensor([r[2] for r in batch.ranks], device=device)
        gap = torch.where(by_sum, sums[better] - sums[worse] - 2.0, 8.0 * (means[better] - means[worse]) - 1.0)
        # A sum's gradient is that of a mean times the length: it is weighed down to the same order.
        loss = loss + rank * (F.softplus(-gap) * torch.where(by_sum, 0.1, 1.0)).mean()
    return loss


def train_likelihood(
    encoder: SplitEncoder,
    source: Callable[[int], list[Packed]],
    plan: Schedule,
    steps: int,
    sizes: Sizes | None = None,
    unlearn: float = 0.5,
    rank: float = 0.25,
) -> tuple[LikelihoodModel, list[float]]:
    """Train on batches of `source(seed)`; returns the model and the mean loss."""
    set_seed(plan.seed)
    device = pick_device()
    model = LikelihoodModel(encoder, sizes).to(device)
    losses = fit(
        model,
        lambda epoch: Stream(source, steps),
        lambda batch: loss_of(model, batch, device, unlearn, rank),
        plan,
        lambda name: plan.rate if name.startswith("reader") else plan.head_rate,
    )
    return model, losses


def mean_logs(
    model: LikelihoodModel, pairs: Sequence[tuple[Pieces, Pieces]], marks: Marks = BERT, tokens: int = 16384
) -> NDArray[np.float64]:
    """Mean log-probability of each target's pieces (without the stop piece) given its source."""
    device = next(model.parameters()).device
    model.eval()
    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][1]) + len(pairs[i][0]) // 2)
    out = np.zeros(len(pairs))
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and (stop + 1 - start) * (len(pairs[order[stop]][1][:LONGEST]) + 2) <= tokens:
            stop += 1
        chosen = order[start:stop]
        batch = packed([Group((Pair(*pairs[i]),)) for i in chosen], marks)
        with torch.no_grad():
            log_probs, mask = logs(model, batch, device)
        mask = _inner(mask)
        means = (log_probs * mask).sum(1) / mask.sum(1).clamp(min=1.0)
        out[chosen] = means.float().cpu().numpy()
        start = stop
    return out
