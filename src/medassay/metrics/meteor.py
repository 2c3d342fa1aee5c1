"""METEOR: words aligned by form, stem and meaning, with a penalty for scattered matches.

Lavie and Agarwal, "METEOR: An Automatic Metric for MT Evaluation with High Levels of Correlation with
Human Judgments", 2007. Alignment and arithmetic are those of `nltk.translate.meteor_score`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import Annotated, Literal

from medassay.cases import Case
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.metrics.lexical import bleu_lexicon
from medassay.metrics.ngrams import normalized
from medassay.metrics.porter import stem
from medassay.metrics.settings import Normalize, Range
from medassay.metrics.wordnet import WordNet, installed
from medassay.scores import Score

Numbered = list[tuple[int, str]]
"""Words with their positions in the text."""


class Meteor(Metric):
    """METEOR: weighted mean of word precision and recall, less a fragmentation penalty; 0 to 1, higher
    is better (Lavie and Agarwal 2007, section 2).

    Words are aligned in stages: equal words, then equal Porter stems, then WordNet synonyms where
    WordNet is installed (`synonyms=auto`; `yes` insists, `no` leaves them out). The signature names the
    stages that ran. As in nltk, synonyms are looked up for the stems that the second stage left over.
    With m matches in c chunks: F = P·R / (α·P + (1−α)·R), value = F · (1 − γ·(c/m)^β).

    Text handling: lower case; words and punctuation marks as the 13a tokenizer parts them;
    `normalize=nfkc` brings both texts to Unicode's compatibility form first.
    """

    name = "meteor"
    summary = "words aligned by form, stem and synonym, fragmentation penalised"
    defined = "Lavie and Agarwal, METEOR, 2007, section 2"
    parts = ("precision", "recall", "penalty")

    def __init__(
        self,
        *,
        alpha: Annotated[float, Range(0, 1)] = 0.9,
        beta: Annotated[float, Range(0)] = 3.0,
        gamma: Annotated[float, Range(0, 1)] = 0.5,
        synonyms: Literal["auto", "yes", "no"] | bool = "auto",
        normalize: Normalize = "none",
        references: Literal["best", "mean"] = "best",
    ) -> None:
        super().__init__(references=references)
        wanted = ("yes" if synonyms else "no") if isinstance(synonyms, bool) else synonyms
        self.alpha, self.beta, self.gamma = float(alpha), float(beta), float(gamma)
        self.normalize = normalize or "none"
        self.wordnet = installed() if wanted != "no" else None
        if wanted == "yes" and self.wordnet is None:
            raise MedassayError(
                "meteor(synonyms=yes): no WordNet dictionary found; install it (Debian: wordnet-base) "
                "or set WNSEARCHDIR to the folder that holds index.noun and data.noun"
            )

    def settings(self) -> Mapping[str, object]:
        stages = "exact+stem+synonym" if self.wordnet else "exact+stem"
        release = {"wordnet": self.wordnet.version} if self.wordnet else {}
        weights = {"alpha": self.alpha, "beta": self.beta, "gamma": self.gamma}
        return {"modules": stages, **release, **weights, "tok": "13a", "case": "lc", "norm": self.normalize}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return [
            self._score(
                tokens(normalized(case.candidate, self.normalize)),
                tokens(normalized(case.reference or "", self.normalize)),
            )
            for case in cases
        ]

    def _score(self, candidate: Sequence[str], reference: Sequence[str]) -> Score:
        matches = align(candidate, reference, self.wordnet)
        if not matches:
            return Score(0.0, parts={"precision": 0.0, "recall": 0.0, "penalty": 0.0})
        precision, recall = len(matches) / len(candidate), len(matches) / len(reference)
        mean = (precision * recall) / (self.alpha * precision + (1 - self.alpha) * recall)
        chunks = 1 + sum((i + 1, j + 1) != after for (i, j), after in pairwise(matches))
        penalty = self.gamma * (chunks / len(matches)) ** self.beta
        return Score((1 - penalty) * mean, parts={"precision": precision, "recall": recall, "penalty": penalty})


def tokens(text: str) -> list[str]:
    """The text's words and marks in lower case."""
    if "-\n" in text:  # a word parted at the line's end is one word to this tokenizer
        return list(bleu_lexicon("13a", True).split(text))
    return list(chain.from_iterable(map(_piece, text.split())))


@lru_cache(maxsize=2**16)
def _piece(piece: str) -> tuple[str, ...]:
    return tuple(bleu_lexicon("13a", True).split(piece))


def align(candidate: Sequence[str], reference: Sequence[str], wordnet: WordNet | None) -> list[tuple[int, int]]:
    """Matched words as (candidate, reference) positions, in the candidate's order."""
    ours, theirs = list(enumerate(candidate)), list(enumerate(reference))
    matches, ours, theirs = _match(ours, theirs, _itself)
    ours, theirs = [(i, stem(word)) for i, word in ours], [(j, stem(word)) for j, word in theirs]
    stages: list[Callable[[str], Iterable[str]]] = [_itself]
    if wordnet:
        stages.append(wordnet.synonyms)
    for variants in stages:
        more, ours, theirs = _match(ours, theirs, variants)
        matches += more
    return sorted(matches)


def _itself(word: str) -> tuple[str]:
    return (word,)


def _match(
    ours: Numbered, theirs: Numbered, variants: Callable[[str], Iterable[str]]
) -> tuple[list[tuple[int, int]], Numbered, Numbered]:
    """Match from the end: each candidate word takes the last free reference word that is one of its variants.

    Returns:
        The matched positions, and the words of both texts that stay unmatched.
    """
    free: defaultdict[str, list[int]] = defaultdict(list)
    for position, (_, word) in enumerate(theirs):
        free[word].append(position)
    matches: list[tuple[int, int]] = []
    unmatched: Numbered = []
    matched: set[int] = set()
    for i, word in reversed(ours):
        queues = [free[other] for other in variants(word) if free.get(other)]
        if not queues:
            unmatched.append((i, word))
            continue
        position = max(queues, key=lambda queue: queue[-1]).pop()
        matched.add(position)
        matches.append((i, theirs[position][0]))
    return matches, unmatched[::-1], [pair for position, pair in enumerate(theirs) if position not in matched]
