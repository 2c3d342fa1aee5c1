"""Greedy matching of token states: the arithmetic of BERTScore, without any model.

Each token of a text looks for the most similar token of the other (cosine). All candidates of one
reference are matched in one matrix product, in slices of bounded size, so that memory does not grow with
the product of the lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from medassay.cases import Case
from medassay.metrics.base import Floats
from medassay.models.base import Matrix

CELLS = 4_000_000
"""Similarities held at once: 16 MB."""

CHARACTERS = 300_000
"""Characters of distinct texts whose states are held at once: about 100,000 tokens, 150 MB at 384 numbers."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """One text ready for matching.

    states: unit vectors of its tokens, frame tokens included (they may be matched, and weigh nothing).
    weights: what each token counts; 0 for frame tokens.
    divisor: what the weighted sum is divided by.
    tokens, cut: tokens of the text that were read, frame tokens not counted, and that were left out.
    """

    states: Matrix
    weights: Floats
    divisor: float
    offsets: Sequence[tuple[int, int]]
    tokens: int
    cut: int


@dataclass(frozen=True, slots=True)
class Match:
    """Precision and recall of one pair, and the best similarity of each token on either side."""

    precision: float
    recall: float
    candidate: Matrix
    reference: Matrix

    @property
    def f1(self) -> float | None:
        """The harmonic mean; None where one of the two is not positive, so that there is none."""
        if self.precision <= 0 or self.recall <= 0:
            return None
        return 2 * self.precision * self.recall / (self.precision + self.recall)


def unit(states: Matrix) -> Matrix:
    """Rows brought to length 1; a row of zeros stays."""
    lengths = np.sqrt(np.einsum("ij,ij->i", states, states))[:, None]
    scaled: Matrix = states / np.maximum(lengths, 1e-30)
    return scaled


def match(candidates: Sequence[Encoded], reference: Encoded) -> list[Match]:
    """Match all candidates of one reference.

    Pair by pair: products of stacked candidates are hardly faster, and their last bit depends on the stack.
    """
    return [_match(candidate, reference) for candidate in candidates]


def _match(candidate: Encoded, reference: Encoded) -> Match:
    length, width = len(candidate.states), len(reference.states)
    best_of_candidate = np.empty(length, np.float32)
    best_of_reference = np.full(width, -np.inf, np.float32)
    rows = max(1, CELLS // width)
    for start in range(0, length, rows):
        similar = candidate.states[start : start + rows] @ reference.states.T
        similar.max(axis=1, out=best_of_candidate[start : start + rows])
        np.maximum(best_of_reference, similar.max(axis=0), out=best_of_reference)
    return Match(
        float(candidate.weights @ best_of_candidate) / candidate.divisor,
        float(reference.weights @ best_of_reference) / reference.divisor,
        best_of_candidate,
        best_of_reference,
    )


def by_reference(cases: Sequence[Case]) -> Iterator[dict[str, list[int]]]:
    """Cases as blocks of bounded size, in each the indices of the cases that share a reference.

    A text of a block is encoded once however many pairs it is in; a block holds few enough texts to keep
    the states of all of them.
    """
    groups: dict[str, list[int]] = {}
    for i, case in enumerate(cases):
        groups.setdefault(case.references[0], []).append(i)
    block: dict[str, list[int]] = {}
    size = 0
    for reference, members in groups.items():
        for i in members:
            cost = len(cases[i].candidate) + (0 if reference in block else len(reference))
            if block and size + cost > CHARACTERS:
                yield block
                block, size = {}, 0
                cost = len(cases[i].candidate) + len(reference)
            block.setdefault(reference, []).append(i)
            size += cost
    if block:
        yield block


def weakest(
    text: str, side: str, best: Matrix, encoded: Encoded, spans: Sequence[tuple[int, int]], most: int = 3
) -> list[Mapping[str, object]]:
    """The sentences whose tokens find the weakest matches in the other text, weakest first."""
    starts = np.array([start for start, _ in encoded.offsets])
    counted = encoded.weights > 0
    rated = []
    for start, end in spans:
        inside = counted & (starts >= start) & (starts < end)
        if inside.any():
            weight = encoded.weights[inside]
            rated.append((float(weight @ best[inside] / weight.sum()), start, end))
    return [
        {"side": side, "start": start, "end": end, "score": round(score, 4), "note": "weakest match"}
        for score, start, end in sorted(rated)[:most]
    ]
