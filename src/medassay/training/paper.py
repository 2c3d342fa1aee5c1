"""HARE's published training, on any encoder: the `paper` preset of `medassay train ner|re` (align: sapbert.py).

Settings (HARE, section 3.2, and the authors' training script): AdamW, learning rate 5e-5 with a cosine decay, batch
4, 2 epochs, a tenth held out. Entities by token classification; relations by sequence classification with the two
entities marked in the text, one sequence per pair: all related pairs, and of every report as many others drawn at
random (at least one) from all its ordered pairs of entities, in the test three times as many. The result is a folder
of the transformers library that `models.load` reads.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import torch

from medassay.errors import InputError
from medassay.models.decoding import bio_labels
from medassay.models.graphs import write_record
from medassay.models.hub_relations import mark
from medassay.training.annotation import Segment, set_f1, split_tenth
from medassay.training.loop import Schedule, fit, pick_device, set_seed

PAPER = Schedule(
    epochs=2,
    rate=5e-5,
    head_rate=5e-5,
    batch=4,
    warmup=0.03,
    weight_decay=0.0,
    decay="cosine",
    betas=(0.9, 0.999),
    eps=1e-8,
)
"""The settings of the authors' training script; what it leaves open is the default of its library's trainer."""

Example = tuple[str, int]
"""A marked text, and 1 where the marked entities are related, else 0."""


@dataclass(frozen=True, slots=True)
class PaperResult:
    """Where the model was written and its held-out precision, recall and F1 (0–1, higher is better)."""

    folder: Path
    held_out: dict[str, float]
    train: int
    test: int


def relation_examples(segments: Sequence[Segment], negatives: int, seed: int) -> list[Example]:
    """All related pairs, and of every segment `negatives` times as many others (at least `negatives`), at random.

    The others are drawn from all ordered pairs of a segment's entities, whatever their types: a relation turned
    round is one of them.
    """
    shuffler = random.Random(seed)
    chosen: list[Example] = []
    for segment in segments:
        pairs = list(permutations(range(len(segment.entities)), 2))
        related = [pair for pair in pairs if pair in segment.relations]
        others = [pair for pair in pairs if pair not in segment.relations]
        drawn = shuffler.sample(others, min(len(others), negatives * max(1, len(related))))
        for pair in (*related, *drawn):
            head, tail = ((segment.entities[i].start, segment.entities[i].end) for i in pair)
            chosen.append((mark(segment.text, head, tail), int(pair in segment.relations)))
    if not any(label for _, label in chosen):
        raise InputError("no relation is annotated between two entities")
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
    predicted = [_read_entities(model, tokenizer, s.text, labels) for s in test]
    gold = [{(e.start, e.end, e.type) for e in s.entities} for s in test]
    figures = set_f1(gold, predicted)
    write_model(model, tokenizer, out, "ner", figures, train=len(train), test=len(test))
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
    """Fine-tune `base` to tell related from unrelated marked pairs with HARE's settings; write it to `out`.

    Figures: precision, recall and F1 of the related pairs, and `micro_f1`, which over both labels is the share of
    right answers; HARE's table has that one (a model that finds no relation has .783 there).
    """
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    set_seed(plan.seed)
    train_part, test_part = split_tenth(segments, [s.doc for s in segments], plan.seed)
    train = relation_examples(train_part, 1, plan.seed)
    test = relation_examples(test_part, 3, plan.seed)
    tokenizer = AutoTokenizer.from_pretrained(base, use_fast=True)
    names = {0: "NO_REL", 1: "Relation"}
    model = AutoModelForSequenceClassification.from_pretrained(
        base, num_labels=2, id2label=names, label2id={n: i for i, n in names.items()}
    ).to(pick_device())

    def rows(texts: list[str]) -> dict[str, torch.Tensor]:
        inputs = tokenizer(texts, truncation=True, max_length=512, padding=True, return_tensors="pt")
        return {name: value.to(model.device) for name, value in inputs.items()}

    def batches(epoch: int) -> list[list[Example]]:
        order = list(train)
        random.Random(plan.seed + epoch).shuffle(order)
        return [order[i : i + plan.batch] for i in range(0, len(order), plan.batch)]

    def loss_of(chunk: list[Example]) -> torch.Tensor:
        gold = torch.tensor([related for _, related in chunk], device=model.device)
        return model(**rows([text for text, _ in chunk]), labels=gold).loss  # type: ignore[no-any-return]

    fit(model, batches, loss_of, plan)
    answers: list[int] = []
    with torch.no_grad():
        for i in range(0, len(test), 16):
            answers += model(**rows([text for text, _ in test[i : i + 16]])).logits.argmax(-1).tolist()
    gold = [{(i,)} if related else set() for i, (_, related) in enumerate(test)]
    figures = set_f1(gold, [{(i,)} if answer else set() for i, answer in enumerate(answers)])
    figures["micro_f1"] = sum(answer == related for answer, (_, related) in zip(answers, test)) / len(test)
    write_model(model, tokenizer, out, "re", figures, train=len(train), test=len(test))
    return PaperResult(out, figures, len(train), len(test))


def write_model(model: Any, tokenizer: Any, out: Path, role: str, figures: dict[str, float], **sizes: int) -> None:
    """A folder of the transformers library with the record of its training."""
    out.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    write_record(out, role, figures, **sizes)
