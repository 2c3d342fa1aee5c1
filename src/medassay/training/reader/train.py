"""Train the reader on packed pairs; needs a GPU to be quick."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from medassay.training.reader.model import Reader

CLS, PAD, SEP = 0, 1, 2
_NEW_RATE = 5e-4
"""Rate of the layers that only serve to guess masked words."""
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
    seconds: float | None = None
    """Time after which training has ended, whatever is left of the passes; the rate falls accordingly."""


class Packed:
    """The packed pairs: rows of token ids on demand."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as stored:
            self.columns: dict[str, Any] = {name: stored[name] for name in stored.files}
        self.starts = np.concatenate([[0], self.columns["ends"][:-1]])
        self.frame = (CLS, SEP, SEP)

    def __len__(self) -> int:
        return len(self.columns["text"])

    def _ids(self, text: int) -> Any:
        return self.columns["tokens"][self.starts[text] : self.columns["ends"][text]]

    def row(self, i: int) -> tuple[Any, int]:
        """Token ids of a row and where its statement begins."""
        first, second = self._ids(self.columns["text"][i]), self._ids(self.columns["statement"][i])
        room = LONGEST - 4
        kept = min(len(second), max(STATEMENT_TOKENS, room - len(first)))
        first = first[: room - kept]
        ids = np.concatenate([[CLS], first, [SEP, SEP], second[:kept], [SEP]]).astype(np.int64)
        return ids, len(first) + 3

    def lengths(self) -> Any:
        own = self.columns["ends"] - self.starts
        return np.minimum(own[self.columns["text"]] + own[self.columns["statement"]] + 4, LONGEST)


@dataclass
class Batch:
    rows: Any
    ids: Tensor
    mask: Tensor
    statement: Tensor


def collate(packed: Packed, rows: Any, device: str) -> Batch:
    """Rows of a batch, padded to the longest."""
    made = [packed.row(i) for i in rows]
    longest = -(-max(len(ids) for ids, _ in made) // 8) * 8
    ids = np.full((len(made), longest), PAD, np.int64)
    statement = np.zeros((len(made), longest), np.int64)
    for k, (row, begins) in enumerate(made):
        ids[k, : len(row)] = row
        statement[k, begins : len(row) - 1] = 1
    tensor = torch.from_numpy(ids).to(device, non_blocking=True)
    return Batch(rows, tensor, (tensor != PAD).long(), torch.from_numpy(statement).to(device, non_blocking=True))


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


def ahead(packed: Packed, groups: list[Any], device: str) -> Iterator[Batch]:
    """The batches, the next ones prepared in a thread while one is computed."""
    waiting: queue.Queue[Batch | None] = queue.Queue(maxsize=8)

    def fill() -> None:
        for rows in groups:
            waiting.put(collate(packed, rows, "cpu"))
        waiting.put(None)

    threading.Thread(target=fill, daemon=True).start()
    while (batch := waiting.get()) is not None:
        moved = [value.to(device, non_blocking=True) for value in (batch.ids, batch.mask, batch.statement)]
        yield Batch(batch.rows, *moved)


def loss_of(out: dict[str, Tensor], batch: Batch, columns: dict[str, Any], recipe: Recipe) -> Tensor:
    """The sum of the heads' losses over the rows that know an answer, per row of the batch."""
    device = batch.ids.device
    total = out["verdict"].sum() * 0.0

    def rows(known: Any) -> Tensor:
        return torch.from_numpy(np.flatnonzero(known)).to(device, non_blocking=True)

    def values(name: str, known: Any, kind: Any = np.float32) -> Tensor:
        return torch.from_numpy(columns[name][batch.rows][known].astype(kind)).to(device, non_blocking=True)

    label = columns["label"][batch.rows]
    sure, either = (label >= 0) & (label < 3), label == 3
    if sure.any():
        wanted = values("label", sure, np.int64)
        total = total + F.cross_entropy(
            out["verdict"][rows(sure)], wanted, reduction="sum", label_smoothing=recipe.smoothing
        )
    if either.any():
        total = total - torch.logsumexp(out["verdict"][rows(either)].log_softmax(1)[:, 1:], 1).sum()
    known = columns["kind"][batch.rows] >= 0
    if known.any():
        wanted = values("kind", known, np.int64)
        total = total + recipe.kind_weight * F.cross_entropy(out["kind"][rows(known)], wanted, reduction="sum")
    for name, weight, scale in (("severity", recipe.severity_weight, 1.0), ("quality", recipe.quality_weight, 1.0)):
        column = columns[name][batch.rows].astype(np.float32)
        known = column >= 0  # NaN is not
        if known.any():
            wanted = values(name, known) * scale
            given = out[name][rows(known), 0]
            total = total + weight * F.binary_cross_entropy_with_logits(given, wanted, reduction="sum")
    known = ~np.isnan(columns["expert"][batch.rows])
    if known.any():
        given, wanted = out["expert"][rows(known), 0], values("expert", known) / 5.0
        each = 2.0 * F.binary_cross_entropy_with_logits(given, wanted, reduction="sum")
        above = (wanted[:, None] - wanted[None, :] > 0.05).float()
        ranked = (F.softplus(given[None, :] - given[:, None]) * above).sum() / above.sum().clamp(min=1.0)
        total = total + recipe.expert_weight * (each + ranked * int(known.sum()))
    known = columns["at"][batch.rows, 0] >= 0
    if known.any():
        at, some = values("at", known, np.int64), rows(known)
        index = torch.arange(batch.ids.shape[1], device=device)[None] - 1
        wanted = ((index >= at[:, :1]) & (index < at[:, 1:])).float()
        text = (batch.mask * (1 - batch.statement))[some].float()
        each = F.binary_cross_entropy_with_logits(out["place"][some], wanted, reduction="none")
        total = total + recipe.place_weight * ((each * text).sum(1) / text.sum(1) * 8.0).sum()
    return total / len(batch.rows)


def schedule(at: float, warmup: float) -> float:
    """Share of the full rate when a share `at` of the training is done: linear warm-up, then a cosine to zero."""
    return at / warmup if at < warmup else 0.5 * (1 + math.cos(math.pi * (at - warmup) / (1 - warmup)))


def training_order(columns: dict[str, Any], passes: float, rng: Any) -> Any:
    """Rows in random order, each as often as its number of passes says; held-out rows never."""
    rows = np.flatnonzero(~columns["held_out"])
    wanted = columns["passes"][rows] * passes
    times = np.floor(wanted).astype(int) + (rng.random(len(rows)) < wanted % 1)
    order = np.repeat(rows, times)
    rng.shuffle(order)
    return order


def optimizer_of(reader: Reader, recipe: Recipe) -> torch.optim.AdamW:
    heads, plain, decayed = [], [], []
    for name, value in reader.named_parameters():
        if name.startswith("heads"):
            heads.append(value)
        elif not value.requires_grad:
            continue
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


def train(reader: Reader, packed: Packed, recipe: Recipe, device: str) -> None:
    """Train in place."""
    torch.manual_seed(recipe.seed)
    rng = np.random.default_rng(recipe.seed)
    reader.to(device).train()
    order = training_order(packed.columns, recipe.passes, rng)
    lengths = packed.lengths()
    groups = list(batches(lengths, order, recipe.tokens, recipe.rows, rng))
    optimizer = optimizer_of(reader, recipe)
    base = [group["lr"] for group in optimizer.param_groups]
    print(f"{len(order):,} rows, {len(groups):,} steps", flush=True)
    began = time.monotonic()
    for step, batch in enumerate(ahead(packed, groups, device)):
        done = step / len(groups)
        if recipe.seconds is not None:
            done = max(done, (time.monotonic() - began) / recipe.seconds)
            if done >= 1.0:
                break
        for group, rate in zip(optimizer.param_groups, base):
            group["lr"] = rate * schedule(done, recipe.warmup)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            out = reader(batch.ids, batch.mask, batch.statement)
        loss = loss_of(out, batch, packed.columns, recipe)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        if step % 200 == 0:
            print(
                f"step {step} loss {float(loss.detach()):.3f} done {done:.2f} {time.monotonic() - began:.0f} s",
                flush=True,
            )


def answers(reader: Reader, packed: Packed, rows: Any, device: str, tokens: int = 64_000) -> dict[str, Any]:
    """The heads' answers for some rows, and for each row whether the likeliest token of the text is a deciding one."""
    reader.to(device).eval()
    lengths = packed.lengths()
    out: dict[str, Any] = {name: np.zeros((len(rows), size), np.float32) for name, size in SIZES.items()}
    position = {int(row): k for k, row in enumerate(rows)}
    for some in batches(lengths, np.asarray(rows), tokens, 4096, np.random.default_rng(0)):
        batch = collate(packed, some, device)
        with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            given = reader(batch.ids, batch.mask, batch.statement)
        text = batch.mask * (1 - batch.statement)
        text[:, 0] = 0
        place = given["place"].float().masked_fill(text == 0, -1e4).argmax(1).cpu().numpy() - 1
        at = packed.columns["at"][some]
        values = {name: given[name].float().cpu().numpy() for name in SIZES if name != "placed"}
        values["placed"] = ((place >= at[:, 0]) & (place < at[:, 1])).astype(np.float32)[:, None]
        for name, value in values.items():
            for k, row in enumerate(some):
                out[name][position[int(row)]] = value[k]
    return out


SIZES = {"verdict": 3, "kind": 22, "severity": 1, "expert": 1, "quality": 1, "placed": 1}


def adapt(reader: Reader, texts: Any, device: str, *, tokens: int = 32_000, rate: float = 5e-5, seed: int = 1) -> None:
    """Masked-language training of the encoder on plain medical text, [rows, length] ids; one pass."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    encoder = reader.encoder.to(device).train()
    hidden = reader.shape.hidden
    dense = torch.nn.Linear(hidden, hidden).to(device)
    norm = torch.nn.LayerNorm(hidden).to(device)
    bias = torch.nn.Parameter(torch.zeros(reader.shape.vocabulary, device=device))
    new = [*dense.parameters(), *norm.parameters(), bias]
    optimizer = torch.optim.AdamW(
        [{"params": list(encoder.parameters()), "lr": rate}, {"params": new, "lr": _NEW_RATE}], weight_decay=0.01
    )
    size = max(1, tokens // texts.shape[1])
    order = rng.permutation(len(texts))
    steps = max(1, len(order) // size)
    mask_id = reader.shape.vocabulary - 1
    for step in range(steps):
        scale = schedule(step / steps, 0.1)
        for group, full in zip(optimizer.param_groups, (rate, _NEW_RATE)):
            group["lr"] = full * scale
        ids = torch.from_numpy(texts[order[step * size : (step + 1) * size]].astype(np.int64)).to(device)
        chosen = (torch.rand(ids.shape, device=device) < 0.2) & (ids > 4)
        draw = torch.rand(ids.shape, device=device)
        shown = torch.where(chosen & (draw < 0.8), mask_id, ids)
        shown = torch.where(chosen & (draw > 0.9), torch.randint_like(ids, 1000, mask_id), shown)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            x = encoder(shown, (ids != PAD).long())[chosen]
            x = norm(F.gelu(dense(x)))
            logits = F.linear(x, encoder.words.weight, bias)
        loss = F.cross_entropy(logits.float(), ids[chosen])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0:
            print(f"adapt step {step}/{steps} loss {float(loss.detach()):.3f}", flush=True)
