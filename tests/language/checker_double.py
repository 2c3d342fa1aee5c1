"""A checker that compares words, so that every verdict can be foretold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medassay.models.base import Matrix
from medassay.spans import Check


class WordChecker:
    """Supports a statement whose last word the text has, and contradicts it where the text has `not` before it."""

    name = "words"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Matrix:
        return np.array([check.probabilities for check in self.check(pairs)], np.float32)

    def check(self, pairs: Sequence[tuple[str, str]]) -> list[Check]:
        self.asked += pairs
        return [self._check(*pair) for pair in pairs]

    def _check(self, text: str, statement: str) -> Check:
        word = statement.rstrip(".").split()[-1]
        at = text.find(word)
        if at < 0:
            return Check((0.0, 1.0, 0.0), 0, 0, "finding", 0.5)
        if f"not {word}" in text:
            return Check((0.0, 0.0, 1.0), at, at + len(word), "negation", 0.9)
        return Check((1.0, 0.0, 0.0), at, at + len(word), "other", 0.0)
