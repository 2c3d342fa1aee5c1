"""Whether one text bears out a statement of another: words, concepts and numbers that both have.

Words are compared by their beginnings (`infection` and `infected` are one), rare ones count more; concepts by
their place in the terminology, so that `gastric carcinoma` is borne out by `stomach cancer`; numbers by value,
spoken or written. No model is asked. Time is linear in the texts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from medassay.language.concepts import similarity
from medassay.language.facts import Fact, facts
from medassay.language.lexicon import read_tsv
from medassay.language.mentions import Mention, mentions
from medassay.language.numbers import numbers
from medassay.language.terms import fold, lemma

_WORD = re.compile(r"[a-z0-9]+")
_SPELLED = re.compile(r"\b(?:[A-Z] ){1,5}[A-Z]\b")
_NOTES = 1201
_STEM = 5
_AKIN = 0.75
"""Similarity of two concepts (`concepts.similarity`, 0–1) from which one bears out the other."""


@dataclass(frozen=True, slots=True)
class Support:
    """How far a text bears out one statement; shares of 0 to 1, weighted by the rarity of words.

    words: share of the statement's content words that the text has anywhere. together: the greatest share that
    one fact, or two neighbouring ones, of the text have. concepts, numbers: how many of the statement's
    concepts and numbers the text lacks. best: the fact of the text that has most of it; −1 where there is none.
    """

    words: float
    together: float
    concepts: int
    numbers: int
    best: int


def stems(text: str) -> list[str]:
    """The content words of a text by their beginnings, in order; letters that were spelled out are one word.

    >>> stems("The E K G showed infected kidneys.")
    ['ekg', 'showe', 'infec', 'kidne']
    """
    joined = _SPELLED.sub(lambda match: match[0].replace(" ", ""), text)
    stop = _stop()
    return [lemma(word)[:_STEM] for word in _WORD.findall(fold(joined)) if word not in stop]


@lru_cache(maxsize=1)
def _stop() -> frozenset[str]:
    return next(frozenset(row["words"].split("|")) for row in read_tsv("clauses.tsv") if row["kind"] == "stop")


@lru_cache(maxsize=1)
def _common() -> dict[str, int]:
    return {stem: int(row["notes"]) for row in read_tsv("stems.tsv") for stem in row["stems"].split("|")}


@lru_cache(maxsize=50_000)
def rarity(stem: str) -> float:
    """What a word counts: the logarithm of how few notes have it, 0.1 to 7."""
    return max(0.1, math.log((_NOTES + 1) / (_common().get(stem, 1) + 1)))


class Ground:
    """A text that statements are checked against; read once."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.facts: list[tuple[int, Fact]] = []
        self.stems: set[str] = set()
        self.numbers: set[float] = set()
        self.concepts: set[str] = set()
        self.named: dict[str, bool] = {}
        windows: dict[str, list[int]] = {}
        for which, text in enumerate(texts):
            self.stems.update(stems(text))
            self.numbers.update(number.value for number in numbers(text))
            self.concepts.update(name_of(mention) for mention in mentions(text))
            for fact in facts(text):
                at = len(self.facts)
                self.facts.append((which, fact))
                for stem in set(stems(fact.text)):
                    # Window 2k is fact k alone, window 2k + 1 facts k and k + 1 together.
                    windows.setdefault(stem, []).extend((2 * at - 1, 2 * at, 2 * at + 1) if at else (0, 1))
        self.windows = {stem: np.unique(places) for stem, places in windows.items()}

    def most_facts(self) -> int:
        """Facts of the text that has most of them."""
        return max(Counter(which for which, _ in self.facts).values(), default=0)

    def stretch(self, best: int) -> str:
        """The fact that `Support.best` names and the one after it, as they can be read alone."""
        return " ".join(fact.text for _, fact in self.facts[max(best, 0) : max(best, 0) + 2])

    def support(self, own: Sequence[str], named: Sequence[Mention], values: Sequence[float]) -> Support:
        """How far the text bears out a statement of these content words, concepts and numbers."""
        weights = {stem: rarity(stem) for stem in own}
        total = sum(weights.values())
        together, best = self._together(weights)
        return Support(
            words=sum(w for stem, w in weights.items() if stem in self.stems) / total if total else 1.0,
            together=together / total if total else 1.0,
            concepts=sum(not self.names(mention) for mention in named),
            numbers=sum(value not in self.numbers for value in values),
            best=best,
        )

    def _together(self, weights: dict[str, float]) -> tuple[float, int]:
        """The greatest weight of words that one window has, and the fact it begins with."""
        known = [(self.windows[stem], weight) for stem, weight in weights.items() if stem in self.windows]
        if not known:
            return 0.0, -1
        places = np.concatenate([where for where, _ in known])
        shares = np.repeat([weight for _, weight in known], [len(where) for where, _ in known])
        sums = np.bincount(places, shares).astype(np.float64)
        # A single fact that has all of it goes before two that share it.
        sums[::2] += 1e-6
        best = int(sums.argmax())
        return float(sums[best]), best // 2

    def names(self, mention: Mention) -> bool:
        """Whether the text names a concept, or one so near that it bears it out."""
        name = name_of(mention)
        if name not in self.named:
            akin = bool(mention.id) and any(similarity(mention.id, other) >= _AKIN for other in self.concepts)
            self.named[name] = name in self.concepts or akin
        return self.named[name]


def name_of(mention: Mention) -> str:
    """A concept's id, or its words where the terminology has none."""
    return mention.id or mention.name.lower()
