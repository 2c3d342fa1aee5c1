"""Train the reader on packed pairs; needs a GPU to be quick."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from medassay.models.reader_network import Reader

CLS, PAD, SEP = 0, 1, 2
LONGEST, STATEMENT_TOKENS = 512, 224


@dataclass(frozen=True)
class Recipe:
    """Settings of one training run."""

    rate: float = 4e-5
    head_rate: float = 1e-3
    warmup: float = 0.06
    tokens: int = 24_000
    rows: int = 96
    seed: int = 1
    smoothing: float = 0.02
    passes: float = 1.0
    place_weight: float = 0.5
    kind_weight: float = 0.3
    severity_weight: float = 0.3
    expert_weight: float = 1.0
    quality_weight: float = 1.0
    early_weight: float = 0.3
    """What the early heads' loss counts, and the divergence of their verdicts from those of the last layer."""
    dropout: float = 0.1
    seconds: float = math.inf
    """When training has to be over, whatever the passes; the rate falls to zero by then."""


class Packed:
    """The packed pairs: columns by name, and rows of token ids on demand, on the device that trains."""

    def __init__(self, path: Path, device: str = "cpu") -> None:
        with np.load(path, allow_pickle=False) as stored:
            self.columns: dict[str, Any] = {name: stored[name] for name in stored.files}
        self.starts = np.concatenate([[0], self.columns["ends"][:-1]])
        self.device = device
        lengths = self.columns["ends"] - self.starts
        first, second = lengths[self.columns["text"]], lengths[self.columns["statement"]]
        room = LONGEST - 4
        statement_lengths = np.minimum(second, np.maximum(STATEMENT_TOKENS, room - first))
        self.sizes = np.stack([np.minimum(first, room - statement_lengths), statement_lengths], 1)
        self.tokens = torch.from_numpy(self.columns["tokens"].astype(np.int32)).to(device)
        begins = np.stack([self.starts[self.columns["text"]], self.starts[self.columns["statement"]]], 1)
        self.known = {"begins": self._tensor(begins, np.int64), "sizes": self._tensor(self.sizes, np.int64)}
        for name in ("label", "kind", "at"):
            self.known[name] = self._tensor(self.columns[name], np.int64)
        for name in ("severity", "quality", "expert"):
            values = self.columns[name].astype(np.float32)
            self.known[name] = self._tensor(np.where(np.isnan(values), -1.0, values), np.float32)

    def _tensor(self, values: Any, kind: Any) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values.astype(kind))).to(self.device)

    def __len__(self) -> int:
        return len(self.columns["text"])

    def lengths(self) -> Any:
        """Tokens of each row, frame tokens included."""
        return self.sizes.sum(1) + 4

    def batch(self, rows: Any) -> Batch:
        """Some rows, padded to the longest: `<s> text </s> </s> statement </s>`."""
        longest = -(-int(self.lengths()[rows].max()) // 8) * 8
        index = torch.from_numpy(rows).to(self.device, non_blocking=True)
        known = {name: value[index] for name, value in self.known.items()}
        text, statement = known["sizes"][:, :1], known["sizes"][:, 1:]
        positions = torch.arange(longest, device=self.device)[None]
        in_text = (positions >= 1) & (positions <= text)
        in_statement = (positions >= text + 3) & (positions < text + 3 + statement)
        token = known["begins"][:, :1] + positions - 1
        token = torch.where(in_statement, known["begins"][:, 1:] + positions - text - 3, token)
        ids = self.tokens[torch.where(in_text | in_statement, token, 0)].long()
        ids = torch.where(in_text | in_statement, ids, SEP)
        ids = torch.where(positions > text + statement + 3, PAD, ids)
        ids[:, 0] = CLS
        return Batch(ids, (ids != PAD).long(), in_statement.long(), in_text, known)


@dataclass
class Batch:
    """ids, mask, statement: [rows, length], as the reader takes them; text: true on the text's tokens.

    known: what is known of each row, -1 where something is not.
    """

    ids: Tensor
    mask: Tensor
    statement: Tensor
    text: Tensor
    known: dict[str, Tensor]


def batches(lengths: Any, order: Any, tokens: int, most: int, rng: Any) -> Iterator[Any]:
    """Rows of like length together, at most `tokens` after padding and `most` rows per batch, in random order.

    The number of rows is bounded because a step counts the mean over its rows: short pairs in large batches would
    hardly be learnt from.
    """
    block = 8192
    groups = []
    for start in range(0, len(order), block):
        some = order[start : start + block]
        some = some[np.argsort(lengths[some], kind="stable")]
        current: list[int] = []
        for i in some.tolist():
            if current and ((len(current) + 1) * int(lengths[i]) > tokens or len(current) == most):
                groups.append(current)
                current = []
            current.append(i)
        groups.append(current)
    rng.shuffle(groups)
    yield from (np.array(group) for group in groups)


ALLOWED = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1), (1, 1, 0), (1, 1, 1))
"""For each label the verdicts that it allows; the last row is for pairs without a label."""


def loss_of(out: dict[str, Tensor], batch: Batch, recipe: Recipe) -> Tensor:
    """The sum of the heads' losses over the rows that know an answer, per row of the batch."""
    known = batch.known
    logs = out["verdict"].log_softmax(1)
    allowed = torch.tensor(ALLOWED, device=logs.device)[known["label"]].float()
    right = -torch.logsumexp(logs + torch.log(allowed.clamp(min=1e-9)), 1)
    sure = (allowed.sum(1) == 1).float()
    total = (right - recipe.smoothing * sure * (right + logs.mean(1))).sum()
    kinds = out["kind"].log_softmax(1).gather(1, known["kind"].clamp(min=0)[:, None])[:, 0]
    total = total - recipe.kind_weight * (kinds * (known["kind"] >= 0)).sum()
    for name, weight, most in (
        ("severity", recipe.severity_weight, 1.0),
        ("quality", recipe.quality_weight, 1.0),
        ("expert", 2.0 * recipe.expert_weight, 5.0),
    ):
        targets = known[name].clamp(min=0) / most
        losses = F.binary_cross_entropy_with_logits(out[name][:, 0], targets, reduction="none")
        total = total + weight * (losses * (known[name] >= 0)).sum()
    total = total + recipe.expert_weight * _ranking_loss(out["expert"][:, 0], known["expert"])
    positions = torch.arange(batch.ids.shape[1], device=logs.device)[None] - 1
    targets = ((positions >= known["at"][:, :1]) & (positions < known["at"][:, 1:])).float()
    losses = F.binary_cross_entropy_with_logits(out["place"], targets, reduction="none") * batch.text
    mean = losses.sum(1) / batch.text.sum(1).clamp(min=1)
    total = total + recipe.place_weight * 8.0 * (mean * (known["at"][:, 0] >= 0)).sum()
    return total / len(batch.ids)


def _ranking_loss(logits: Tensor, scores: Tensor) -> Tensor:
    """Mean softplus over the pairs of rated rows with different scores, times the number of rated rows."""
    rated = scores >= 0
    above = ((scores[:, None] - scores[None, :] > 0.25) & rated[:, None] & rated[None, :]).float()
    return (F.softplus(logits[None, :] - logits[:, None]) * above).sum() / above.sum().clamp(min=1.0) * rated.sum()


def schedule(at: float, warmup: float) -> float:
    """Share of the full rate when a share `at` of the training is done: linear warm-up, then a cosine to zero."""
    return at / warmup if at < warmup else 0.5 * (1 + math.cos(math.pi * (at - warmup) / (1 - warmup)))


def training_order(columns: dict[str, Any], passes: float, rng: Any) -> Any:
    """Rows in random order, each as often as its number of passes says; held-out rows never."""
    rows = np.flatnonzero(~columns["held_out"])
    times_each = columns["passes"][rows] * passes
    times = np.floor(times_each).astype(int) + (rng.random(len(rows)) < times_each % 1)
    order = np.repeat(rows, times)
    rng.shuffle(order)
    return order


def optimizer_of(reader: Reader, recipe: Recipe) -> torch.optim.AdamW:
    """AdamW with a rate of its own for the heads and no weight decay on norms, biases and relative positions."""
    heads, plain, decayed = [], [], []
    for name, value in reader.named_parameters():
        if not value.requires_grad:
            continue
        if "heads" in name:
            heads.append(value)
        elif value.ndim < 2 or "relative" in name:
            plain.append(value)
        else:
            decayed.append(value)
    groups = [
        {"params": decayed, "lr": recipe.rate, "weight_decay": 0.01},
        {"params": plain, "lr": recipe.rate, "weight_decay": 0.0},
        {"params": heads, "lr": recipe.head_rate, "weight_decay": 0.01},
    ]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98), eps=1e-6, fused=torch.cuda.is_available())


_COMPILED = 20
"""Steps by which the layers are compiled; the time that takes is not counted."""


class Progress:
    """The share of a training that is done: by steps, or by time where that is further."""

    def __init__(self, steps: int, seconds: float) -> None:
        self.steps, self.seconds = steps, seconds
        self.began = self.counted_from = time.monotonic()

    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.began

    def share(self, step: int) -> float:
        """From 0 to 1, before the given step."""
        if step <= _COMPILED:
            self.counted_from = time.monotonic()
            return step / self.steps
        counted = time.monotonic() - self.counted_from
        left = max(self.seconds - (self.counted_from - self.began), 1e-9)
        return min(1.0, max(step / self.steps, counted / left))


def train(reader: Reader, packed: Packed, recipe: Recipe) -> None:
    """Train in place, on the device of the packed pairs."""
    torch.manual_seed(recipe.seed)
    rng = np.random.default_rng(recipe.seed)
    device = packed.device
    reader.to(device).train()
    reader.encoder.dropout = recipe.dropout
    half = device == "cuda"
    if half:
        for layer in reader.encoder.layers:
            layer.compile(dynamic=True)
    order = training_order(packed.columns, recipe.passes, rng)
    groups = list(batches(packed.lengths(), order, recipe.tokens, recipe.rows, rng))
    optimizer = optimizer_of(reader, recipe)
    base = [group["lr"] for group in optimizer.param_groups]
    print(f"{len(order):,} rows, {len(groups):,} steps", flush=True)
    progress = Progress(len(groups), recipe.seconds)
    step = 0
    for step, rows in enumerate(groups):
        if (done := progress.share(step)) == 1.0:
            break
        for group, rate in zip(optimizer.param_groups, base):
            group["lr"] = rate * schedule(done, recipe.warmup)
        batch = packed.batch(rows)
        with torch.autocast(device, torch.bfloat16, enabled=half):
            states = reader.encoder(batch.ids, batch.mask)
            early, last = reader.answers(states, batch.mask, batch.statement)
        loss = loss_of(last, batch, recipe)
        if recipe.early_weight:
            taught = F.kl_div(
                early["verdict"].log_softmax(1), last["verdict"].detach().softmax(1), reduction="batchmean"
            )
            loss = loss + recipe.early_weight * (loss_of(early, batch, recipe) + taught)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        if step % 200 == 0:
            print(f"step {step} loss {float(loss.detach()):.3f} done {done:.2f} {progress.elapsed():.0f} s", flush=True)
    print(f"{recipe.passes * (step + 1) / len(groups):.2f} passes in {progress.elapsed():.0f} s", flush=True)


def answers(reader: Reader, packed: Packed, rows: Any, tokens: int = 64_000) -> list[dict[str, Any]]:
    """The answers of the early heads and of the heads for some rows.

    `placed` says for each row whether the likeliest token of the text is a deciding one.
    """
    device = packed.device
    reader.to(device).eval()
    tables = [{name: np.zeros((len(rows), size), np.float32) for name, size in SIZES.items()} for _ in range(2)]
    position = {int(row): k for k, row in enumerate(rows)}
    for some in batches(packed.lengths(), np.asarray(rows), tokens, 4096, np.random.default_rng(0)):
        batch = packed.batch(some)
        with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            outputs = reader(batch.ids, batch.mask, batch.statement)
        at = packed.columns["at"][some]
        positions = [position[int(row)] for row in some]
        for table, heads in zip(tables, outputs):
            for name in SIZES.keys() - {"placed"}:
                table[name][positions] = heads[name].float().cpu().numpy()
            likeliest = heads["place"].float().masked_fill(~batch.text, -1e4).argmax(1).cpu().numpy() - 1
            table["placed"][positions] = ((likeliest >= at[:, 0]) & (likeliest < at[:, 1]))[:, None]
    return tables


SIZES = {"verdict": 3, "kind": 22, "severity": 1, "expert": 1, "quality": 1, "placed": 1}
