"""Token states of texts longer than a model reads: every token once, from the window where it is most central."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.errors import ModelError
from medassay.models import load
from medassay.models.states import join_states, state_windows
from medassay.models.tokens import Tokens


def made(length: int) -> Tokens:
    return Tokens(list(range(10, 10 + length)), [(i, i + 1) for i in range(length)], ["x"] * length)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=4), st.integers(4, 20), st.integers(0, 12), st.booleans())
def test_every_token_appears_once_in_order(lengths: list[int], room: int, overlap: int, cut: bool) -> None:
    tokens = [made(n) for n in lengths]
    windows = state_windows(tokens, room, cut=cut, overlap=overlap)
    assert all(len(window) <= room for window in windows)
    # A row's state is the token's own id, so that what is joined can be read off; frame tokens are 1 and 2.
    rows = [np.array([[1], *([i] for i in tokens[w.text].ids[w.first : w.last]), [2]], np.float32) for w in windows]
    for one, n in zip(join_states(tokens, windows, rows, [1], [2]), lengths):
        read = min(n, room) if cut else n
        assert one.ids == [1, *range(10, 10 + read), 2]
        assert one.states[:, 0].tolist() == one.ids
        assert one.cut == n - read and len(one.offsets) == read + 2


@given(st.integers(30, 200), st.integers(10, 29), st.integers(2, 9))
def test_a_token_comes_from_the_window_with_most_context(length: int, room: int, overlap: int) -> None:
    windows = state_windows([made(length)], room, cut=False, overlap=overlap)

    def context(window: object, token: int) -> int:
        left = token - window.first if window.first else length
        right = window.last - 1 - token if window.last < length else length
        return min(left, right)

    for token in range(length):
        [owner] = [w for w in windows if w.owned_first <= token < w.owned_last]
        best = max(context(w, token) for w in windows if w.first <= token < w.last)
        assert context(owner, token) >= best - 1


def test_a_text_that_fits_is_the_trunk_itself(embedded: Path) -> None:
    encoder = load("encoder")
    [one] = encoder.token_states(["No residual tumour."], layer=encoder.layers[0])
    row = encoder.models.hidden([tuple(one.ids)])[0]
    assert np.array_equal(one.states, row)
    assert one.offsets[1] == (0, 2) and one.before == one.after == 1


def test_a_layer_that_is_not_there_is_said(embedded: Path) -> None:
    with pytest.raises(ModelError, match="layer 3, not of 99"):
        load("encoder").token_states(["a"], layer=99)


def test_a_long_text_is_read_whole_or_cut(embedded: Path) -> None:
    encoder = load("encoder")
    text = "mass " * 700
    [whole] = encoder.token_states([text], layer=encoder.layers[0])
    [part] = encoder.token_states([text], layer=encoder.layers[0], cut=True)
    assert len(whole.ids) == 702 and whole.cut == 0 and len(whole.states) == 702
    assert len(part.ids) == 512 and part.cut == 190
    assert encoder.token_ids([text], cut=True)[0] == part.ids[1:-1]
