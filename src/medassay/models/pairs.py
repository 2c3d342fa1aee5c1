"""Two texts as one row of a cross-encoder, within one token budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PairFrame:
    """The frame tokens before, between and after the two texts of a pair."""

    before: Sequence[int]
    between: Sequence[int]
    after: Sequence[int]

    def __len__(self) -> int:
        return len(self.before) + len(self.between) + len(self.after)


def bert_frame(cls: int, sep: int) -> PairFrame:
    """`[CLS] first [SEP] second [SEP]`."""
    return PairFrame((cls,), (sep,), (sep,))


def join_pair(first: Sequence[int], second: Sequence[int], frame: PairFrame, limit: int) -> tuple[list[int], list[int]]:
    """Ids and sides (0 or 1) of two texts in one row of at most `limit` tokens.

    Each side may use half of the room, and what one side leaves free goes to the other; the tail of a
    side that is still too long is not read.
    """
    room = limit - len(frame)
    for_first = min(len(first), max(room // 2, room - len(second)))
    first_part = [*frame.before, *first[:for_first], *frame.between]
    second_part = [*second[: room - for_first], *frame.after]
    return [*first_part, *second_part], [0] * len(first_part) + [1] * len(second_part)
