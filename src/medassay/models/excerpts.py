"""Excerpts of a long text: the parts that a pair model has to read in order to judge one statement.

A text is cut into segments (lines, turns of a dialogue, sentences). Segments are ranked by what they share with the
statement, in words and in meaning, and the best are taken with their neighbours, because an answer cannot be
understood without its question, until the budget is used. An excerpt keeps the order of the text and the position of
each of its characters in it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

GAP = " … "
"""Stands between segments that are not neighbours in the text."""

LONGEST_SEGMENT = 280
"""Characters; longer stretches without an end of sentence are cut at a space."""

_BREAK = re.compile(r"\n|(?<=[.!?;])\s")
_WORD = re.compile(r"[^\W_]+")
_STEM = 5
"""Letters by which two words are taken for the same."""

LEXICAL_WEIGHT = 0.5
"""What shared words count beside the cosine of the segments' vectors (docs/models.md says how it was chosen)."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some segments of a text, joined. pieces: (start in the excerpt, start in the text, length) of each."""

    text: str
    pieces: tuple[tuple[int, int, int], ...]

    def position(self, offset: int) -> int:
        """Where the character at `offset` of the excerpt stands in the text; inside a gap, where the gap begins."""
        position = 0
        for start, original, length in self.pieces:
            if offset < start:
                break
            position = original + min(offset - start, length)
        return position


def segments(text: str) -> list[tuple[int, int]]:
    """Character ranges of lines and sentences, white space at their ends left out; linear in the text's length."""
    ranges: list[tuple[int, int]] = []
    start = 0
    for end in (*(match.end() for match in _BREAK.finditer(text)), len(text)):
        ranges += _short(text, start, end)
        start = end
    return ranges


def _short(text: str, start: int, end: int) -> list[tuple[int, int]]:
    ranges = []
    while start < end:
        stop = end
        if end - start > LONGEST_SEGMENT:
            space = text.rfind(" ", start + LONGEST_SEGMENT // 2, start + LONGEST_SEGMENT)
            stop = space if space > start else start + LONGEST_SEGMENT
        piece = text[start:stop]
        first = start + len(piece) - len(piece.lstrip())
        last = start + len(piece.rstrip())
        if first < last:
            ranges.append((first, last))
        start = stop
    return ranges


def stems(text: str) -> set[str]:
    """The words of a text, shortened so that inflections agree."""
    return {word[:_STEM] for word in _WORD.findall(text.lower())}


def lexical_relevance(statement: str, segment_stems: Sequence[set[str]]) -> Floats:
    """Share of the statement's words that each segment has, rare words counting more: one number from 0 to 1 each."""
    spread = Counter(stem for segment in segment_stems for stem in segment)
    total = len(segment_stems)
    weights = {stem: math.log1p(total / spread[stem]) for stem in stems(statement) if stem in spread}
    total_weight = sum(weights.values())
    if not total_weight:
        return np.zeros(total, np.float32)
    shares = [sum(weights[stem] for stem in segment & weights.keys()) / total_weight for segment in segment_stems]
    return np.array(shares, np.float32)


def relevance(vectors: Floats, statement: Floats, lexical: Floats) -> Floats:
    """How well each segment fits the statement: cosine of its vector, its neighbours' mixed in, and shared words."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    mixed = unit.copy()
    mixed[1:] += 0.5 * unit[:-1]
    mixed[:-1] += 0.5 * unit[1:]
    mixed /= np.maximum(np.linalg.norm(mixed, axis=1, keepdims=True), 1e-9)
    fit: Floats = mixed @ (statement / max(float(np.linalg.norm(statement)), 1e-9)) + LEXICAL_WEIGHT * lexical
    return fit


def excerpt(text: str, ranges: Sequence[tuple[int, int]], relevance: Floats, budget: int) -> Excerpt:
    """The most relevant segments with their neighbours, at most `budget` characters, in the order of the text."""
    taken: set[int] = set()
    used = 0
    for best in np.argsort(-relevance, kind="stable").tolist():
        for index in (best, best - 1, best + 1):
            if 0 <= index < len(ranges) and index not in taken:
                length = ranges[index][1] - ranges[index][0] + len(GAP)
                if used + length > budget:
                    continue
                taken.add(index)
                used += length
        if used > 0.9 * budget:
            break
    return joined(text, ranges, sorted(taken))


def joined(text: str, ranges: Sequence[tuple[int, int]], chosen: Sequence[int]) -> Excerpt:
    """The chosen segments as one text; what lies between two neighbours in the text is kept."""
    parts: list[str] = []
    pieces: list[tuple[int, int, int]] = []
    length = 0
    previous: int | None = None
    for index in chosen:
        start, end = ranges[index]
        if previous is not None:
            between = text[ranges[previous][1] : start] if index == previous + 1 else GAP
            parts.append(between)
            length += len(between)
        parts.append(text[start:end])
        pieces.append((length, start, end - start))
        length += end - start
        previous = index
    return Excerpt("".join(parts), tuple(pieces))
