"""A pair model whose answers can be worked out by hand: a token is flawed where the other text lacks it."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from medassay.models.base import Matrix
from medassay.models.graphs import ModelSet
from medassay.models.pairs_model import IdPair, PairReading
from medassay.models.tokens import Tokens


class PairDouble:
    """Stands for `PairsModel`; tokens are the embedded tokenizer's, every head is a count."""

    outputs = ("fidelity", "quality", "facts", "support", "flaws")
    room = 445

    def __init__(self, models: ModelSet) -> None:
        self.models = models
        self.asked: list[IdPair] = []
        self.tables: Any = SimpleNamespace(word_vectors=_vectors)

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        return self.models.tokenizer(texts)

    def run(self, pairs: Sequence[tuple[str, str]], head: str) -> Matrix:
        ids = [tuple(tuple(one.ids) for one in self.tokens(pair)) for pair in pairs]
        return np.stack([one.heads[head] for one in self.read_ids(ids)])  # type: ignore[arg-type]

    def read_ids(self, pairs: Sequence[IdPair]) -> list[PairReading]:
        self.asked += pairs
        return [self._reading(*pair) for pair in pairs]

    def _reading(self, first: tuple[int, ...], second: tuple[int, ...]) -> PairReading:
        frame = [-8.0]
        one, two = _flaws(first, second), _flaws(second, first)
        right = 1.0 - np.mean([flaw > 0 for flaw in (*one, *two)])
        logit = float(np.log((right + 1e-3) / (1 - right + 1e-3)))
        heads = {
            "fidelity": np.array([4.0], np.float32),
            "quality": np.array([logit], np.float32),
            "facts": np.array([logit, logit, -logit, -logit], np.float32),
            "support": np.array([logit, logit, -logit, -logit], np.float32),
        }
        flaws = np.array([*frame, *one, *frame, *two, *frame], np.float32)
        return PairReading(heads, flaws, len(first), len(second))


def _flaws(mine: Sequence[int], others: Sequence[int]) -> list[float]:
    return [-8.0 if i in set(others) else 6.0 for i in mine]


def _vectors(ids: Sequence[int]) -> Matrix:
    return np.stack([np.random.default_rng(i).normal(size=24) for i in ids]).astype(np.float32)
