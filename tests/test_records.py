"""The index of first-seen keys, against a dictionary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from medassay.records import FirstSeenIndex


@given(st.lists(st.integers(0, 3000), max_size=4000))
def test_it_says_what_a_dictionary_says(keys: list[int]) -> None:
    ours, theirs = FirstSeenIndex(), dict[int, int]()
    for number, key in enumerate(keys):
        before = theirs.get(key)
        theirs.setdefault(key, number)
        assert ours.add(str(key).encode(), number) == before
    assert ours.count == len(theirs)


def test_it_grows_and_stays_small() -> None:
    ours = FirstSeenIndex()
    assert all(ours.add(str(i).encode(), i) is None for i in range(20_000))
    assert all(ours.add(str(i).encode(), -1) == i for i in range(0, 20_000, 97))
    assert (len(ours.marks) + len(ours.numbers)) * 8 <= 32 * 20_000
