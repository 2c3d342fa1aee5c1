"""Role `checker`: does a text of any length support a statement, contradict it, or not mention it?

A text that fits is read whole. Of a longer one the reader sees the excerpt that is most relevant to the statement,
and, where that does not support it, a second excerpt from the rest. One supporting excerpt is enough, and a
contradiction counts only where no excerpt supports the statement.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from medassay.models.activations import sigmoid
from medassay.models.base import Encoder, Matrix
from medassay.models.excerpts import Excerpt, excerpt, joined, lexical_relevance, relevance, segments, stems
from medassay.models.graphs import ModelSet
from medassay.models.reader import PairAnswer, as_sentence, open_reader, suffix
from medassay.models.tokens import Tokens
from medassay.spans import CONTRADICTION_KINDS, INVENTION_KINDS, Check

BUDGET = 1800
"""Characters of a text, or of an excerpt of a longer one, that are read with a statement."""

ENOUGH = 0.5
"""Probability of support from which the rest of a long text is not read."""

_PLACE = 0.35
"""Share of the likeliest token's probability from which its neighbours belong to the deciding words."""

_CACHED_TEXTS = 256

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Segmented:
    """A long text cut into segments, with the stems and vectors by which excerpts are chosen."""

    ranges: list[tuple[int, int]]
    stems: list[set[str]]
    vectors: Matrix


class EmbeddedChecker:
    """The checker of a model set. Pairs are (text, statement).

    Args:
        models: the set.
        encoder: chooses the excerpts of long texts.
        variant: how the reader is run (`open_reader`).
    """

    def __init__(self, models: ModelSet, encoder: Encoder, variant: str = "embedded") -> None:
        models.role("checker")
        self.name = f"{models.name}/checker{suffix(variant)}"
        self.models = models
        self.encoder = encoder
        self.reader = open_reader(models, variant)
        self.segmented: OrderedDict[str, _Segmented] = OrderedDict()

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """[pairs, 3] probabilities of supported, not stated, contradicted."""
        rows = [check.probabilities for check in self.check(pairs)]
        return np.array(rows, np.float32).reshape(len(rows), 3)

    def check(self, pairs: Sequence[Pair]) -> list[Check]:
        """The judgement of each statement, with the words of the text that decide."""
        pairs = [(text, as_sentence(statement)) for text, statement in pairs]
        distinct = list(dict.fromkeys(pairs))
        vectors = self._vectors(distinct)
        first = [self._excerpt(*pair, vectors) for pair in distinct]
        checks = self._read([(part, statement) for part, (_, statement) in zip(first, distinct)])
        unsupported = [i for i, check in enumerate(checks) if check.probabilities[0] < ENOUGH]
        second_excerpts = {
            i: part for i in unsupported if (part := self._rest(*distinct[i], first[i], vectors)) is not None
        }
        second = self._read([(part, distinct[i][1]) for i, part in second_excerpts.items()])
        for i, check in zip(second_excerpts, second):
            checks[i] = joined_check(checks[i], check)
        by_pair = dict(zip(distinct, checks))
        return [by_pair[pair] for pair in pairs]

    def _vectors(self, pairs: Sequence[Pair]) -> Mapping[str, Matrix]:
        """The encoder's vector of each statement on a long text."""
        statements = list(dict.fromkeys(statement for text, statement in pairs if len(text) > BUDGET))
        return dict(zip(statements, self.encoder.embed(statements))) if statements else {}

    def _excerpt(self, text: str, statement: str, vectors: Mapping[str, Matrix]) -> Excerpt:
        if len(text) <= BUDGET:
            return Excerpt(text, ((0, 0, len(text)),))
        parts = self._segments(text)
        return excerpt(text, parts.ranges, _relevance(parts, statement, vectors), BUDGET)

    def _rest(self, text: str, statement: str, first: Excerpt, vectors: Mapping[str, Matrix]) -> Excerpt | None:
        """A second excerpt, from the segments outside the first one; None where there are none."""
        if len(text) <= BUDGET:
            return None
        parts = self._segments(text)
        taken = {start for _, start, _ in first.pieces}
        remaining = [i for i, (start, _) in enumerate(parts.ranges) if start not in taken]
        if not remaining:
            return None
        fit = _relevance(parts, statement, vectors)
        chosen: list[int] = []
        used = 0
        for k in np.argsort(-fit[remaining], kind="stable").tolist():
            length = parts.ranges[remaining[k]][1] - parts.ranges[remaining[k]][0] + 3
            if used + length > BUDGET:
                break
            chosen.append(remaining[k])
            used += length
        return joined(text, parts.ranges, sorted(chosen)) if chosen else None

    def _segments(self, text: str) -> _Segmented:
        if text not in self.segmented:
            ranges = segments(text)
            parts = [text[start:end] for start, end in ranges]
            self.segmented[text] = _Segmented(ranges, [stems(part) for part in parts], self.encoder.embed(parts))
            while len(self.segmented) > _CACHED_TEXTS:
                self.segmented.popitem(last=False)
        self.segmented.move_to_end(text)
        return self.segmented[text]

    def _read(self, pairs: Sequence[tuple[Excerpt, str]]) -> list[Check]:
        texts = list(dict.fromkeys(text for part, statement in pairs for text in (part.text, statement)))
        tokens = dict(zip(texts, self.models.tokenizer(texts)))
        ids = {text: tuple(text_tokens.ids) for text, text_tokens in tokens.items()}
        answers = self.reader.read([(ids[part.text], ids[statement]) for part, statement in pairs])
        chances = self.reader.probabilities(answers).tolist()
        critical = sigmoid([answer.severity for answer in answers]).tolist()
        return [
            _check(part, tokens[part.text], *judged)
            for (part, _), *judged in zip(pairs, answers, chances, critical, strict=True)
        ]


def _check(part: Excerpt, tokens: Tokens, answer: PairAnswer, chances: Sequence[float], critical: float) -> Check:
    supported, not_stated, contradicted = chances
    split = len(CONTRADICTION_KINDS)
    if not_stated > contradicted:
        kind = INVENTION_KINDS[int(answer.kind[split:].argmax())]
    else:
        kind = CONTRADICTION_KINDS[int(answer.kind[:split].argmax())]
    start, end = deciding_words(tokens, answer.place)
    span = (part.position(start), part.position(end - 1) + 1) if end > start else (0, 0)
    return Check((supported, not_stated, contradicted), *span, kind, critical)


def _relevance(parts: _Segmented, statement: str, vectors: Mapping[str, Matrix]) -> Matrix:
    return relevance(parts.vectors, vectors[statement], lexical_relevance(statement, parts.stems))


def deciding_words(tokens: Tokens, place: Matrix) -> tuple[int, int]:
    """Characters of the likeliest deciding token and its likely neighbours; (0, 0) where there is no token."""
    if not len(place):
        return 0, 0
    chances = sigmoid(place)
    best = int(chances.argmax())
    least = _PLACE * float(chances[best])
    first = last = best
    while first > 0 and chances[first - 1] >= least:
        first -= 1
    while last + 1 < len(chances) and chances[last + 1] >= least:
        last += 1
    return tokens.offsets[first][0], tokens.offsets[last][1]


def joined_check(first: Check, second: Check) -> Check:
    """The judgement of two excerpts of one text: the best support; a contradiction where neither supports."""
    supported = max(first.probabilities[0], second.probabilities[0])
    if supported >= ENOUGH:
        return first if first.probabilities[0] >= second.probabilities[0] else second
    contradicted = max(first.probabilities[2], second.probabilities[2])
    decisive = max((first, second), key=lambda check: max(check.probabilities[0], check.probabilities[2]))
    contradicted = min(contradicted, 1.0 - supported)
    not_stated = max(0.0, 1.0 - supported - contradicted)
    return Check((supported, not_stated, contradicted), decisive.start, decisive.end, decisive.kind, decisive.critical)
