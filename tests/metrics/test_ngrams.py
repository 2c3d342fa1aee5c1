"""Counting n-grams over blocks of pairs, with Python's Counter as the judge."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.cases import Case
from medassay.metrics import ngrams
from medassay.metrics.ngrams import Lexicon, Tokens, blocks, characters, compact, grams

texts = st.lists(st.lists(st.integers(0, 3), max_size=8), min_size=1, max_size=5)


def as_tokens(rows: list[list[int]], spread: int) -> Tokens:
    starts = np.cumsum([0, *(len(row) for row in rows)])
    return Tokens(np.array([x * spread for row in rows for x in row], dtype=np.int64), starts, 3 * spread + 1)


@given(rows=texts, spread=st.sampled_from([1, 2**28]), data=st.data())
def test_matches_and_totals(rows: list[list[int]], spread: int, data: st.DataObject) -> None:
    # A spread of 2**28 makes keys of three words overflow 64 bits unless they are renumbered.
    index = st.integers(0, len(rows) - 1)
    pairs = data.draw(st.lists(st.tuples(index, index), min_size=1, max_size=6))
    candidate, reference = (np.array(side) for side in zip(*pairs))
    for n, order in enumerate(grams(as_tokens(rows, spread), 4), 1):
        counts = [Counter(tuple(row[i : i + n]) for i in range(len(row) - n + 1)) for row in rows]
        assert order.totals.tolist() == [c.total() for c in counts]
        assert order.matched(candidate, reference).tolist() == [(counts[c] & counts[r]).total() for c, r in pairs]


def test_blocks_hold_each_text_once_and_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngrams, "_PAIRS", 3)
    monkeypatch.setattr(ngrams, "_CHARACTERS", 10)
    cases = [Case(str(i), text, ("same",)) for i, text in enumerate(["a", "b", "a", "c", "long text here", "d"])]
    made = list(blocks(cases))
    assert [block.texts for block in made] == [("a", "same", "b"), ("c", "same", "long text here"), ("d", "same")]
    assert [list(block.pairs()) for block in made] == [[(0, 1), (2, 1), (0, 1)], [(0, 1), (2, 1)], [(0, 1)]]


def test_a_lexicon_forgets_but_never_mixes_words_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngrams, "_REMEMBERED", 2)
    lexicon = Lexicon(str.split)
    first = lexicon.encode(("a b c", "c b a"))
    second = lexicon.encode(("x y", "y x z"))
    assert [first.ids.tolist(), second.ids.tolist()] == [[0, 1, 2, 2, 1, 0], [0, 1, 1, 0, 2]]
    assert lexicon.encode(("a b c", "c b a")) is first  # shared by the next metric that asks


def test_sequences_compare_as_the_words_do() -> None:
    tokens = Lexicon(str.split).encode(("no tumour", "tumour no tumour", ""))
    no, tumour = tokens.sequences()[0]
    assert tokens.sequences() == [no + tumour, tumour + no + tumour, ""]
    many = Tokens(np.array([5, 6]), np.array([0, 1, 2]), 0x110001)  # more words than characters
    assert many.sequences() == [[5], [6]]


def test_characters_and_compaction() -> None:
    tokens = characters(["b\U0010ffff", "", "\ud800b"])
    assert (tokens.ids.tolist(), tokens.size) == ([0, 2, 1, 0], 3)
    assert compact(np.array([], dtype=np.int64), np.zeros(2, dtype=np.int64)).size == 1
