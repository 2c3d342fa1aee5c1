"""Texts as numbered words, and n-gram counts over a whole block of pairs at once.

A text becomes a row of integers (equal words, equal numbers), an n-gram one integer, and the n-grams of
a block one sorted array. Overlap counts of thousands of pairs are then a few NumPy calls. Everything
here is exact: no hashing, no approximation.
"""

from __future__ import annotations

import unicodedata
from array import array
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

_LARGEST = 2**63 - 1
"""The largest n-gram key; n-grams are renumbered before they outgrow it."""

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
        """Each text as a sequence that rapidfuzz compares fast: a string with one character per word."""
        ends = self.starts.tolist()
        if self.size > 0x110000:  # more words than there are characters
            ids = self.ids.tolist()
            return [ids[a:b] for a, b in pairwise(ends)]
        written = self.ids.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        return [written[a:b] for a, b in pairwise(ends)]


class Lexicon:
    """Numbers the words of texts.

    split: the words of a text; none may contain whitespace. Where `local`, it must give the same words
    for a text as for its whitespace-separated pieces one after another; how a piece splits is then
    remembered, which is what makes tokenising cheap. Texts that contain `joiner` are split whole.
    """

    def __init__(self, split: Callable[[str], Iterable[str]], *, local: bool = True, joiner: str = "") -> None:
        self.split = split
        self.local = local
        self.joiner = joiner
        self.pieces = _Pieces(split)
        self.lock = Lock()

    def encode(self, texts: tuple[str, ...]) -> Tokens:
        """The texts' words, numbered alike; remembered for the next metrics that ask for the same texts."""
        return _encode(self, texts)

    def cut(self, text: str) -> list[str]:
        """The text as pieces: what whitespace separates, or ready words, marked by a space before them."""
        if self.local and not (self.joiner and self.joiner in text):
            return text.split()
        return [" " + word for word in self.split(text)]


class _Pieces(dict[str, int]):
    """Piece of text to its number; piece k's words are `words[starts[k]:starts[k + 1]]`."""

    def __init__(self, split: Callable[[str], Iterable[str]]) -> None:
        self.split = split
        self.numbers: dict[str, int] = {}
        self.words = array("q")
        self.starts = array("q", [0])

    def __missing__(self, piece: str) -> int:
        words, numbers = self.words, self.numbers
        for word in (piece[1:],) if piece[0] == " " else self.split(piece):
            words.append(numbers.setdefault(word, len(numbers)))
        self.starts.append(len(words))
        number = self[piece] = len(self)
        return number


@lru_cache(maxsize=32)
def _encode(lexicon: Lexicon, texts: tuple[str, ...]) -> Tokens:
    lengths = [0]

    def pieces_of() -> Iterator[list[str]]:
        for text in texts:
            cut = lexicon.cut(text)
            lengths.append(len(cut))
            yield cut

    with lexicon.lock:  # numbers are given out in order; two threads must not give the same one
        if len(lexicon.pieces) > _REMEMBERED:
            lexicon.pieces = _Pieces(lexicon.split)
        known = lexicon.pieces
        pieces = np.fromiter(map(known.__getitem__, chain.from_iterable(pieces_of())), np.int64)
        words, begins = np.array(known.words, dtype=np.int64), np.array(known.starts, dtype=np.int64)
    sizes = (begins[1:] - begins[:-1])[pieces]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    ids = words[np.arange(ends[-1]) + np.repeat(begins[pieces] - ends[:-1], sizes)]
    return compact(ids, ends[np.cumsum(lengths)])


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
    """The distinct n-grams of each text and how often each occurs; those that cannot match may be missing.

    keys: ascending; an n-gram g of text t is t · size + g. starts: where each text's keys begin.
    totals: n-grams of each text, repeats included.
    """

    keys: Ints
    counts: Ints
    starts: Ints
    totals: Ints
    size: int

    def matched(self, candidate: Ints, reference: Ints) -> Ints:
        """For each pair, how many n-grams both texts have, repeats included (clipped to the lower count)."""
        lengths = self.starts[candidate + 1] - self.starts[candidate]
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        if total == 0:
            return np.where(candidate == reference, self.totals[candidate], 0)
        own = np.arange(total) + np.repeat(self.starts[candidate] - (ends - lengths), lengths)
        wanted = self.keys[own] + np.repeat((reference - candidate) * self.size, lengths)
        index = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        shared = np.where(self.keys[index] == wanted, np.minimum(self.counts[own], self.counts[index]), 0)
        running = np.concatenate([[0], np.cumsum(shared)])
        matched = running[ends] - running[ends - lengths]
        return np.where(candidate == reference, self.totals[candidate], matched)


def grams(tokens: Tokens, highest: int) -> Iterator[Grams]:
    """The n-grams of orders 1 to `highest`, lowest first."""
    texts = len(tokens.starts) - 1
    owner = np.repeat(np.arange(texts), tokens.lengths)
    room = tokens.starts[1:][owner] - np.arange(len(tokens.ids))  # words from here to the text's end
    first = _count(owner, tokens.ids, tokens.size, texts, tokens.lengths)
    yield first
    # An n-gram with a word that no other text has can match nothing: leave it out, and its word too.
    elsewhere = np.bincount(first.keys % tokens.size, minlength=tokens.size) > 1
    rank = np.cumsum(elsewhere) - 1
    word, words = rank[tokens.ids], max(int(rank[-1]) + 1, 1)
    usable = elsewhere[tokens.ids]
    code, size, matchable = word, words, usable
    for n in range(2, highest + 1):
        if size * words * texts > _LARGEST:
            distinct, code = np.unique(code, return_inverse=True)
            size = max(len(distinct), 1)
        code, size = code[:-1] * words + word[n - 1 :], size * words
        matchable = matchable[:-1] & usable[n - 1 :]
        positions = np.flatnonzero(matchable & (room[: len(code)] >= n))
        yield _count(owner[positions], code[positions], size, texts, np.maximum(tokens.lengths - n + 1, 0))


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
