"""HARE as published, written from its description, on the weights of the embedded set.

Pair by pair: each report goes through the entity model in chunks of 450 tokens, each padded to 512; every ordered
pair of entities, whatever their types, is a question of its own to the relation model, one forward pass of the
whole report padded to 512; every entity is embedded alone. The numbers are HARE's (entity F1 from best cosines,
F1 of the triples). Nothing is remembered between reports.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from medassay.metrics.hare_paper import entity_scores, triple_f1
from medassay.models.base import Matrix
from medassay.models.graphs import ModelSet
from medassay.models.roles import EmbeddedNer
from medassay.models.tokens import CLS, PAD, SEP, Ids, Tokens, Window
from medassay.spans import RELATION_TYPES, Span

CHUNK, PADDED = 450, 512
THRESHOLD = 0.7


@dataclass
class Spent:
    """CPU seconds of the steps; questions: pairs of entities, and of those the ones that were asked and timed."""

    entities: float = 0.0
    relations: float = 0.0
    vectors: float = 0.0
    questions: int = 0
    compatible: int = 0
    asked: int = 0
    found: list[int] = field(default_factory=list)

    @property
    def scaled(self) -> float:
        """CPU seconds with every question asked, where only some of them were."""
        return self.entities + self.vectors + self.relations * self.questions / max(self.asked, 1)

    @property
    def pruned(self) -> float:
        """CPU seconds if only pairs of types that can be related were asked: kinder than the publication."""
        return self.entities + self.vectors + self.relations * self.compatible / max(self.asked, 1)


class Published:
    """The published algorithm; `most` bounds the questions asked of a report (the time is then scaled)."""

    def __init__(self, models: ModelSet, most: int | None = None) -> None:
        self.models, self.most = models, most
        self.ner = EmbeddedNer(models)
        self.relations = models.role("re")
        self.tags = {tag: i for i, tag in enumerate(self.relations["tags"])}
        self.align = models.role("align")
        self.spent = Spent()

    def score(self, reference: str, candidate: str) -> float | None:
        """The mean of entity F1 and relation F1, 0–1; None where a side has no entity."""
        sides = [self._read(text) for text in (reference, candidate)]
        if not all(entities for entities, _ in sides):
            return None
        start = time.process_time()
        left, right = (np.stack([self._embed(text) for text in entities]) for entities, _ in sides)
        self.spent.vectors += time.process_time() - start
        _, _, f1 = entity_scores(left @ right.T)
        return (f1 + triple_f1(sides[0][1], sides[1][1])) / 2

    def _read(self, text: str) -> tuple[list[str], set[tuple[str, str, str]]]:
        start = time.process_time()
        tokens = self.models.tokenizer([text])[0]
        spans = [span for window in _chunks(tokens) for span in self._entities(window, tokens)]
        self.spent.entities += time.process_time() - start
        self.spent.found.append(len(spans))
        start = time.process_time()
        triples = set(self._related(text, tokens, spans))
        self.spent.relations += time.process_time() - start
        return [text[s.start : s.end] for s in spans if s.score > THRESHOLD], triples

    def _entities(self, window: Window, tokens: Tokens) -> list[Span]:
        states, mask = self._states(tokens.ids[window.first : window.last])
        logits = self.models.run(self.ner.settings["graph"], {"hidden": states, "mask": mask})[0]
        return self.ner._decode(window, tokens, logits[0])

    def _related(self, text: str, tokens: Tokens, spans: Sequence[Span]) -> Iterator[tuple[str, str, str]]:
        pairs = [(a, b) for a in spans for b in spans if a is not b]
        self.spent.questions += len(pairs)
        self.spent.compatible += sum((a.type, b.type) in RELATION_TYPES for a, b in pairs)
        # Spread over the report, so that the part that is timed is like the whole.
        step = max(1, len(pairs) // self.most) if self.most else 1
        for a, b in pairs[::step]:
            self.spent.asked += 1
            kind = RELATION_TYPES.get((a.type, b.type))
            if self._chance(tokens, a, b) > THRESHOLD and kind:
                yield text[a.start : a.end].lower(), text[b.start : b.end].lower(), kind

    def _chance(self, tokens: Tokens, head: Span, tail: Span) -> float:
        states, mask = self._states(tokens.ids[: PADDED - 2])
        tags = np.zeros(mask.shape, np.int64)
        places = []
        for span in (head, tail):
            inside = [i + 1 for i, (a, b) in enumerate(tokens.offsets[: PADDED - 2]) if a < span.end and b > span.start]
            first, last = (inside[0], inside[-1]) if inside else (1, 1)
            tags[0, first : last + 1] = self.tags.get(f"I-{span.type}", 0)
            tags[0, first] = self.tags.get(f"B-{span.type}", 0)
            places.append((first, last))
        feeds = {
            "hidden": states,
            "mask": mask,
            "tags": tags,
            "row": np.zeros(2, np.int64),
            "first": np.array([first for first, _ in places], np.int64),
            "last": np.array([last for _, last in places], np.int64),
            "head": np.array([0], np.int64),
            "tail": np.array([1], np.int64),
        }
        related = self.models.run(self.relations["graph"], feeds)[0]
        return float(1 / (1 + np.exp(-float(np.ravel(related)[0]))))

    def _embed(self, text: str) -> Matrix:
        ids = self.models.tokenizer([text])[0].ids[: int(self.align["max_tokens"]) - 2]
        states, mask = self._states(ids, len(ids) + 2)
        vector: Matrix = self.models.run(self.align["graph"], {"hidden": states, "mask": mask})[0][0]
        return vector / np.linalg.norm(vector)

    def _states(self, ids: Sequence[int], width: int = PADDED) -> tuple[Matrix, Ids]:
        """One row through the trunk, padded, and its mask; never from a cache."""
        row = np.full((1, width), PAD, np.int64)
        mask = np.zeros((1, width), np.int64)
        row[0, : len(ids) + 2] = [CLS, *ids, SEP]
        mask[0, : len(ids) + 2] = 1
        return self.models.run("trunk.onnx", {"ids": row, "mask": mask, "sides": np.zeros_like(row)})[0], mask


def _chunks(tokens: Tokens) -> list[Window]:
    return [
        Window(0, first, min(first + CHUNK, len(tokens)), first, min(first + CHUNK, len(tokens)))
        for first in range(0, len(tokens), CHUNK)
    ]
