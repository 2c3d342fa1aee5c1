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


def as_tokens(rows: list[list[int]]) -> Tokens:
    starts = np.cumsum([0, *(len(row) for row in rows)])
    return Tokens(np.array([word for row in rows for word in row], dtype=np.int64), starts, 4)


@given(rows=texts, largest=st.sampled_from([2**63 - 1, 60]), data=st.data())
def test_matches_and_totals(rows: list[list[int]], largest: int, data: st.DataObject) -> None:
    # With keys of at most 60, n-grams of two words and more must be renumbered.
    index = st.integers(0, len(rows) - 1)
    pairs = data.draw(st.lists(st.tuples(index, index), min_size=1, max_size=6))
    candidate, reference = (np.array(side) for side in zip(*pairs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngrams, "_LARGEST", largest)
        orders = list(grams(as_tokens(rows), 4))
    for n, order in enumerate(orders, 1):
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
