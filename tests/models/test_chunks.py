"""Long texts as pairs of stretches: every sentence in exactly one, counterparts together, in any order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.language.sentences import sentences
from medassay.models.base import Matrix
from medassay.models.chunks import Chunk, Unit, chunk_pairs, counterparts, units
from medassay.models.tokens import Tokens


def _tokens(text: str) -> Tokens:
    """A word a token; its id is a number of its own letters."""
    offsets, at = [], 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        offsets.append((start, at))
    words = text.split()
    return Tokens([hash_of(word) for word in words], offsets, words)


def hash_of(word: str) -> int:
    return sum(ord(c) * 31**i for i, c in enumerate(word.lower().strip(".")[:6])) % 9973


def vectors(ids: Sequence[int]) -> Matrix:
    """A random direction a word, the same every time."""
    return np.stack([np.random.default_rng(i).normal(size=24) for i in ids]).astype(np.float32)


def _units(text: str) -> list[Unit]:
    return units(text, _tokens(text), 40, sentences)


TOPICS = ("liver", "kidney", "breast", "colon", "lung", "skin", "brain", "ovary", "spleen", "thyroid")


def _long(topics: Sequence[str], word: str = "shows") -> str:
    return " ".join(f"The {t} {word} {t}itis grade {t}two today. Margins of {t} are {t}free here." for t in topics)


def _text(some: Sequence[Unit], text: str) -> str:
    return " ".join(text[unit.start : unit.end] for unit in some)


def _check_partition(chunks: list[Chunk], reference: list[Unit], candidate: list[Unit]) -> None:
    assert sorted(u.start for c in chunks for u in c.candidate) == [u.start for u in candidate]
    assert sorted({u.start for c in chunks for u in c.reference}) == [u.start for u in reference]


def test_units_are_sentences_with_their_tokens() -> None:
    text = "Tumor of the liver. No necrosis is seen."
    one, two = _units(text)
    assert text[one.start : one.end] == "Tumor of the liver." and text[two.start : two.end] == "No necrosis is seen."
    assert len(one.ids) == len(two.ids) == 4


def test_without_a_splitter_punctuation_and_lines_end_units() -> None:
    text = "Tumor of the liver. No necrosis\nis seen"
    assert [text[u.start : u.end] for u in units(text, _tokens(text), 40)] == [
        "Tumor of the liver. No necrosis",
        "is seen",
    ], "these tokens keep the full stop to the word"
    assert [text[u.start : u.end] for u in _units(text)] == ["Tumor of the liver.", "No necrosis\nis seen"]


def test_a_long_sentence_is_cut() -> None:
    text = "word " * 100
    parts = units(text, _tokens(text), 40)
    assert [len(part.ids) for part in parts] == [40, 40, 20]


@pytest.mark.parametrize("shuffled", [False, True])
def test_counterparts_meet_in_any_order(shuffled: bool) -> None:
    order = list(TOPICS)
    if shuffled:
        random.Random(3).shuffle(order)
    reference, candidate = _long(TOPICS), _long(order, "displays")
    one, two = _units(reference), _units(candidate)
    chunks = chunk_pairs(one, two, vectors, 80)
    _check_partition(chunks, one, two)
    assert len(chunks) > 3
    for chunk in chunks:
        said = {t for t in TOPICS if f"{t}itis" in _text(chunk.reference, reference)}
        heard = {t for t in TOPICS if f"{t}itis" in _text(chunk.candidate, candidate)}
        assert said == heard
        assert sum(len(u.ids) for u in (*chunk.reference, *chunk.candidate)) <= 80


def test_what_is_left_out_stays_in_its_stretch() -> None:
    reference = _long(TOPICS)
    candidate = reference.replace("Margins of colon are colonfree here. ", "")
    chunks = chunk_pairs(_units(reference), _units(candidate), vectors, 80)
    _check_partition(chunks, _units(reference), _units(candidate))
    where = next(c for c in chunks if "colonfree" in _text(c.reference, reference))
    assert "colonitis" in _text(where.candidate, candidate)
    others = [c for c in chunks if c is not where]
    assert all(_text(c.reference, reference) == _text(c.candidate, candidate) for c in others)


def test_what_is_invented_stays_beside_its_neighbours() -> None:
    reference = _long(TOPICS)
    candidate = reference.replace("Margins of colon", "Fungus was cultured twice. Margins of colon")
    chunks = chunk_pairs(_units(reference), _units(candidate), vectors, 80)
    where = next(c for c in chunks if "Fungus" in _text(c.candidate, candidate))
    assert "colon" in _text(where.reference, reference)
    assert sum(_text(c.reference, reference) != _text(c.candidate, candidate) for c in chunks) == 1


def test_one_side_may_be_empty() -> None:
    text = _long(TOPICS)
    missing = chunk_pairs(_units(text), [], vectors, 60)
    assert all(not chunk.candidate for chunk in missing) and len(missing) > 1
    assert all(not chunk.reference for chunk in chunk_pairs([], _units(text), vectors, 60))
    assert chunk_pairs([], [], vectors, 60) == []


def test_too_many_sentences_are_joined_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medassay.models.chunks.MOST_CELLS", 50)
    text = _long(TOPICS)
    one = _units(text)
    chunks = chunk_pairs(one, one, vectors, 120)
    assert sum(len(unit.ids) for chunk in chunks for unit in chunk.candidate) == sum(len(u.ids) for u in one)


def test_a_path_pays_for_jumps() -> None:
    similar = np.eye(4, dtype=np.float32)
    assert counterparts(similar).tolist() == [0, 1, 2, 3]
    # The third row is a little more like the first column: not worth two jumps.
    similar[2] = (0.2, 0.0, 0.1, 0.0)
    assert counterparts(similar).tolist() == [0, 1, 2, 3]


@given(st.lists(st.sampled_from(TOPICS), min_size=1, max_size=12), st.lists(st.sampled_from(TOPICS), max_size=12))
def test_every_sentence_has_one_place(one: list[str], two: list[str]) -> None:
    reference, candidate = _units(_long(one)), _units(_long(two))
    chunks = chunk_pairs(reference, candidate, vectors, 70)
    _check_partition(chunks, reference, candidate)
    firsts = [chunk.reference[0].start for chunk in chunks if chunk.reference]
    assert all(a <= b for a, b in pairwise(firsts)), "stretches come in the reference's order"
