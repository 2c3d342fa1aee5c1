"""Judgements of text pairs by a cross-encoder: classes, shares, orders, and the tokens that are wrong.

One model, several heads. A *class* head answers a question with one of n answers (entailment, neutral,
contradiction). A *share* head estimates numbers between 0 and 1 (quality, factual recall). An *order* head
learns from sets of candidates for one reference which of them is better; beside it, a *flaw* score for every
token says where the trouble is, learned where the place of an error is known and, through the order itself,
where it is not.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from medassay.models.pairs import bert_frame, join_pair
from medassay.training.bert import Encoder
from medassay.training.loop import Schedule, fit, padded, padded_ids

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class PairItem:
    """A tokenised pair and what is known of it.

    target: the class (one number), or shares between 0 and 1 (NaN: unknown), or for an order the pair's level,
    higher is better, followed by the share that it should come near. flaws: for every token 1 (wrong),
    0 (right) or −1 (unknown); empty where nothing is known.
    """

    ids: list[int]
    sides: list[int]
    target: tuple[float, ...]
    flaws: tuple[int, ...] = ()
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Task:
    """What a head learns: `kind` is class, share or order; bundles of pairs that belong in one batch."""

    kind: str
    bundles: Sequence[Sequence[PairItem]]
    share: float = 1.0
    """How much of the bundles an epoch sees."""
    tokens: int = 0
    """Tokens a batch, where it is not the recipe's: short pairs learn better in more, smaller steps."""


class PairTexts:
    """Tokenises pairs, each distinct text once."""

    def __init__(self, tokenizer: Any, limit: int = 512) -> None:
        self.tokenizer = tokenizer
        self.limit = limit
        self.frame = bert_frame(*(tokenizer.encode("a").ids[i] for i in (0, -1)))
        self._seen: dict[str, list[int]] = {}

    def ids(self, text: str) -> list[int]:
        """Piece ids of a text, without frame tokens."""
        if text not in self._seen:
            self._seen[text] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return self._seen[text]

    def pair(self, first: str, second: str, target: Sequence[float], weight: float = 1.0) -> PairItem:
        """A pair without known places of errors."""
        ids, sides = join_pair(self.ids(first), self.ids(second), self.frame, self.limit)
        return PairItem(ids, sides, tuple(target), (), weight)

    def edited(self, first: str, second: str, target: Sequence[float], *, wrong: bool, weight: float = 1.0) -> PairItem:
        """A pair that differs in places: those tokens are `wrong`, or (a harmless edit) all are right."""
        one, two = self.ids(first), self.ids(second)
        ids, sides = join_pair(one, two, self.frame, self.limit)
        flaws = [0] * len(ids)
        if wrong:
            for i in _changed(one, two):
                if i + 1 < len(sides) and sides[i + 1] == 0:
                    flaws[i + 1] = 1
            start = sides.index(1)
            for i in _changed(two, one):
                if start + i < len(ids) - 1:
                    flaws[start + i] = 1
        return PairItem(ids, sides, tuple(target), tuple(flaws), weight)


def _changed(one: Sequence[int], two: Sequence[int]) -> list[int]:
    """Places of `one` that have no counterpart in `two`."""
    from rapidfuzz.distance import Opcodes

    ops: Opcodes = _opcodes(tuple(one), tuple(two))
    return [i for op in ops if op.tag in ("replace", "delete") for i in range(op.src_start, op.src_end)]


def _opcodes(one: tuple[int, ...], two: tuple[int, ...]) -> Any:
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.opcodes(one, two)


class PairModel(nn.Module):
    """An encoder over both texts; heads on the pooled state, and a flaw score for every token.

    An order head's score is the pooled score less the soft maximum of the flaws: one bad token anywhere
    pulls a pair down, however long it is.
    """

    def __init__(self, encoder: Encoder, heads: Mapping[str, int], flaws: bool = True, dropout: float = 0.1) -> None:
        super().__init__()
        self.encoder = encoder
        self.mix = nn.Linear(2 * encoder.size, encoder.size)
        self.dropout = nn.Dropout(dropout)
        self.heads = nn.ModuleDict({name: nn.Linear(encoder.size, size) for name, size in heads.items()})
        self.flaw = nn.Linear(encoder.size, 1) if flaws else None

    def judge(self, seen: Tensor, mask: Tensor, names: Sequence[str]) -> tuple[dict[str, Tensor], Tensor | None]:
        """The named heads' numbers [rows, size], and flaws [rows, length] (padding: −1e4)."""
        kept = mask[:, :, None].to(seen.dtype)
        mean = (seen * kept).sum(1) / kept.sum(1)
        pooled = self.dropout(torch.tanh(self.mix(torch.cat([seen[:, 0], mean], -1))))
        flaws = None
        if self.flaw is not None:
            flaws = self.flaw(seen)[..., 0].float().masked_fill(mask == 0, -1e4)
        return {name: self.heads[name](pooled).float() for name in names}, flaws

    def forward(
        self, ids: Tensor, mask: Tensor, sides: Tensor, names: Sequence[str]
    ) -> tuple[dict[str, Tensor], Tensor | None]:
        return self.judge(self.encoder(ids, mask, sides), mask, names)


def ordered(score: Tensor, flaws: Tensor | None) -> Tensor:
    """The score of an order head: pooled score less the soft maximum of the flaws."""
    return score if flaws is None else score - F.softplus(torch.logsumexp(flaws, -1))


def _inputs(model: PairModel, items: Sequence[PairItem]) -> tuple[Tensor, Tensor, Tensor]:
    device = model.mix.weight.device
    ids, mask = padded_ids([item.ids for item in items], device, model.encoder.pad)
    return ids, mask, padded([item.sides for item in items], device)


def _class_loss(logits: Tensor, items: Sequence[PairItem], smooth: float) -> Tensor:
    device = logits.device
    weight = torch.tensor([item.weight for item in items], device=device)
    if len(items[0].target) > 1:  # a teacher's probabilities
        wanted = torch.tensor([item.target for item in items], device=device)
        loss = -(wanted * logits.log_softmax(-1)).sum(-1)
    else:
        answer = torch.tensor([int(item.target[0]) for item in items], device=device)
        loss = F.cross_entropy(logits, answer, reduction="none", label_smoothing=smooth)
    return (loss * weight).sum() / weight.sum()


def _share_loss(logits: Tensor, items: Sequence[PairItem]) -> Tensor:
    target = torch.tensor([item.target for item in items], device=logits.device)
    known = ~torch.isnan(target)
    weight = torch.tensor([item.weight for item in items], device=logits.device)[:, None] * known
    loss = F.binary_cross_entropy_with_logits(logits, torch.where(known, target, 0.0), reduction="none")
    return (loss * weight).sum() / weight.sum().clamp(min=1e-6)


def _order_loss(score: Tensor, flaws: Tensor | None, batch: Sequence[Sequence[PairItem]]) -> Tensor:
    items = [item for bundle in batch for item in bundle]
    device = score.device
    final = ordered(score, flaws)
    group = torch.tensor([i for i, bundle in enumerate(batch) for _ in bundle], device=device)
    level = torch.tensor([item.target[0] for item in items], device=device)
    better = ((group[:, None] == group[None]) & (level[:, None] > level[None] + 1e-6)).float()
    wrong = F.softplus(-(final[:, None] - final[None]))
    total = (wrong * better).sum() / better.sum().clamp(min=1.0)
    share = torch.tensor([item.target[1] for item in items], device=device)
    total = total + 0.3 * F.binary_cross_entropy_with_logits(final, share)
    if flaws is not None:
        width = flaws.shape[1]
        table = np.full((len(items), width), -1, np.int64)
        for i, item in enumerate(items):
            table[i, : len(item.flaws)] = item.flaws
        known = torch.from_numpy(table).to(device)
        seen = known >= 0
        if bool(seen.any()):
            each = F.binary_cross_entropy_with_logits(flaws[seen], known[seen].float(), reduction="none")
            bad = (known[seen] == 1).float()
            # Wrong tokens are few: both kinds count the same.
            total = total + 0.5 * (
                (each * bad).sum() / bad.sum().clamp(min=1) + (each * (1 - bad)).sum() / (1 - bad).sum().clamp(min=1)
            )
    return total


Step = tuple[str, list[Sequence[PairItem]]]


def pair_steps(tasks: Mapping[str, Task], tokens: int, seed: int) -> list[Step]:
    """One epoch: bundles of like length in batches of about `tokens` tokens, the tasks shuffled together."""
    steps: list[Step] = []
    shuffler = random.Random(seed)
    for name, task in tasks.items():
        chosen = list(task.bundles)
        shuffler.shuffle(chosen)
        chosen = chosen[: max(1, round(len(chosen) * task.share))]
        pool = 600
        for start in range(0, len(chosen), pool):
            group = sorted(chosen[start : start + pool], key=lambda b: max(len(item.ids) for item in b))
            batch: list[Sequence[PairItem]] = []
            for bundle in group:
                longest = max(len(item.ids) for item in bundle)
                if batch and (sum(map(len, batch)) + len(bundle)) * longest > (task.tokens or tokens):
                    steps.append((name, batch))
                    batch = []
                batch.append(bundle)
            steps.append((name, batch))
    shuffler.shuffle(steps)
    return steps


def fit_pairs(
    model: PairModel, tasks: Mapping[str, Task], plan: Schedule, tokens: int = 8192, smooth: float = 0.05
) -> list[float]:
    """Train the heads named in `tasks` together; `tokens` a batch. Returns the mean loss of each epoch."""

    def loss(step: Step) -> Tensor:
        name, batch = step
        items = [item for bundle in batch for item in bundle]
        heads, flaws = model(*_inputs(model, items), (name,))
        kind = tasks[name].kind
        if kind == "class":
            return _class_loss(heads[name], items, smooth)
        if kind == "share":
            return _share_loss(heads[name], items)
        return _order_loss(heads[name][:, 0], flaws, batch)

    return fit(model, lambda epoch: pair_steps(tasks, tokens, plan.seed * 7919 + epoch), loss, plan)


def predict_pairs(
    model: PairModel, name: str, kind: str, items: Sequence[PairItem], batch: int = 128
) -> NDArray[np.float32]:
    """What a head says of each pair, [pairs, size]: probabilities, shares, or (an order) the score."""
    order = sorted(range(len(items)), key=lambda i: len(items[i].ids))
    out: list[NDArray[np.float32] | None] = [None] * len(items)
    device = model.mix.weight.device
    model.eval()
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
        for start in range(0, len(order), batch):
            chunk = order[start : start + batch]
            heads, flaws = model(*_inputs(model, [items[i] for i in chunk]), (name,))
            logits = heads[name]
            if kind == "class":
                made = logits.softmax(-1)
            elif kind == "share":
                made = logits.sigmoid()
            else:
                made = ordered(logits[:, 0], flaws)[:, None]
            for i, row in zip(chunk, made.cpu().numpy()):
                out[i] = row
    return np.stack([row for row in out if row is not None])


def save_upper(model: PairModel, path: Path) -> None:
    """The trained part (upper layers, heads) in fp16; the frozen trunk is stored elsewhere."""
    from safetensors.torch import save_file

    kept = {
        name: tensor.detach().to(torch.float16).cpu().contiguous()
        for name, tensor in model.state_dict().items()
        if not name.startswith("encoder.trunk.")
    }
    save_file(kept, path)


def load_upper(model: PairModel, path: Path) -> PairModel:
    """Weights of `save_upper` into a model over the same trunk."""
    from safetensors.torch import load_file

    state = {name: tensor.float() for name, tensor in load_file(path).items()}
    missing, unexpected = model.load_state_dict(state, strict=False)
    wrong = [name for name in missing if not name.startswith("encoder.trunk.")] + list(unexpected)
    if wrong:
        raise ValueError(f"{path}: not the weights of this model: {wrong[:3]}")
    return model.eval()
