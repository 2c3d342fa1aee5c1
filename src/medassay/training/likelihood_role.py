"""`medassay train likelihood`: an encoder–decoder for the role from pairs of texts that belong together.

The file (CSV or JSONL) has `source` and `target`, and where there is one `wrong`: a target that carries an error.
Every target is also learned from a noised version of itself. A tenth of the sources is held out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from medassay.errors import InputError, ModelError
from medassay.training.annotation import folds_by_group, read_rows
from medassay.training.bert import SplitEncoder, load_encoder, load_tokenizer
from medassay.training.likelihood import mean_logs, train_likelihood
from medassay.training.likelihood_tasks import LONGEST, Damaged, Marks, Material, Pieces, batches
from medassay.training.loop import Schedule
from medassay.training.seq2seq import LikelihoodModel

CONTEXT = 64
"""Pieces of a long target that a further row reads again; the runtime's setting."""

_LEAST = 20


@dataclass(frozen=True, slots=True)
class TextPair:
    """A source and what was written from it; `wrong` is empty where no damaged target was given."""

    source: str
    target: str
    wrong: str = ""


def read_text_pairs(path: Path) -> list[TextPair]:
    """Pairs of a file with columns `source`, `target` and, where known, `wrong`."""
    pairs = []
    for where, row in read_rows(path, ("source", "target")):
        for needed in ("source", "target"):
            if not row[needed].strip():
                raise InputError(f"{where}: no '{needed}'; every row needs source and target")
        pairs.append(TextPair(row["source"], row["target"], row.get("wrong", "")))
    if len({pair.source for pair in pairs}) < _LEAST:
        raise InputError(f"{path}: {len(pairs)} rows; training needs at least {_LEAST} different sources")
    return pairs


def marks_of(tokenizer: Any) -> Marks:
    """The pieces with a meaning in a tokenizer of BERT's kind."""
    start, stop = (tokenizer.encode("a").ids[i] for i in (0, -1))
    ids = {name: tokenizer.token_to_id(name) for name in (".", "?", "!", ";", "[MASK]")}
    if ids["[MASK]"] is None:
        raise ModelError("the base's tokenizer has no [MASK], so it is no BERT tokenizer")
    ends = frozenset(ids[name] for name in ".?!;" if ids[name] is not None)
    return Marks(start, stop, ids["[MASK]"], ends)


def material_of(pairs: Sequence[TextPair], tokenizer: Any, marks: Marks) -> Material:
    """What the recipe's tasks draw from; targets longer than a row are learned in stretches."""

    def pieces(texts: Sequence[str]) -> list[Pieces]:
        return [encoding.ids for encoding in tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    sources, targets = pieces([p.source for p in pairs]), pieces([p.target for p in pairs])
    wrongs = pieces([p.wrong for p in pairs])
    damaged = [
        Damaged(target[:LONGEST], (("given", wrong[:LONGEST]),), (source,))
        for source, target, wrong in zip(sources, targets, wrongs)
        if wrong and target
    ]
    notes = [(source, target) for source, target in zip(sources, targets) if target]
    return Material(documents=[target for target in targets if target], damaged=damaged, notes=notes, marks=marks)


def held_out_figures(
    model: LikelihoodModel, pairs: Sequence[TextPair], tokenizer: Any, marks: Marks
) -> dict[str, float]:
    """On held-out pairs: mean log-probability, and how often a target beats its damaged version and another target."""

    def mean_logs_of(text_pairs: Sequence[tuple[str, str]]) -> Any:
        flat = tokenizer.encode_batch([text for pair in text_pairs for text in pair], add_special_tokens=False)
        return mean_logs(model, [(flat[i].ids, flat[i + 1].ids) for i in range(0, len(flat), 2)], marks)

    true = mean_logs_of([(p.source, p.target) for p in pairs])
    other = mean_logs_of([(p.source, q.target) for p, q in zip(pairs, [*pairs[1:], pairs[0]])])
    figures = {"log_likelihood": float(np.mean(true)), "above_other": float(np.mean(true > other))}
    damaged = [i for i, p in enumerate(pairs) if p.wrong]
    if damaged:
        wrong = mean_logs_of([(pairs[i].source, pairs[i].wrong) for i in damaged])
        figures["above_wrong"] = float(np.mean(true[damaged] > wrong))
    return figures


def train_likelihood_role(
    data: Path, base: str, out: Path, plan: Schedule, shared: int, passes: int
) -> dict[str, float]:
    """Train `passes` times over `data` from `base`, write the model set to `out`, return its held-out figures."""
    from medassay.training.export import export_likelihood, export_trunk, write_set

    pairs = read_text_pairs(data)
    folds = folds_by_group([p.source for p in pairs], 10, plan.seed)
    tokenizer = load_tokenizer(base)
    marks = marks_of(tokenizer)
    encoder = load_encoder(base, shared)
    if not isinstance(encoder, SplitEncoder):
        raise ModelError(f"{base}: the recipe splits a BERT; give a BERT folder as --base")
    material = material_of([p for p, f in zip(pairs, folds) if f], tokenizer, marks)
    steps = max(1, passes * len(material.notes) // plan.batch)
    model, _ = train_likelihood(encoder, lambda seed: batches(material, seed, plan.batch * 128), plan, steps)
    figures = held_out_figures(model, [p for p, f in zip(pairs, folds) if not f], tokenizer, marks)
    export_trunk(encoder, out)
    export_likelihood(model, out)
    settings = {
        "graph": "likelihood.onnx",
        "reader": "likelihood_reader.onnx",
        "target_tokens": LONGEST,
        "context_tokens": CONTEXT,
    }
    write_set(out, base, "likelihood", settings, figures)
    return figures
