"""HARE's published training, on any encoder: the `paper` preset of `medassay train ner|re`.

Settings (HARE, section 3): AdamW, learning rate 5e-5, batch 4, 2 epochs, a tenth held out. Entities by
token classification; relations by sequence classification with the two entities marked in the text,
one sequence a pair, all related pairs and as many random unrelated ones in training, three times as
many in the test. The result is a folder of the transformers library that `models.load` reads.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from medassay.errors import InputError
from medassay.models.decoding import bio_labels
from medassay.models.graphs import write_record
from medassay.training.annotation import Segment, set_f1, split_tenth
from medassay.training.loop import Schedule, fit, pick_device, set_seed
from medassay.training.relations import compatible_pairs

PAPER = Schedule(epochs=2, rate=5e-5, head_rate=5e-5, batch=4, warmup=0.0)
MARKERS = ("[E1]", "[/E1]", "[E2]", "[/E2]")


@dataclass(frozen=True, slots=True)
class PaperResult:
    """Where the model was written and its held-out precision, recall and F1 (0–1, higher is better)."""

    folder: Path
    held_out: dict[str, float]
    train: int
    test: int


def mark_pair(text: str, head: tuple[int, int], tail: tuple[int, int]) -> str:
    """`text` with the head inside [E1] … [/E1] and the tail inside [E2] … [/E2], in whatever order they stand.

    >>> mark_pair("CD30 is positive", (8, 16), (0, 4))
    '[E2] CD30 [/E2] is [E1] positive [/E1]'
    """
    marks = [(head, MARKERS[0], MARKERS[1]), (tail, MARKERS[2], MARKERS[3])]
    out = text
    for (start, end), opening, closing in sorted(marks, key=lambda m: -m[0][0]):
        out = f"{out[:start]}{opening} {out[start:end]} {closing}{out[end:]}"
    return out


def relation_examples(segments: Sequence[Segment], negatives: int, seed: int) -> list[tuple[str, int, tuple[str, str]]]:
    """(marked text, 1 related / 0 not, type pair) of all related and `negatives` times as many other pairs."""
    related: list[tuple[str, int, tuple[str, str]]] = []
    other: list[tuple[str, int, tuple[str, str]]] = []
    for segment in segments:
        types = [e.type for e in segment.entities]
        for h, t in compatible_pairs(types):
            head, tail = segment.entities[h], segment.entities[t]
            text = mark_pair(segment.text, (head.start, head.end), (tail.start, tail.end))
            pair = (text, int((h, t) in segment.relations), (head.type, tail.type))
            (related if pair[1] else other).append(pair)
    if not related:
        raise InputError("no relation is annotated between entities of compatible types")
    shuffler = random.Random(seed)
    chosen = related + shuffler.sample(other, min(len(other), negatives * len(related)))
    shuffler.shuffle(chosen)
    return chosen


def train_ner_paper(segments: Sequence[Segment], base: str, out: Path, plan: Schedule = PAPER) -> PaperResult:
    """Fine-tune `base` for token classification with HARE's settings and write it to `out`."""
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    set_seed(plan.seed)
    train, test = split_tenth(segments, [s.doc for s in segments], plan.seed)
    labels = bio_labels()
    tokenizer = AutoTokenizer.from_pretrained(base, use_fast=True, add_prefix_space=True)
    model = AutoModelForTokenClassification.from_pretrained(
        base, num_labels=len(labels), id2label=dict(enumerate(labels)), label2id={n: i for i, n in enumerate(labels)}
    ).to(pick_device())
    number = {name: i for i, name in enumerate(labels)}

    def batches(epoch: int) -> list[list[Segment]]:
        order = list(train)
        random.Random(plan.seed + epoch).shuffle(order)
        return [order[i : i + plan.batch] for i in range(0, len(order), plan.batch)]

    def loss_of(chunk: list[Segment]) -> torch.Tensor:
        rows, gold = _token_labels(tokenizer, chunk, number)
        rows = {name: value.to(model.device) for name, value in rows.items()}
        return model(**rows, labels=gold.to(model.device)).loss  # type: ignore[no-any-return]

    fit(model, batches, loss_of, plan)
    found = [_read_entities(model, tokenizer, s.text, labels) for s in test]
    gold = [{(e.start, e.end, e.type) for e in s.entities} for s in test]
    figures = set_f1(gold, found)
    _write(model, tokenizer, out, "ner", figures, train=len(train), test=len(test))
    return PaperResult(out, figures, len(train), len(test))


def _token_labels(tokenizer: Any, chunk: Sequence[Segment], number: dict[str, int]) -> tuple[Any, torch.Tensor]:
    """Model inputs and a label for every piece; frame and padding pieces are left out (−100)."""
    rows = tokenizer(
        [s.text for s in chunk],
        truncation=True,
        max_length=512,
        padding=True,
        return_offsets_mapping=True,
        return_tensors="pt",
    )
    offsets = rows.pop("offset_mapping")
    gold = torch.full(offsets.shape[:2], -100)
    for i, segment in enumerate(chunk):
        for j, (start, end) in enumerate(offsets[i].tolist()):
            if start == end:
                continue
            gold[i, j] = 0
            for entity in segment.entities:
                if start < entity.end and end > entity.start:
                    first = start <= entity.start
                    gold[i, j] = number[f"{'B' if first else 'I'}-{entity.type}"]
    return rows, gold


def _read_entities(model: Any, tokenizer: Any, text: str, labels: Sequence[str]) -> set[tuple[object, ...]]:
    rows = tokenizer(text, truncation=True, max_length=512, return_offsets_mapping=True, return_tensors="pt")
    offsets = rows.pop("offset_mapping")[0].tolist()
    with torch.no_grad():
        logits = model(**{n: v.to(model.device) for n, v in rows.items()}).logits[0].float().cpu()
    spans: set[tuple[object, ...]] = set()
    current: tuple[int, int, str] | None = None
    for (start, end), label in zip(offsets, logits.argmax(-1).tolist()):
        name = labels[label]
        if start == end:
            continue
        if current is not None and name == f"I-{current[2]}":
            current = (current[0], end, current[2])
            continue
        if current is not None:
            spans.add(current)
        current = (start, end, name[2:]) if name != "O" else None
    if current is not None:
        spans.add(current)
    return spans


def train_re_paper(segments: Sequence[Segment], base: str, out: Path, plan: Schedule = PAPER) -> PaperResult:
    """Fine-tune `base` to tell related from unrelated marked pairs with HARE's settings; write it to `out`."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    set_seed(plan.seed)
    train_part, test_part = split_tenth(segments, [s.doc for s in segments], plan.seed)
    train = relation_examples(train_part, 1, plan.seed)
    test = relation_examples(test_part, 3, plan.seed)
    tokenizer = AutoTokenizer.from_pretrained(base, use_fast=True)
    tokenizer.add_special_tokens({"additional_special_tokens": list(MARKERS)})
    names = {0: "none", 1: "related"}
    model = AutoModelForSequenceClassification.from_pretrained(
        base, num_labels=2, id2label=names, label2id={n: i for i, n in names.items()}
    ).to(pick_device())
    model.resize_token_embeddings(len(tokenizer))

    def rows(texts: list[str]) -> dict[str, torch.Tensor]:
        made = tokenizer(texts, truncation=True, max_length=512, padding=True, return_tensors="pt")
        return {name: value.to(model.device) for name, value in made.items()}

    def batches(epoch: int) -> list[list[tuple[str, int, tuple[str, str]]]]:
        order = list(train)
        random.Random(plan.seed + epoch).shuffle(order)
        return [order[i : i + plan.batch] for i in range(0, len(order), plan.batch)]

    def loss_of(chunk: list[tuple[str, int, tuple[str, str]]]) -> torch.Tensor:
        gold = torch.tensor([related for _, related, _ in chunk], device=model.device)
        return model(**rows([text for text, _, _ in chunk]), labels=gold).loss  # type: ignore[no-any-return]

    fit(model, batches, loss_of, plan)
    said = []
    with torch.no_grad():
        for i in range(0, len(test), 16):
            said += model(**rows([t for t, _, _ in test[i : i + 16]])).logits.argmax(-1).tolist()
    gold = [{(i,)} if related else set() for i, (_, related, _) in enumerate(test)]
    figures = set_f1(gold, [{(i,)} if yes else set() for i, yes in enumerate(said)])
    _write(model, tokenizer, out, "re", figures, train=len(train), test=len(test))
    return PaperResult(out, figures, len(train), len(test))


def _write(model: Any, tokenizer: Any, out: Path, role: str, figures: dict[str, float], **sizes: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    write_record(out, role, figures, **sizes)
