"""Token states of texts of any length: plans windows, and joins their states after the model has read them.

A text longer than the model reads goes through in overlapping windows. Every token is taken from the
window where it stands furthest from an edge, so each appears once; the frame tokens are those of the
first and the last window. A text that fits is one window, exactly as if there were none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medassay.models.base import Matrix, TokenStates
from medassay.models.tokens import Tokens, Window, sliding_windows


def state_windows(tokens: Sequence[Tokens], room: int, *, cut: bool, overlap: int) -> list[Window]:
    """The windows of each text, in text order; with `cut` only the first `room` tokens."""
    overlap = min(overlap, room // 2)
    windows = []
    for index, text_tokens in enumerate(tokens):
        end = min(len(text_tokens), room) if cut else len(text_tokens)
        windows += sliding_windows(index, 0, end, room, overlap) or [Window(index, 0, 0, 0, 0)]
    return windows


def join_states(
    tokens: Sequence[Tokens],
    windows: Sequence[Window],
    rows: Sequence[Matrix],
    before: Sequence[int],
    after: Sequence[int],
) -> list[TokenStates]:
    """The states of each text from those of its windows; a row holds the frame tokens too."""
    parts: list[list[Matrix]] = [[] for _ in tokens]
    ends: list[Matrix | None] = [None] * len(tokens)
    tokens_read = [0] * len(tokens)
    single_windows = len({window.text for window in windows}) == len(windows)
    for window, row in zip(windows, rows):
        t, shift = window.text, len(before) - window.first
        if single_windows:
            # One window per text, as it nearly always is: nothing to join, nothing to copy.
            parts[t], tokens_read[t] = [row], window.owned_last
            continue
        if not parts[t]:
            parts[t].append(row[: len(before)])
        parts[t].append(row[window.owned_first + shift : window.owned_last + shift])
        ends[t] = row[len(row) - len(after) :]
        tokens_read[t] = window.owned_last
    joined = []
    for t, text_tokens in enumerate(tokens):
        tail = ends[t]
        states = parts[t][0] if single_windows else np.concatenate([*parts[t], *([] if tail is None else [tail])])
        joined.append(
            TokenStates(
                ids=[*before, *text_tokens.ids[: tokens_read[t]], *after],
                offsets=[*((0, 0) for _ in before), *text_tokens.offsets[: tokens_read[t]], *((0, 0) for _ in after)],
                states=states,
                before=len(before),
                after=len(after),
                cut=len(text_tokens) - tokens_read[t],
            )
        )
    return joined
