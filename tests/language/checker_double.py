"""Checkers that compare words, so that every verdict can be foretold and is the same on every machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest

from medassay.metrics.ledger_metric import ledger_maker
from medassay.models.base import CheckerModel, Matrix
from medassay.spans import Check

_SENTENCE = re.compile(r"[^.;\n?]+[.;\n?]?")
_WORD = re.compile(r"[a-z]{4,}|\d+(?:\.\d+)?")
_NEGATION = re.compile(r"\b(?:no|not|denies|without|negative|never)\b", re.I)


class WordChecker:
    """Supports a statement whose last word the text has; contradicts it where one of both has `not` before the word."""

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
        if (f"not {word}" in text) != (f"not {word}" in statement):
            return Check((0.0, 0.0, 1.0), at, at + len(word), "negation", 0.9)
        return Check((1.0, 0.0, 0.0), at, at + len(word), "other", 0.0)


class OverlapChecker:
    """Half of a statement's words in a sentence support it; another number or one negation contradicts it.

    asked: every pair that was put to it. A statement that holds the word `poison` makes it raise.
    """

    name = "overlap"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Matrix:
        return np.array([check.probabilities for check in self.check(pairs)], np.float32)

    def check(self, pairs: Sequence[tuple[str, str]]) -> list[Check]:
        self.asked += pairs
        if any("poison" in statement for _, statement in pairs):
            raise ValueError("poison")
        return [self._check(*pair) for pair in pairs]

    def _check(self, text: str, statement: str) -> Check:
        words = set(_WORD.findall(statement.lower()))
        names = {word for word in words if word[0].isalpha()}
        best, share = None, 0.0
        for sentence in _SENTENCE.finditer(text):
            common = names & set(_WORD.findall(sentence[0].lower()))
            if names and len(common) / len(names) > share:
                best, share = sentence, len(common) / len(names)
        critical = 0.9 if len(words) % 2 else 0.1
        if best is None or share < 0.5:
            return Check((0.1, 0.8, 0.1), 0, 0, "finding", critical)
        start = best.start() + len(best[0]) - len(best[0].lstrip())
        there = set(_WORD.findall(best[0].lower()))
        if {word for word in words if word[0].isdigit()} - there:
            return Check((0.05, 0.05, 0.9), start, best.end(), "value", critical)
        if bool(_NEGATION.search(statement)) != bool(_NEGATION.search(best[0])):
            return Check((0.1, 0.1, 0.8), start, best.end(), "negation", critical)
        return Check((0.9, 0.08, 0.02), start, best.end(), "other", 0.0)


@contextmanager
def installed(double: CheckerModel) -> Iterator[None]:
    """Put a double behind every metric that holds a ledger."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("medassay.metrics.ledger_metric.load", lambda role, spec: double)
        ledger_maker.cache_clear()
        yield
    ledger_maker.cache_clear()
