"""The reader of a model set: reads a text and a statement together, one pair per run of its graph.

Pairs are not batched: weights and activations are 8-bit integers whose scale is taken over a run, and an answer must
not depend on what else was asked. A run of one pair fills two cores. Equal pairs are read once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from medassay.models.base import Matrix
from medassay.models.graphs import ModelSet

OUTPUTS = ("verdict", "kind", "severity", "expert", "quality", "place")
"""The graph's outputs, in order."""

BEGIN, END = 0, 2
"""MPNet's frame tokens."""

SHIFT = 4
"""MPNet's vocabulary is BERT's, moved by this many places."""

LONGEST = 512
STATEMENT_TOKENS = 224
"""Tokens of a statement that are read where the text needs the rest of the row."""

_CACHED = 20_000
_EPSILON = 1e-5

IdPair = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class PairAnswer:
    """What the heads answer for one pair, before softmax or sigmoid; `place`: a number for each token of the text."""

    verdict: Matrix
    kind: Matrix
    severity: float
    expert: float
    place: Matrix


class Reader:
    """The reader's tables and graph."""

    def __init__(self, models: ModelSet, graph: str, tables: str) -> None:
        self.models = models
        self.graph = graph
        with np.load(models.file(tables), allow_pickle=False) as stored:
            self.words, self.scales = stored["words"], stored["scales"]
            self.positions = stored["positions"].astype(np.float32)
            self.gain, self.shift = stored["gain"], stored["shift"]
        self.cache: OrderedDict[IdPair, PairAnswer] = OrderedDict()

    def read(self, pairs: Sequence[IdPair]) -> list[PairAnswer]:
        """The answers for pairs of token ids (BERT's, without frame tokens): a text and a statement each."""
        for pair in dict.fromkeys(pairs):
            if pair not in self.cache:
                self.cache[pair] = self._read(*pair)
        answers = [self.cache[pair] for pair in pairs]
        while len(self.cache) > _CACHED:
            self.cache.popitem(last=False)
        return answers

    def _read(self, text: Sequence[int], statement: Sequence[int]) -> PairAnswer:
        room = LONGEST - 4
        kept = min(len(statement), max(STATEMENT_TOKENS, room - len(text)))
        text = text[: room - kept]
        middle = [END, END]
        row = [BEGIN, *(i + SHIFT for i in text), *middle, *(i + SHIFT for i in statement[:kept]), END]
        mask = np.zeros((1, len(row)), np.int64)
        mask[0, len(text) + 3 : -1] = 1
        outputs = self.models.run(self.graph, {"hidden": self._embed(row)[None], "statement": mask})
        answers = dict(zip(OUTPUTS, outputs, strict=True))
        place = answers["place"][0, 1 : len(text) + 1].copy()
        severity, expert = float(answers["severity"][0, 0]), float(answers["expert"][0, 0])
        return PairAnswer(answers["verdict"][0].copy(), answers["kind"][0].copy(), severity, expert, place)

    def _embed(self, row: Sequence[int]) -> Matrix:
        at = np.asarray(row, np.int64)
        summed = self.words[at].astype(np.float32) * self.scales[at][:, None] + self.positions[2 : len(row) + 2]
        summed -= summed.mean(-1, keepdims=True)
        summed /= np.sqrt(np.square(summed).mean(-1, keepdims=True) + _EPSILON)
        states: Matrix = summed * self.gain + self.shift
        return states


@lru_cache(maxsize=8)
def open_reader(models: ModelSet, graph: str, tables: str) -> Reader:
    """The reader of a set, opened once: all roles that name it share its cache."""
    return Reader(models, graph, tables)
