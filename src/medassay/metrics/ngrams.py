"""Texts as numbered words, and n-gram counts over a whole block of pairs at once.

A text becomes a row of integers (equal words, equal numbers), an n-gram one integer, and the n-grams of
a block one sorted array. Overlap counts of thousands of pairs are then a few NumPy calls. Everything
here is exact: no hashing, no approximation.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from threading import Lock

import numpy as np
import numpy.typing as npt

from medassay.cases import Case

Ints = npt.NDArray[np.int64]

_PAIRS = 1024
_CHARACTERS = 1_000_000
"""A block ends at so many pairs or characters: memory stays bounded however long the texts are."""

_REMEMBERED = 2**17
"""Pieces of text whose splitting is remembered before the memory is emptied."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some pairs: each distinct text once, and which of them each pair's candidate and reference are."""

    texts: tuple[str, ...]
    candidate: Ints
    reference: Ints

    def pairs(self) -> Iterator[tuple[int, int]]:
        """(candidate, reference) of each pair, as indices into `texts`."""
        return zip(self.candidate.tolist(), self.reference.tolist())


def blocks(cases: Sequence[Case], normalize: str = "none") -> Iterator[Block]:
    """The cases' candidates and first references, in order, in blocks of bounded size."""
    index: dict[str, int] = {}
    numbers: list[int] = []
    characters = 0
    for case in cases:
        for text in (case.candidate, case.reference or ""):
            before = len(index)
            numbers.append(index.setdefault(text, before))
            characters += len(text) if len(index) > before else 0
        if len(numbers) == 2 * _PAIRS or characters > _CHARACTERS:
            yield _block(index, numbers, normalize)
            index, numbers, characters = {}, [], 0
    if numbers:
        yield _block(index, numbers, normalize)


def _block(index: dict[str, int], numbers: list[int], normalize: str) -> Block:
    both = np.array(numbers, dtype=np.int64).reshape(-1, 2)
    return Block(tuple(normalized(text, normalize) for text in index), both[:, 0], both[:, 1])


def normalized(text: str, form: str) -> str:
    """The text as it is (`none`), or in Unicode's compatibility form: `ﬁ` is `fi`, `²` is `2`, … (`nfkc`)."""
    return unicodedata.normalize("NFKC", text) if form == "nfkc" else text


@dataclass(frozen=True, slots=True)
class Tokens:
    """Texts as numbers: text t is `ids[starts[t]:starts[t + 1]]`; all ids lie in 0 … size − 1."""

    ids: Ints
    starts: Ints
    size: int

    @property
    def lengths(self) -> Ints:
        """Words in each text."""
        return np.diff(self.starts)

    def sequences(self) -> list[str] | list[list[int]]:
        """Each text as a sequence that rapidfuzz compares fast: a string with one character a word."""
        ends = self.starts.tolist()
        if self.size > 0x110000:  # more words than there are characters
            ids = self.ids.tolist()
            return [ids[a:b] for a, b in pairwise(ends)]
        written = self.ids.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        return [written[a:b] for a, b in pairwise(ends)]


class Lexicon:
    """Numbers the words of texts.

    split: the words of a text. Where `local`, it must give the same words for a text as for its
    whitespace-separated pieces one after another; how a piece splits is then remembered, which is what
    makes tokenising cheap. Texts that contain `joiner` are nevertheless split whole.
    """

    def __init__(self, split: Callable[[str], Iterable[str]], *, local: bool = True, joiner: str = "") -> None:
        self.split = split
        self.local = local
        self.joiner = joiner
        self.numbers = _Numbers()
        self.pieces = _Pieces(self)
        self.lock = Lock()

    def encode(self, texts: tuple[str, ...]) -> Tokens:
        """The texts' words, numbered alike; remembered for the next metrics that ask for the same texts."""
        return _encode(self, texts)

    def number(self, text: str) -> Iterable[int]:
        """The numbers of one text's words."""
        if self.local and not (self.joiner and self.joiner in text):
            return chain.from_iterable(map(self.pieces.__getitem__, text.split()))
        return map(self.numbers.__getitem__, self.split(text))


class _Numbers(dict[str, int]):
    """Word to number; a new word gets the next."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


class _Pieces(dict[str, tuple[int, ...]]):
    """Piece of text to its words' numbers, worked out once."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon

    def __missing__(self, piece: str) -> tuple[int, ...]:
        found = self[piece] = tuple(map(self.lexicon.numbers.__getitem__, self.lexicon.split(piece)))
        return found


@lru_cache(maxsize=32)
def _encode(lexicon: Lexicon, texts: tuple[str, ...]) -> Tokens:
    with lexicon.lock:  # numbers are given out in order; two threads must not give the same one
        if len(lexicon.pieces) > _REMEMBERED or len(lexicon.numbers) > _REMEMBERED:
            lexicon.pieces.clear()
            lexicon.numbers.clear()
        rows = [list(lexicon.number(text)) for text in texts]
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=starts[1:])
    ids = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(starts[-1]))
    return compact(ids, starts)


def characters(texts: Sequence[str]) -> Tokens:
    """The texts' characters, numbered."""
    starts = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in texts], out=starts[1:])
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    return compact(points.astype(np.int64), starts)


def compact(ids: Ints, starts: Ints) -> Tokens:
    """Renumber so that only numbers in use remain: small numbers make small n-gram keys."""
    if not len(ids):
        return Tokens(ids, starts, 1)
    used = np.zeros(int(ids.max()) + 1, dtype=bool)
    used[ids] = True
    rank = np.cumsum(used, dtype=np.int64) - 1
    return Tokens(rank[ids], starts, int(rank[-1]) + 1)


@dataclass(frozen=True, slots=True)
class Grams:
    """The distinct n-grams of each text and how often each occurs.

    keys: ascending; an n-gram g of text t is t · size + g. starts: where each text's keys begin.
    totals: n-grams of each text, repeats included.
    """

    keys: Ints
    counts: Ints
    starts: Ints
    totals: Ints
    size: int

    def matched(self, candidate: Ints, reference: Ints) -> Ints:
        """Of each pair, the n-grams both texts have, each as often as the one with fewer has it."""
        lengths = self.starts[candidate + 1] - self.starts[candidate]
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        if total == 0:
            return np.zeros(len(candidate), dtype=np.int64)
        at = np.arange(total) + np.repeat(self.starts[candidate] - (ends - lengths), lengths)
        wanted = self.keys[at] + np.repeat((reference - candidate) * self.size, lengths)
        found = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        shared = np.where(self.keys[found] == wanted, np.minimum(self.counts[at], self.counts[found]), 0)
        running = np.concatenate([[0], np.cumsum(shared)])
        return np.asarray(running[ends] - running[ends - lengths], dtype=np.int64)


def grams(tokens: Tokens, highest: int) -> Iterator[Grams]:
    """The n-grams of orders 1 to `highest`, lowest first."""
    texts = len(tokens.starts) - 1
    owner = np.repeat(np.arange(texts), tokens.lengths)
    room = tokens.starts[1:][owner] - np.arange(len(tokens.ids))  # words from here to the text's end
    code, size = tokens.ids, tokens.size
    for n in range(1, highest + 1):
        if n > 1:
            if size * tokens.size * max(texts, 1) >= 2**62:
                distinct, code = np.unique(code, return_inverse=True)
                size = max(len(distinct), 1)
            code = code[:-1] * tokens.size + tokens.ids[n - 1 :]
            size *= tokens.size
        inside = room[: len(code)] >= n
        totals = np.maximum(tokens.lengths - n + 1, 0)
        yield _count(owner[: len(code)][inside], code[inside], size, texts, totals)


def _count(owner: Ints, code: Ints, size: int, texts: int, totals: Ints) -> Grams:
    # Texts already stand in order, so a merging sort has less to do than a quicksort.
    keys = np.sort(owner * size + code, kind="stable")
    first = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    at = np.flatnonzero(first)
    distinct = keys[at]
    counts = np.diff(np.append(at, len(keys)))
    starts = np.searchsorted(distinct, np.arange(texts + 1) * size)
    return Grams(distinct, counts, starts, totals, size)
