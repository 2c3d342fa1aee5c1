"""Numbers as written and as spoken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.language.numbers import numbers


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("fifty nine", [59]),
        ("twenty-one years", [21]),
        ("in nineteen eighty four", [1984]),
        ("two thousand six", [2006]),
        ("one hundred and twenty over eighty", [120, 80]),
        ("ninety eight point six", [98.6]),
        ("1,250.5 mg and .3", [1250.5, 3]),
        ("two to three packs", [2, 3]),
        ("someone often weighs it", []),
    ],
)
def test_values(text: str, values: list[float]) -> None:
    assert [number.value for number in numbers(text)] == values


@given(st.text(max_size=80))
def test_spans_lie_in_the_text_and_in_order(text: str) -> None:
    found = numbers(text)
    assert all(0 <= one.start < one.end <= len(text) for one in found)
    assert [one.start for one in found] == sorted(one.start for one in found)
