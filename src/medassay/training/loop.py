"""The one training loop: AdamW, warm-up and decay, bf16 on CUDA, averaged weights, seeds."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

Batch = TypeVar("Batch")


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and how fast: `rate` for encoder layers, `head_rate` for what starts from random numbers.

    `average` is the decay of the running mean of weights that is kept in the end (0 keeps the last). `decay` is the
    shape of the rate after the warm-up, `betas` and `eps` are AdamW's.
    """

    epochs: int = 8
    rate: float = 2e-4
    head_rate: float = 1e-3
    batch: int = 32
    warmup: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0
    average: float = 0.0
    seed: int = 0
    decay: Literal["linear", "cosine"] = "linear"
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-6

    def factor(self, step: int, total: int) -> float:
        """What the rates are multiplied by at a step: up to 1 in the warm-up, then down to 0.

        >>> plan = Schedule(warmup=0.0, decay="cosine")
        >>> [round(plan.factor(step, 4), 2) for step in range(4)]
        [1.0, 1.0, 0.75, 0.25]
        """
        warm = max(1.0, self.warmup * total)
        remaining = (1.0 - step / total) / (1.0 - warm / total) if total > warm else 1.0
        if self.decay == "cosine":
            remaining = 0.5 * (1.0 - math.cos(math.pi * min(1.0, remaining)))
        return min((step + 1) / warm, remaining)


def set_seed(seed: int) -> None:
    """Seed Python, NumPy and torch."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def pick_device() -> torch.device:
    """CUDA where there is one, else the processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _groups(model: nn.Module, plan: Schedule, rate_of: Callable[[str], float] | None) -> list[dict[str, object]]:
    """Parameter groups: encoder and head rates (or `rate_of` the name); no decay on norms and biases."""
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, weight in model.named_parameters():
        if not weight.requires_grad:
            continue
        if rate_of is not None:
            rate = rate_of(name)
        else:
            rate = plan.rate if name.startswith("encoder.") else plan.head_rate
        decay = plan.weight_decay if weight.ndim > 1 else 0.0
        groups.setdefault((rate, decay), []).append(weight)
    return [{"params": w, "lr": rate, "weight_decay": decay} for (rate, decay), w in groups.items()]


def fit(
    model: nn.Module,
    batches: Callable[[int], Sequence[Batch]],
    loss_of: Callable[[Batch], Tensor],
    plan: Schedule,
    rate_of: Callable[[str], float] | None = None,
) -> list[float]:
    """Train `model` in place on `batches(epoch)`; returns the mean loss of each epoch.

    `loss_of` gives the loss of one batch and may call the model as it likes; `rate_of` a parameter's name
    overrides the plan's two rates. The running mean of the weights, when asked for, replaces the last
    weights at the end.
    """
    trained = [w for w in model.parameters() if w.requires_grad]
    cuda = trained[0].is_cuda
    optimiser = torch.optim.AdamW(_groups(model, plan, rate_of), betas=plan.betas, eps=plan.eps, fused=cuda)
    bases = [group["lr"] for group in optimiser.param_groups]
    mean = [w.detach().clone() for w in trained] if plan.average else []
    step, losses, total = 0, [], 0
    for epoch in range(plan.epochs):
        model.train()
        items = batches(epoch)
        total = total or max(1, len(items) * plan.epochs)
        summed = torch.zeros((), device=trained[0].device)
        for item in items:
            for group, base in zip(optimiser.param_groups, bases):
                group["lr"] = base * plan.factor(step, total)
            with torch.autocast("cuda", torch.bfloat16, enabled=cuda):
                loss = loss_of(item)
            loss.backward()
            nn.utils.clip_grad_norm_(trained, plan.clip)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
            if mean:
                keep = min(plan.average, (step + 1) / (step + 10))
                torch._foreach_lerp_(mean, [w.detach() for w in trained], 1 - keep)
            summed += loss.detach()
            step += 1
        losses.append(float(summed) / max(1, len(items)))
        if sys.stderr.isatty():
            print(f"epoch {epoch + 1}/{plan.epochs}  loss {losses[-1]:.4f}", file=sys.stderr)
    for weight, kept in zip(trained, mean):
        weight.data.copy_(kept)
    model.eval()
    return losses


def buckets(lengths: Sequence[int], batch: int, seed: int, pool: int = 24) -> list[list[int]]:
    """Indices in batches of like length: shuffled, sorted inside pools of `pool` batches, shuffled again."""
    order = list(range(len(lengths)))
    shuffler = random.Random(seed)
    shuffler.shuffle(order)
    groups = []
    for start in range(0, len(order), batch * pool):
        chunk = sorted(order[start : start + batch * pool], key=lambda i: lengths[i])
        groups += [chunk[i : i + batch] for i in range(0, len(chunk), batch)]
    shuffler.shuffle(groups)
    return groups


def padded(rows: Sequence[Sequence[int]], device: torch.device, fill: int = 0) -> Tensor:
    """Rows of integers as one tensor, short ones filled up with `fill`.

    On CUDA the width is a multiple of 8: only then does attention with a mask take the fast kernels.
    """
    width = max(len(row) for row in rows)
    if device.type == "cuda":
        width = -(-width // 8) * 8
    table = np.full((len(rows), width), fill, np.int64)
    for i, row in enumerate(rows):
        table[i, : len(row)] = row
    return torch.from_numpy(table).to(device, non_blocking=True)


def padded_ids(rows: Sequence[Sequence[int]], device: torch.device, pad: int) -> tuple[Tensor, Tensor]:
    """Token ids filled up with the encoder's `pad` id, and the mask: 1 on tokens, 0 on padding."""
    lengths = torch.tensor([len(row) for row in rows], device=device)
    ids = padded(rows, device, pad)
    return ids, (torch.arange(ids.shape[1], device=device)[None] < lengths[:, None]).long()
