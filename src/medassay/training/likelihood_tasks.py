"""What the `likelihood` role learns from, as groups of pairs in batches.

A batch holds groups of (source, target) pairs. Every pair that belongs together is learned as it is. Where a target
has an error, its changed pieces are unlearned, and pairs that people would rank are ranked. Errors occur on both sides
equally often: a damaged text is as likely given itself as a sound one given itself.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

WINDOW = 510
"""Source pieces read at once (the trunk reads 512 with both frame pieces)."""

LONGEST = 250
"""Target pieces of a training pair; longer targets are cut into pieces of this length."""

MOST_SOURCE = 3 * WINDOW

Pieces = list[int]


@dataclass(frozen=True, slots=True)
class Marks:
    """Pieces of the tokenizer with a meaning: a text's start and stop, hidden words, ends of sentences."""

    start: int = 101
    stop: int = 102
    mask: int = 103
    ends: frozenset[int] = frozenset({1012, 1029, 999, 1025})


BERT = Marks()
"""The embedded set's tokenizer."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A source and a target in pieces; `learn` weighs its cross-entropy, `wrong` marks pieces to unlearn."""

    source: Pieces
    target: Pieces
    learn: float = 1.0
    wrong: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Pairs and the ranks among them: (better, worse, whole), `whole` compares sums instead of means."""

    pairs: tuple[Pair, ...]
    ranks: tuple[tuple[int, int, bool], ...] = ()

    @property
    def pieces(self) -> int:
        """Source and target pieces of the longest pair, which decides what the group costs in a batch."""
        return max(len(p.source) // 2 + len(p.target) for p in self.pairs)


@dataclass(frozen=True, slots=True)
class Damaged:
    """A text with rule-made errors (kind, text), and other faithful wordings of it where there are any."""

    text: Pieces
    errors: tuple[tuple[str, Pieces], ...]
    wordings: tuple[Pieces, ...] = ()


@dataclass(frozen=True, slots=True)
class Material:
    """All that is learned from, in pieces without frame."""

    documents: list[Pieces] = field(default_factory=list)
    damaged: list[Damaged] = field(default_factory=list)
    notes: list[tuple[Pieces, Pieces]] = field(default_factory=list)
    marks: Marks = BERT


def changed_places(sound: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    """Places of `other` that a shortest edit of `sound` replaces or inserts."""
    places: list[int] = []
    for operation, _, _, first, last in SequenceMatcher(None, sound, other, autojunk=False).get_opcodes():
        if operation in ("replace", "insert"):
            places += range(first, last)
    return tuple(places)


def sentences_of(pieces: Pieces, ends: frozenset[int]) -> list[Pieces]:
    """Pieces cut after each sentence end."""
    sentences: list[Pieces] = [[]]
    for piece in pieces:
        sentences[-1].append(piece)
        if piece in ends:
            sentences.append([])
    return [sentence for sentence in sentences if sentence]


def noised(pieces: Pieces, marks: Marks, rng: random.Random) -> Pieces:
    """The text with sentences moved and dropped and runs of words hidden; one in seven stays as it is."""
    if rng.random() < 0.15:
        return list(pieces)
    parts = sentences_of(pieces, marks.ends)
    if rng.random() < 0.5:
        rng.shuffle(parts)
    lost = rng.choice((0.0, 0.0, 0.1, 0.3))
    parts = [sentence for sentence in parts if rng.random() >= lost] or parts[:1]
    flat = [piece for sentence in parts for piece in sentence]
    return hidden(flat, rng.choice((0.0, 0.05, 0.15, 0.3)), marks, rng)


def hidden(pieces: Pieces, rate: float, marks: Marks, rng: random.Random) -> Pieces:
    """The text with about `rate` of its pieces hidden in runs of one to four: masked, or gone in three of ten."""
    out: Pieces = []
    i = 0
    while i < len(pieces):
        if rate and rng.random() < rate / 2.5:
            i += rng.randint(1, 4)
            if rng.random() < 0.7:
                out.append(marks.mask)
        else:
            out.append(pieces[i])
            i += 1
    return out or list(pieces)


def denoising(material: Material, rng: random.Random) -> Group:
    """Part of a document from its noised version, alone or with the text around it."""
    document = rng.choice(material.documents)
    length = rng.randint(20, LONGEST)
    first = rng.randrange(max(1, len(document) - length // 2))
    target = document[first : first + length]
    source = noised(target, material.marks, rng)
    if rng.random() < 0.3:
        around = rng.randint(20, 250)
        source = document[max(0, first - around) : first] + source + document[first + length : first + length + around]
    return Group((Pair(source, target),))


def correcting(material: Material, rng: random.Random) -> Group:
    """A text and its damaged version, each from the other and from itself: what differs is unlearned.

    A version with an omission has no wrong pieces; it only makes the whole text less likely.
    """
    damaged = rng.choice(material.damaged)
    kind, wrong = rng.choice(damaged.errors)
    sound = damaged.text
    source = sound if not damaged.wordings or rng.random() < 0.5 else rng.choice(damaged.wordings)
    added, lost = changed_places(sound, wrong), changed_places(wrong, sound)
    pairs = [Pair(source, sound, 0.5), Pair(wrong, sound, 0.0, lost), Pair(wrong, wrong, 0.2)]
    ranks = [(0, 1, True)]
    if added:
        pairs.append(Pair(source, wrong, 0.0, added))
        if kind != "omission":
            ranks.append((0, 3, True))
    return Group(tuple(pairs), tuple(ranks))


def writing(material: Material, rng: random.Random) -> Group:
    """A note from its dialogue, above another dialogue's note."""
    source, note = rng.choice(material.notes)
    source = hidden(source, rng.choice((0.0, 0.05, 0.15)), material.marks, rng)
    pairs = [Pair(source, note)]
    ranks: list[tuple[int, int, bool]] = []
    if rng.random() < 0.3:
        _, other = rng.choice(material.notes)
        pairs.append(Pair(source, other, 0.0))
        ranks.append((0, 1, False))
    return Group(tuple(pairs), tuple(ranks))


TASKS: tuple[tuple[Callable[[Material, random.Random], Group], str, float], ...] = (
    (denoising, "documents", 0.46),
    (correcting, "damaged", 0.24),
    (writing, "notes", 0.09),
)


Table = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Packed:
    """One batch as arrays, one row per pair: windows of the sources (0 is padding), places of each source's pieces
    in them (−1 is padding), pieces given and wanted, which of the wanted are wrong, weights and ranks.
    """

    windows: Table
    places: Table
    given: Table
    wanted: Table
    wrong: Table
    learn: list[float]
    ranks: list[tuple[int, int, bool]]


def packed(groups: Sequence[Group], marks: Marks = BERT) -> Packed:
    """Groups as one batch; equal sources are read once. Over-long sources and targets are cut here alone."""
    windows: list[Pieces] = []
    spans: dict[tuple[int, ...], list[tuple[int, int, int]]] = {}
    rows: list[tuple[tuple[int, ...], Pair]] = []
    ranks: list[tuple[int, int, bool]] = []
    for group in groups:
        ranks += [(a + len(rows), b + len(rows), by_sum) for a, b, by_sum in group.ranks]
        for pair in group.pairs:
            key = tuple(pair.source[:MOST_SOURCE])
            if key not in spans:
                spans[key] = []
                for start in range(0, max(1, len(key)), WINDOW):
                    part = list(key[start : start + WINDOW])
                    # The first window's frame piece stays: attention goes there where no piece fits.
                    spans[key].append((len(windows), 0 if start == 0 else 1, len(part) + 1))
                    windows.append([marks.start, *part, marks.stop])
            rows.append((key, pair))
    window_table = _table(windows, 0)
    width = window_table.shape[1]
    places = [[w * width + k for w, first, last in spans[key] for k in range(first, last)] for key, _ in rows]
    targets = [pair.target[:LONGEST] for _, pair in rows]
    wanted = _table([[*target, marks.stop] for target in targets], 0)
    wrong = np.zeros_like(wanted)
    for row, (_, pair) in enumerate(rows):
        wrong[row, [k for k in pair.wrong if k < LONGEST]] = 1
    given = _table([[marks.start, *target] for target in targets], 0)
    return Packed(window_table, _table(places, -1), given, wanted, wrong, [pair.learn for _, pair in rows], ranks)


def _table(rows: Sequence[Pieces], fill: int) -> Table:
    """Rows filled up to a width that is a multiple of 8, which attention on CUDA takes fastest."""
    width = -(-max(len(row) for row in rows) // 8) * 8
    table = np.full((len(rows), width), fill, np.int32)
    for i, row in enumerate(rows):
        table[i, : len(row)] = row
    return table


def batches(material: Material, seed: int, tokens: int, pool: int = 4) -> list[Packed]:
    """`pool` batches of about `tokens` padded target pieces each, drawn from all tasks, of like lengths."""
    rng = random.Random(seed)
    tasks = [(make, share) for make, kind, share in TASKS if getattr(material, kind)]
    drawn: list[Group] = []
    cost = 0
    while cost < tokens * pool:
        group = rng.choices([make for make, _ in tasks], [share for _, share in tasks])[0](material, rng)
        drawn.append(group)
        cost += group.pieces * len(group.pairs)
    drawn.sort(key=lambda g: g.pieces)
    out: list[list[Group]] = [[]]
    for group in drawn:
        rows = sum(len(g.pairs) for g in out[-1]) + len(group.pairs)
        if out[-1] and rows * group.pieces > tokens:
            out.append([])
        out[-1].append(group)
    rng.shuffle(out)
    return [packed(groups, material.marks) for groups in out]
