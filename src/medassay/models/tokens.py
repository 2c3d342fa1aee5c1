"""Tokens, windows and batches: how texts of any length reach a model.

A text is tokenised once. Where it is longer than a model reads, it is cut into windows at sentence
ends; a sentence that is itself too long is covered by overlapping windows. Every token is *owned* by
exactly one window, and every token knows its characters, so answers map back to the text as given.
Windows go through the model sorted by length, in batches of bounded size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

CLS, SEP, PAD = 101, 102, 0
Ids = npt.NDArray[np.int64]

_ENDS = frozenset(".!?;:")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The word pieces of one text: ids, and the characters [start, end) of each."""

    ids: list[int]
    offsets: list[tuple[int, int]]
    pieces: list[str]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens `first` … `last` (exclusive) of a text, of which it owns `owned_first` … `owned_last`."""

    text: int
    first: int
    last: int
    owned_first: int
    owned_last: int

    def __len__(self) -> int:
        return self.last - self.first


class Tokenizer:
    """The word-piece tokenizer of the embedded set, with character offsets."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer as Backend

        self.backend: Any = Backend.from_file(str(path))

    @property
    def frame(self) -> tuple[int, int]:
        """The ids of [CLS] and [SEP]."""
        cls, sep = self.backend.token_to_id("[CLS]"), self.backend.token_to_id("[SEP]")
        return (CLS if cls is None else int(cls), SEP if sep is None else int(sep))

    def __call__(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of each text, without frame tokens."""
        encoded = self.backend.encode_batch([encodable(text) for text in texts], add_special_tokens=False)
        return [Tokens(e.ids, e.offsets, e.tokens) for e in encoded]


_SURROGATE = re.compile("[\ud800-\udfff]")


def encodable(text: str) -> str:
    """The text with each lone surrogate, which no tokenizer takes, as one mark: offsets hold."""
    return _SURROGATE.sub("?", text)


def text_windows(texts: Sequence[str], tokens: Sequence[Tokens], limit: int) -> list[Window]:
    """Windows of whole sentences over all texts, at most `limit` tokens each."""
    return [
        window for i, text_tokens in enumerate(tokens) for window in sentence_windows(texts[i], text_tokens, i, limit)
    ]


def sentence_windows(text: str, tokens: Tokens, index: int, limit: int, overlap: int = 32) -> list[Window]:
    """Windows of whole sentences, each as full as `limit` tokens allows."""
    if len(tokens) <= limit:
        return [Window(index, 0, len(tokens), 0, len(tokens))] if len(tokens) else []
    overlap = min(overlap, limit // 2)
    ends = sentence_ends(text, tokens)
    windows: list[Window] = []
    start = 0
    for i, end in enumerate(ends):
        following = ends[i + 1] if i + 1 < len(ends) else None
        if following is not None and following - start <= limit:
            continue
        windows += sliding_windows(index, start, end, limit, overlap)
        start = end
    return windows


def sentence_ends(text: str, tokens: Tokens) -> list[int]:
    """Token positions at which a sentence or line has just ended, by punctuation; the last is the length."""
    ends = []
    for i in range(1, len(tokens)):
        before, after = tokens.offsets[i - 1], tokens.offsets[i]
        gap = text[before[1] : after[0]]
        if "\n" in gap or (gap and text[before[0] : before[1]].strip() in _ENDS):
            ends.append(i)
    if len(tokens):
        ends.append(len(tokens))
    return ends


def sliding_windows(index: int, start: int, end: int, limit: int, overlap: int) -> list[Window]:
    """One window if it fits, else overlapping ones; tokens in an overlap belong to the nearer middle."""
    if end - start <= limit:
        return [Window(index, start, end, start, end)] if end > start else []
    step = limit - overlap
    firsts = list(range(start, end - overlap, step))
    windows = []
    for k, first in enumerate(firsts):
        last = min(first + limit, end)
        owned_first = start if k == 0 else first + overlap // 2
        owned_last = end if k == len(firsts) - 1 else first + step + overlap // 2
        windows.append(Window(index, first, last, owned_first, owned_last))
    return windows


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Indices in batches of at most `budget` padded tokens, longest first (so the peak comes at once).

    >>> list(batches([3, 9, 4], budget=12))
    [[1], [2, 0]]
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    batch: list[int] = []
    for i in order:
        if batch and (len(batch) + 1) * lengths[batch[0]] > budget:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def pad(rows: Sequence[Sequence[int]], value: int = PAD, multiple: int = 1) -> Ids:
    """Rows of ids as one matrix, its width a multiple of `multiple`."""
    width = -(-max(len(row) for row in rows) // multiple) * multiple
    matrix = np.full((len(rows), width), value, np.int64)
    for i, row in enumerate(rows):
        matrix[i, : len(row)] = row
    return matrix
