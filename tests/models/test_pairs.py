from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from medassay.models.pairs import bert_frame, join_pair


@given(st.integers(0, 40), st.integers(0, 40), st.integers(5, 40))
def test_a_pair_fits_and_wastes_no_room(left: int, right: int, limit: int) -> None:
    reference, candidate = list(range(100, 100 + left)), list(range(200, 200 + right))
    ids, sides = join_pair(reference, candidate, bert_frame(1, 2), limit)
    assert len(ids) == len(sides) == min(left + right + 3, limit)
    read = [i for i in ids if i >= 100]
    assert [i for i in read if i < 200] == reference[: sum(i < 200 for i in read)]
    assert [i for i in read if i >= 200] == candidate[: sum(i >= 200 for i in read)]
    assert [s for i, s in zip(ids, sides) if 100 <= i < 200] == [0] * sum(i < 200 for i in read)
    assert (ids[0], ids[-1], ids.count(2)) == (1, 2, 2)


def test_a_short_side_leaves_its_room_to_the_other() -> None:
    ids, sides = join_pair([7], [8] * 20, bert_frame(1, 2), 13)
    assert ids == [1, 7, 2, *[8] * 9, 2]
    assert sides == [0, 0, 0, *[1] * 10]
