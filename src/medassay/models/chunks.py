"""Cuts two long texts into pairs of aligned chunks, so that a pair model can read all of both.

Every sentence of either text belongs to one pair: what the candidate omits stays with its neighbours in the
reference, and what it adds stays with its neighbours in the candidate. Sentences are aligned by the similarity of
their words and by their neighbours, in any order; the reference is then cut where the fewest aligned sentences are
separated.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from medassay.models.base import Matrix
from medassay.models.tokens import Tokens, sentence_ends

MOST_CELLS = 40_000_000
"""Units of one text times units of the other that are compared; beyond it neighbours are joined first."""

_JUMP = 0.35
"""Cost of continuing the alignment anywhere but at the next sentence, in units of cosine."""

_SKIP = 0.05
"""Cost of leaving one sentence out."""

_SEGMENT = 0.6
"""Cost of a cut, besides the aligned sentences that it separates: few, full chunks are read best."""

Vectors = Callable[[Sequence[int]], Matrix]
Places = npt.NDArray[np.int64]
Sentences = Callable[[str], Sequence[tuple[int, int]]]
"""Where the sentences of a text lie: characters [start, end) of each, in order."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, or a part of one that is too long: its characters [start, end) and its token ids."""

    start: int
    end: int
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Aligned units of reference and candidate; either side may be empty."""

    reference: tuple[Unit, ...]
    candidate: tuple[Unit, ...]


def units(text: str, tokens: Tokens, most: int, sentences: Sentences | None = None) -> list[Unit]:
    """The sentences of a text with their tokens.

    Args:
        most: tokens of a unit; a longer sentence is cut.
        sentences: where the text's sentences lie; None: where its punctuation and lines end.
    """
    if sentences is None:
        ends = sentence_ends(text, tokens)
    else:
        starts = [start for start, _ in tokens.offsets]
        ends = [bisect_left(starts, end) for _, end in sentences(text)]
    parts: list[Unit] = []
    for first, last in pairwise([0, *ends]):
        for begin in range(first, last, most):
            stop = min(begin + most, last)
            start, end = tokens.offsets[begin][0], tokens.offsets[stop - 1][1]
            parts.append(Unit(start, end, tuple(tokens.ids[begin:stop])))
    return parts


def similarities(reference: Sequence[Unit], candidate: Sequence[Unit], vectors: Vectors) -> Matrix:
    """Cosines [reference, candidate] of the units' words.

    A unit is the sum of its words' vectors, less the mean of all vectors; the fewer units of both texts have a word,
    the more it weighs.
    """
    every = [*reference, *candidate]
    spread = Counter(i for unit in every for i in set(unit.ids))
    present = np.array(sorted(spread), np.int64)
    table = vectors(present.tolist())
    table = table - table.mean(0)
    table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)
    weight = np.log1p(len(every) / np.array([spread[i] for i in present.tolist()], np.float32))
    table *= weight[:, None]
    sums = np.zeros((len(every), table.shape[1]), np.float32)
    for row, unit in enumerate(every):
        sums[row] = table[np.searchsorted(present, np.unique(unit.ids))].sum(0)
    sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    cosines: Matrix = sums[: len(reference)] @ sums[len(reference) :].T
    return cosines


def counterparts(similar: Matrix) -> Places:
    """The column aligned with each row: the path of the highest total similarity, less the cost of its jumps."""
    rows, columns = similar.shape
    value = similar[0].astype(np.float64)
    back = np.zeros((rows, columns), np.int32)
    column_indices = np.arange(columns)
    for row in range(1, rows):
        anywhere = int(value.argmax())
        best, source = np.full(columns, value[anywhere] - _JUMP), np.full(columns, anywhere)
        for step, cost in ((0, 0.0), (1, 0.0), (2, _SKIP)):
            moved = np.full(columns, -np.inf)
            moved[step:] = value[: columns - step] - cost
            better = moved > best
            best, source = np.where(better, moved, best), np.where(better, column_indices - step, source)
        back[row] = source
        value = best + similar[row]
    path = [int(value.argmax())]
    for row in range(rows - 1, 0, -1):
        path.append(int(back[row, path[-1]]))
    return np.array(path[::-1], np.int64)


def chunk_pairs(reference: Sequence[Unit], candidate: Sequence[Unit], vectors: Vectors, room: int) -> list[Chunk]:
    """Chunks in the reference's order, each of at most `room` tokens."""
    if not reference or not candidate:
        return _unpaired(reference, candidate, room)
    while len(reference) * len(candidate) > MOST_CELLS:
        reference, candidate = _coarser(reference), _coarser(candidate)
    similar = similarities(reference, candidate, vectors)
    links = np.zeros_like(similar)
    to_reference = counterparts(np.ascontiguousarray(similar.T))
    to_candidate = counterparts(similar)
    for j, i in enumerate(to_reference):
        links[i, j] = max(float(similar[i, j]), 0.05)
    for i, j in enumerate(to_candidate):
        links[i, j] = max(float(similar[i, j]), 0.0)
    cuts = _cuts(reference, candidate, links, to_reference, room)
    chunks: list[Chunk] = []
    belongs = np.stack([links[a:b].sum(0) for a, b in pairwise(cuts)]).argmax(0)
    for k, (a, b) in enumerate(pairwise(cuts)):
        matching = [candidate[j] for j in np.flatnonzero(belongs == k).tolist()]
        chunks += _fitted(reference[a:b], matching, room)
    return chunks


def _coarser(parts: Sequence[Unit]) -> list[Unit]:
    """Neighbouring units joined in pairs."""
    return [
        Unit(a.start, b.end, a.ids + b.ids) if b is not a else a
        for a, b in zip(parts[::2], [*parts[1::2], *parts[-1:]])
    ]


def _cuts(
    reference: Sequence[Unit], candidate: Sequence[Unit], links: Matrix, to_reference: Places, room: int
) -> list[int]:
    """Where the reference is cut, 0 and its length included: the cheapest cuts with every chunk within `room`."""
    count = len(reference)
    torn = np.zeros(count + 1)
    for j in range(len(candidate)):
        linked = np.flatnonzero(links[:, j])
        if len(linked) > 1:
            before = np.cumsum(links[linked, j])
            for (row, following), upto in zip(pairwise(linked.tolist()), before):
                # Counterparts far apart are two mentions, not one sentence: keeping them together is not asked for.
                if following - row <= 3:
                    torn[row + 1 : following + 1] += min(upto, before[-1] - upto)
    size = np.array([len(unit.ids) for unit in reference])
    for j, i in enumerate(to_reference):
        size[i] += len(candidate[j].ids)
    cost, back = np.full(count + 1, np.inf), np.zeros(count + 1, np.int64)
    cost[0] = 0.0
    for end in range(1, count + 1):
        tokens = 0
        for start in range(end - 1, -1, -1):
            tokens += size[start]
            if tokens > room and start < end - 1:
                break
            total = cost[start] + _SEGMENT + (torn[start] if start else 0.0)
            if total < cost[end]:
                cost[end], back[end] = total, start
    cuts = [count]
    while cuts[-1]:
        cuts.append(int(back[cuts[-1]]))
    return cuts[::-1]


def _fitted(reference: Sequence[Unit], candidate: Sequence[Unit], room: int) -> list[Chunk]:
    """The chunk, or several with the same reference units where too much of the candidate belongs to them."""
    remaining = room - sum(len(unit.ids) for unit in reference)
    if sum(len(unit.ids) for unit in candidate) <= remaining:
        return [Chunk(tuple(reference), tuple(candidate))]
    return [Chunk(tuple(reference), part) for part in _packed(candidate, max(remaining, room // 2))]


def _unpaired(reference: Sequence[Unit], candidate: Sequence[Unit], room: int) -> list[Chunk]:
    missing = [Chunk(part, ()) for part in _packed(reference, room)]
    return missing + [Chunk((), part) for part in _packed(candidate, room)]


def _packed(parts: Sequence[Unit], room: int) -> list[tuple[Unit, ...]]:
    """Units in groups of at most `room` tokens."""
    groups: list[list[Unit]] = []
    tokens = 0
    for unit in parts:
        tokens += len(unit.ids)
        if not groups or tokens > room:
            groups.append([])
            tokens = len(unit.ids)
        groups[-1].append(unit)
    return [tuple(group) for group in groups]
