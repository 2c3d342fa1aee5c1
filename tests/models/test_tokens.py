from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.models.tokens import Tokenizer, Tokens, Window, batches, encodable, pad, sentence_windows


def tokens_of(text: str) -> Tokens:
    """Words and single marks as tokens, so that windows can be tested without any model file."""
    offsets: list[tuple[int, int]] = []
    for i, c in enumerate(text):
        if c.isspace():
            continue
        if c.isalnum() and offsets and offsets[-1][1] == i and text[i - 1].isalnum():
            offsets[-1] = (offsets[-1][0], i + 1)
        else:
            offsets.append((i, i + 1))
    return Tokens(list(range(len(offsets))), offsets, [text[a:b] for a, b in offsets])


def owners(windows: list[Window]) -> list[int]:
    return [i for w in windows for i in range(w.owned_first, w.owned_last)]


@given(st.text("ab .,;\n", max_size=300), st.integers(1, 40), st.integers(0, 40))
def test_every_token_is_owned_exactly_once_by_a_window_that_holds_it(text: str, limit: int, overlap: int) -> None:
    tokens = tokens_of(text)
    windows = sentence_windows(text, tokens, 3, limit, overlap)
    assert owners(windows) == list(range(len(tokens)))
    for window in windows:
        assert window.text == 3
        assert 0 < len(window) <= limit
        assert window.first <= window.owned_first < window.owned_last <= window.last


def test_windows_end_where_sentences_do() -> None:
    text = "One two. Three four five.\nSix: seven"
    windows = sentence_windows(text, tokens_of(text), 0, 6)
    # Tokens: One two . | Three four five . | Six : | seven
    assert [(w.first, w.last) for w in windows] == [(0, 3), (3, 9), (9, 10)]


def test_a_full_stop_inside_a_number_ends_no_sentence() -> None:
    text = "a mass of 4.5 cm was seen"
    # Tokens: a mass of 4 . 5 cm was seen; with room for five, a sentence end at the dot would fit exactly.
    assert [(w.first, w.last) for w in sentence_windows(text, tokens_of(text), 0, 5, 1)] == [(0, 5), (4, 9)]


def test_a_sentence_too_long_is_covered_with_an_overlap() -> None:
    text = "w " * 10
    windows = sentence_windows(text, tokens_of(text), 0, 6, 2)
    assert [(w.first, w.last, w.owned_first, w.owned_last) for w in windows] == [(0, 6, 0, 5), (4, 10, 5, 10)]


def test_a_megabyte_on_one_line_is_covered_once() -> None:
    text = "tumour " * 150_000
    tokens = tokens_of(text)
    windows = sentence_windows(text, tokens, 0, 126)
    assert owners(windows) == list(range(150_000))
    assert len(windows) == pytest.approx(150_000 / (126 - 32), rel=0.01)


@given(st.lists(st.integers(1, 60), max_size=50), st.integers(1, 200))
def test_batches_hold_every_row_once_within_the_budget(lengths: list[int], budget: int) -> None:
    made = list(batches(lengths, budget))
    assert sorted(i for batch in made for i in batch) == list(range(len(lengths)))
    for batch in made:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= budget


def test_padding_fills_to_the_longest_row() -> None:
    np.testing.assert_array_equal(pad([[1, 2, 3], [4]], 9), [[1, 2, 3], [4, 9, 9]])


def test_a_lone_surrogate_becomes_one_mark() -> None:
    assert encodable("a\ud800b😀") == "a?b😀"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n ",
        "\x00\x01 tumour",
        "😀 tumour 👩‍⚕️",
        "سرطان tumour",
        "tumour \ud800\udc00x",
        "ＣＤ２０ Tumörmasse",
        "x" * 5000,
    ],
)
def test_offsets_of_hostile_text_stay_in_order_and_inside(embedded: Path, text: str) -> None:
    tokens = Tokenizer(embedded / "tokenizer.json")([text])[0]
    assert len(tokens.ids) == len(tokens.offsets) == len(tokens.pieces)
    at = 0
    for start, end in tokens.offsets:
        assert at <= start <= end <= len(text)
        at = start
    where = text.find("tumour")
    if where >= 0:
        assert (where, where + 1) <= min(o for o in tokens.offsets if o[0] >= where)
        assert any(start == where for start, _ in tokens.offsets)
