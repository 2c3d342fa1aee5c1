"""The reader of a model set: reads a text and a statement together, one pair per run of its graphs.

The first graph holds the early layers with heads of their own, the second the other layers; the fast reader runs the
first alone.

Pairs are not batched: weights and activations are 8-bit integers whose scale is taken over a run, and an answer must
not depend on what else was asked. Each run uses one core, and as many pairs are read at a time as there are cores: that
is nearly twice as fast on two cores as one run that uses both. Equal pairs are read once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from medassay.models.activations import softmax
from medassay.models.base import Matrix
from medassay.models.caching import RecentAnswers
from medassay.models.graphs import ModelSet, threads

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
    """What the heads answer for one pair, before softmax or sigmoid.

    expert: on the expert's score of a report pair.
    place: a number for each token of the text, higher where it belongs to the words that decide.
    early: whether the early heads answered.
    """

    verdict: Matrix
    kind: Matrix
    severity: float
    expert: float
    place: Matrix
    early: bool


class Reader:
    """The reader's tables and graphs.

    Args:
        models: the set.
        fast: let the early heads answer always.
    """

    def __init__(self, models: ModelSet, fast: bool = False) -> None:
        settings = models.role("reader")
        self.models = models
        self.fast = fast
        self.early, self.late = str(settings["early"]), str(settings["late"])
        self.temperatures = (float(settings["early_temperature"]), float(settings["temperature"]))
        with np.load(models.file(str(settings["tables"])), allow_pickle=False) as stored:
            self.words, self.scales = stored["words"], stored["scales"]
            self.positions = stored["positions"].astype(np.float32)
            self.gain, self.shift = stored["gain"], stored["shift"]
        self.cache: RecentAnswers[IdPair, PairAnswer] = RecentAnswers(_CACHED)

    def probabilities(self, answers: Sequence[PairAnswer]) -> Matrix:
        """[answers, 3] calibrated probabilities of supported, not stated, contradicted."""
        verdicts = np.array([answer.verdict for answer in answers], np.float32).reshape(-1, 3)
        temperatures = np.array([self.temperatures[not answer.early] for answer in answers], np.float32)
        return softmax(verdicts / temperatures[:, None])

    def read(self, pairs: Sequence[IdPair]) -> list[PairAnswer]:
        """The answers for pairs of token ids (BERT's, without frame tokens): a text and a statement each."""
        return self.cache.look_up(pairs, self._read_all)

    def _read_all(self, pairs: Sequence[IdPair]) -> list[PairAnswer]:
        if len(pairs) < 2 or threads() < 2:
            return [self._read(*pair) for pair in pairs]
        first = self._read(*pairs[0])  # opens the graphs
        with ThreadPoolExecutor(threads()) as pool:
            return [first, *pool.map(lambda pair: self._read(*pair), pairs[1:])]

    def _read(self, text: Sequence[int], statement: Sequence[int]) -> PairAnswer:
        row, text_tokens = laid_out(text, statement)
        mask = np.zeros((1, len(row)), np.int64)
        mask[0, text_tokens + 3 : -1] = 1
        states, *heads = self._run(self.early, self._embed(row)[None], mask)
        answer = _answer(dict(zip(OUTPUTS, heads, strict=True)), text_tokens, early=True)
        if self.fast:
            return answer
        heads = self._run(self.late, states, mask)
        return _answer(dict(zip(OUTPUTS, heads, strict=True)), text_tokens, early=False)

    def _run(self, graph: str, hidden: Matrix, statement: Any) -> list[Any]:
        return self.models.run(graph, {"hidden": hidden, "statement": statement}, cores=1)

    def _embed(self, row: Sequence[int]) -> Matrix:
        ids = np.asarray(row, np.int64)
        summed = self.words[ids].astype(np.float32) * self.scales[ids][:, None] + self.positions[2 : len(row) + 2]
        summed -= summed.mean(-1, keepdims=True)
        summed /= np.sqrt(np.square(summed).mean(-1, keepdims=True) + _EPSILON)
        states: Matrix = summed * self.gain + self.shift
        return states


def laid_out(text: Sequence[int], statement: Sequence[int]) -> tuple[list[int], int]:
    """`<s> text </s> </s> statement </s>` in MPNet's ids, and how many tokens of the text are in it."""
    room = LONGEST - 4
    statement_tokens = min(len(statement), max(STATEMENT_TOKENS, room - len(text)))
    text = text[: room - statement_tokens]
    return [BEGIN, *(i + SHIFT for i in text), END, END, *(i + SHIFT for i in statement[:statement_tokens]), END], len(
        text
    )


def as_sentence(statement: str) -> str:
    """A statement with a full stop, as the reader was trained on them.

    >>> as_sentence("Chest pain"), as_sentence("Any fever? No.")
    ('Chest pain.', 'Any fever? No.')
    """
    return statement if statement.rstrip().endswith((".", "?", "!")) else f"{statement.rstrip()}."


def _answer(heads: Mapping[str, Any], text: int, *, early: bool) -> PairAnswer:
    place = heads["place"][0, 1 : text + 1].copy()
    severity, expert = float(heads["severity"][0, 0]), float(heads["expert"][0, 0])
    return PairAnswer(heads["verdict"][0].copy(), heads["kind"][0].copy(), severity, expert, place, early)


@lru_cache(maxsize=8)
def open_reader(models: ModelSet, variant: str = "embedded") -> Reader:
    """The reader of a set, opened once: all roles that use it share its cache.

    Args:
        variant: `embedded`; `fast`, which lets the early heads answer; or `gpu`, on a graphics card.
    """
    if variant == "gpu":
        from medassay.models.reader_gpu import GpuReader

        return GpuReader(models)
    return Reader(models, fast=variant == "fast")


def suffix(variant: str) -> str:
    """What a variant adds to a model's name in signatures."""
    return "" if variant == "embedded" else f"-{variant}"
