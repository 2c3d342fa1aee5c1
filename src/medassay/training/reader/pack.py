"""Pairs as arrays of tokens, ready to be carried to the machine that trains.

A text that is longer than the reader's window is shown as it will be shown in use: as the excerpt that fits the
statement best (`models/excerpts.py`). For training, random stretches around the deciding words are added, so that
the reader does not depend on how excerpts are chosen, and shorter texts are shown in part now and then, so that it
reads a passage as well as a whole text. Statements end with a full stop, as in use; whether the text does is left to
chance, so that nothing can be learnt from it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from medassay.models.excerpts import Excerpt, excerpt, lexical_relevance, relevance, segments, stems
from medassay.models.reader import as_sentence
from medassay.training.reader.material import LABELS, Pair, held_out

LONGEST = 512
"""Tokens of a row."""

STATEMENT_TOKENS = 224
"""Tokens of a statement that are read where the text needs the rest of the row."""

BUDGET = 1800
"""Characters of an excerpt."""

PASSAGE = 200, 700
"""Characters of a part of a text that fits."""

OFTEN = 3
"""Passes from which a pair on a text that fits is shown in part as well."""

Embed = Callable[[Sequence[str]], npt.NDArray[np.float32]]
Encode = Callable[[Sequence[str]], Sequence["Encoded"]]


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids of a text without frame tokens, and the characters of each."""

    ids: Sequence[int]
    offsets: Sequence[tuple[int, int]]


class Excerpts:
    """Excerpts of the long texts; vectors of segments and statements are computed once."""

    def __init__(self, embed: Embed) -> None:
        self.embed = embed
        self.vectors: dict[str, npt.NDArray[np.float32]] = {}

    def prepare(self, pairs: Sequence[Pair]) -> None:
        """Compute the vectors of all segments and statements at once."""
        wanted: dict[str, None] = {}
        for text in {pair.text for pair in pairs}:
            wanted |= dict.fromkeys(text[start:end] for start, end in segments(text))
        wanted |= dict.fromkeys(pair.statement for pair in pairs)
        names = [text for text in wanted if text not in self.vectors]
        for start in range(0, len(names), 2048):
            some = names[start : start + 2048]
            self.vectors |= dict(zip(some, self.embed(some)))

    def best(self, pair: Pair, budget: int) -> Excerpt:
        """The excerpt that the checker would read."""
        ranges = segments(pair.text)
        parts = [pair.text[start:end] for start, end in ranges]
        lexical = lexical_relevance(pair.statement, [stems(part) for part in parts])
        vectors = np.stack([self.vectors[part] for part in parts])
        return excerpt(pair.text, ranges, relevance(vectors, self.vectors[pair.statement], lexical), budget)


def shown(pair: Pair, part: Excerpt) -> Pair | None:
    """The pair with an excerpt in place of its text; None where the deciding words are not in it."""
    if pair.at is None:
        return replace(pair, text=part.text)
    inside = [
        (own + max(pair.at[0], start) - start, own + min(pair.at[1], start + length) - start)
        for own, start, length in part.pieces
        if min(pair.at[1], start + length) > max(pair.at[0], start)
    ]
    covered = sum(end - start for start, end in inside)
    if covered < 0.5 * (pair.at[1] - pair.at[0]):
        return None
    return replace(pair, text=part.text, at=(inside[0][0], inside[-1][1]))


def stretch(pair: Pair, chooser: random.Random, least: int, most: int) -> Pair:
    """The pair with a random stretch of its text, of about `least` to `most` characters, in place of the text.

    The stretch holds the deciding words; where none are known, it lies anywhere.
    """
    size = chooser.randint(least, most)
    at = pair.at or (chooser.randrange(len(pair.text)),) * 2
    room = max(0, size - (at[1] - at[0]))
    start = max(0, at[0] - chooser.randint(0, room))
    end = min(len(pair.text), max(at[1], start + size))
    ranges = segments(pair.text)
    chosen = [i for i, (left, right) in enumerate(ranges) if right > start and left < end] or [0]
    first, last = ranges[chosen[0]][0], ranges[chosen[-1]][1]
    return replace(
        pair, text=pair.text[first:last], at=pair.at and (max(0, pair.at[0] - first), min(pair.at[1], last) - first)
    )


def expanded(pairs: Sequence[Pair], excerpts: Excerpts, seed: int) -> Iterator[tuple[Pair, bool]]:
    """Every pair as it is shown, and whether it is held out; some pairs in several forms."""
    pairs = [replace(pair, statement=as_sentence(pair.statement)) if pair.label is not None else pair for pair in pairs]
    excerpts.prepare([pair for pair in pairs if len(pair.text) > BUDGET and pair.label is not None])
    chooser = random.Random(seed)
    for pair in pairs:
        if pair.label is None:
            yield pair, held_out(pair.document)
        elif held_out(pair.document):
            yield _as_in_use(pair, excerpts), True
        else:
            forms = _long_forms if len(pair.text) > BUDGET else _short_forms
            yield from ((_ended(form, chooser), False) for form in forms(pair, excerpts, chooser))


def _as_in_use(pair: Pair, excerpts: Excerpts) -> Pair:
    if len(pair.text) <= BUDGET:
        return replace(pair, text=as_sentence(pair.text))
    part = excerpts.best(pair, BUDGET)
    return shown(pair, part) or replace(pair, text=part.text, at=None)


def _short_forms(pair: Pair, _: Excerpts, chooser: random.Random) -> Iterator[Pair]:
    """A text that fits, whole; of pairs that are seen often, a part now and then."""
    in_part = pair.passes >= OFTEN and len(pair.text) > 2 * PASSAGE[0]
    if in_part and (pair.at is not None or pair.label == LABELS["not_stated"]):
        yield replace(stretch(pair, chooser, *PASSAGE), passes=pair.passes / 4)
        pair = replace(pair, passes=pair.passes * 3 / 4)
    yield pair


def _long_forms(pair: Pair, excerpts: Excerpts, chooser: random.Random) -> Iterator[Pair]:
    best = shown(pair, excerpts.best(pair, BUDGET))
    if best is not None:
        yield replace(best, passes=pair.passes / 2)
    if pair.at is not None:
        for _ in range(max(1, round(pair.passes / 2))):
            yield replace(stretch(pair, chooser, 500, BUDGET), passes=1)
    elif pair.passes > 1:
        yield replace(pair, text=excerpts.best(pair, BUDGET // 2).text, passes=pair.passes / 2)


def _ended(pair: Pair, chooser: random.Random) -> Pair:
    """The pair with or without a full stop at the end of its text, by chance."""
    text = as_sentence(pair.text)
    return replace(pair, text=text if chooser.random() < 0.6 else text.rstrip(" .\n"))


def pack(
    rows: Sequence[tuple[Pair, bool]], encode: Encode, path: Path, learnt_from: Collection[str] | None = None
) -> None:
    """Write the rows as one compressed NumPy file.

    Pairs of a corpus file that is not in `learnt_from` are marked as new; None marks none.
    """
    names: dict[str, int] = {}
    for pair, _ in rows:
        names.setdefault(pair.text, len(names))
        names.setdefault(pair.statement, len(names))
    encoded: list[Encoded] = []
    every = list(names)
    for start in range(0, len(every), 4096):
        encoded += encode(every[start : start + 4096])
    lengths = np.array([min(len(text.ids), LONGEST) for text in encoded], np.int64)
    tokens = np.concatenate([np.array(text.ids[:LONGEST], np.uint16) for text in encoded])
    sources = sorted({pair.source for pair, _ in rows})

    def tokens_at(pair: Pair) -> tuple[int, int]:
        if pair.at is None:
            return -1, -1
        inside = [i for i, (a, b) in enumerate(encoded[names[pair.text]].offsets) if b > pair.at[0] and a < pair.at[1]]
        return (inside[0], inside[-1] + 1) if inside else (-1, -1)

    def column(value: Callable[[Pair], int | None]) -> npt.NDArray[np.int16]:
        return np.array([-1 if (number := value(pair)) is None else number for pair, _ in rows], np.int16)

    np.savez_compressed(
        path,
        tokens=tokens,
        ends=np.cumsum(lengths),
        text=np.array([names[pair.text] for pair, _ in rows], np.int32),
        statement=np.array([names[pair.statement] for pair, _ in rows], np.int32),
        label=column(lambda pair: pair.label),
        kind=column(lambda pair: pair.kind),
        severity=column(lambda pair: pair.severity),
        passes=np.array([pair.passes for pair, _ in rows], np.float32),
        at=np.array([tokens_at(pair) for pair, _ in rows], np.int16),
        expert=np.array([np.nan if pair.expert is None else pair.expert for pair, _ in rows], np.float32),
        quality=np.array([np.nan if pair.quality is None else pair.quality for pair, _ in rows], np.float32),
        source=np.array([sources.index(pair.source) for pair, _ in rows], np.int16),
        held_out=np.array([apart for _, apart in rows], np.bool_),
        new=np.array([learnt_from is not None and pair.file not in {"", *learnt_from} for pair, _ in rows], np.bool_),
        sources=np.array(sources),
    )
