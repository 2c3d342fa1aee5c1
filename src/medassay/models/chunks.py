"""Two long texts as pairs of short stretches that speak of the same, so that a pair model can read all of them.

Every sentence of either text belongs to exactly one pair: what is left out of the candidate stays in the
reference stretch that it was left out of, and what was invented stays beside its neighbours. Sentences find
their counterparts by the similarity of their words and by their neighbours', in any order; the reference is
then cut where the fewest counterparts are torn apart.
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
"""What it costs to go on anywhere but at the next sentence, in units of cosine."""

_SKIP = 0.05
"""What it costs to leave one sentence out."""

_SEGMENT = 0.6
"""What a cut costs beside the counterparts that it tears apart: few, full stretches are read best."""

Vectors = Callable[[Sequence[int]], Matrix]
Places = npt.NDArray[np.int64]
Sentences = Callable[[str], Sequence[tuple[int, int]]]
"""Where the sentences of a text lie: characters [start, end) of each, in order."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, or a part of one that is too long: its characters, its tokens and the characters of each."""

    start: int
    end: int
    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Stretches of reference and candidate that belong together; either may be empty."""

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
        for at in range(first, last, most):
            stop = min(at + most, last)
            offsets = tuple(tokens.offsets[at:stop])
            parts.append(Unit(offsets[0][0], offsets[-1][1], tuple(tokens.ids[at:stop]), offsets))
    return parts


def similarities(one: Sequence[Unit], two: Sequence[Unit], vectors: Vectors) -> Matrix:
    """Cosines [one, two] of the units' words, rare words first.

    A unit is the sum of its words' vectors; a word weighs by how few units of both texts have it. What all
    vectors have in common is taken off before.
    """
    every = [*one, *two]
    spread = Counter(i for unit in every for i in set(unit.ids))
    known = np.array(sorted(spread), np.int64)
    table = vectors(known.tolist())
    table = table - table.mean(0)
    table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)
    weight = np.log1p(len(every) / np.array([spread[i] for i in known.tolist()], np.float32))
    table *= weight[:, None]
    sums = np.zeros((len(every), table.shape[1]), np.float32)
    for row, unit in enumerate(every):
        sums[row] = table[np.searchsorted(known, np.unique(unit.ids))].sum(0)
    sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    made: Matrix = sums[: len(one)] @ sums[len(one) :].T
    return made


def counterparts(similar: Matrix) -> Places:
    """For each row its column: the best path through the rows that pays for every jump."""
    rows, columns = similar.shape
    value = similar[0].astype(np.float64)
    back = np.zeros((rows, columns), np.int32)
    own = np.arange(columns)
    for row in range(1, rows):
        anywhere = int(value.argmax())
        best, source = np.full(columns, value[anywhere] - _JUMP), np.full(columns, anywhere)
        for step, cost in ((0, 0.0), (1, 0.0), (2, _SKIP)):
            moved = np.full(columns, -np.inf)
            moved[step:] = value[: columns - step] - cost
            better = moved > best
            best, source = np.where(better, moved, best), np.where(better, own - step, source)
        back[row] = source
        value = best + similar[row]
    path = [int(value.argmax())]
    for row in range(rows - 1, 0, -1):
        path.append(int(back[row, path[-1]]))
    return np.array(path[::-1], np.int64)


def chunk_pairs(reference: Sequence[Unit], candidate: Sequence[Unit], vectors: Vectors, room: int) -> list[Chunk]:
    """Stretches in the reference's order, each pair of at most `room` tokens."""
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
        mine = [candidate[j] for j in np.flatnonzero(belongs == k).tolist()]
        chunks += _fitted(reference[a:b], mine, room)
    return chunks


def _coarser(some: Sequence[Unit]) -> list[Unit]:
    """Neighbours joined two by two."""
    return [
        Unit(a.start, b.end, a.ids + b.ids, a.offsets + b.offsets) if b is not a else a
        for a, b in zip(some[::2], [*some[1::2], *some[-1:]])
    ]


def _cuts(
    reference: Sequence[Unit], candidate: Sequence[Unit], links: Matrix, to_reference: Places, room: int
) -> list[int]:
    """Where the reference is cut, 0 and its length included: the cheapest cuts that leave every stretch in room."""
    count = len(reference)
    torn = np.zeros(count + 1)
    for j in range(len(candidate)):
        at = np.flatnonzero(links[:, j])
        if len(at) > 1:
            before = np.cumsum(links[at, j])
            for place, upto in zip(pairwise(at.tolist()), before):
                # Counterparts far apart are two mentions, not one sentence: keeping them together is not asked for.
                if place[1] - place[0] <= 3:
                    torn[place[0] + 1 : place[1] + 1] += min(upto, before[-1] - upto)
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
            here = cost[start] + _SEGMENT + (torn[start] if start else 0.0)
            if here < cost[end]:
                cost[end], back[end] = here, start
    cuts = [count]
    while cuts[-1]:
        cuts.append(int(back[cuts[-1]]))
    return cuts[::-1]


def _fitted(reference: Sequence[Unit], candidate: Sequence[Unit], room: int) -> list[Chunk]:
    """The chunk, or several of the same reference stretch where too much of the candidate belongs to it."""
    left = room - sum(len(unit.ids) for unit in reference)
    if sum(len(unit.ids) for unit in candidate) <= left:
        return [Chunk(tuple(reference), tuple(candidate))]
    return [Chunk(tuple(reference), part) for part in _packed(candidate, max(left, room // 2))]


def _unpaired(reference: Sequence[Unit], candidate: Sequence[Unit], room: int) -> list[Chunk]:
    missing = [Chunk(part, ()) for part in _packed(reference, room)]
    return missing + [Chunk((), part) for part in _packed(candidate, room)]


def _packed(some: Sequence[Unit], room: int) -> list[tuple[Unit, ...]]:
    """Units in groups of at most `room` tokens."""
    groups: list[list[Unit]] = []
    tokens = 0
    for unit in some:
        tokens += len(unit.ids)
        if not groups or tokens > room:
            groups.append([])
            tokens = len(unit.ids)
        groups[-1].append(unit)
    return [tuple(group) for group in groups]
