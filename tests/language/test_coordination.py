"""Sentences cut into facts that can be read alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.language.coordination import parts


def facts(text: str) -> list[str]:
    return [part.text for part in parts(text, 0, len(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She smokes and denies fever or chills.", ["She smokes", "She denies fever", "She denies chills"]),
        ("No fever, but a cough.", ["No fever", "a cough"]),
        ("Margins and nodes are free of tumor.", ["Margins are free of tumor", "nodes are free of tumor"]),
        ("Vascular and lymphatic invasion.", ["Vascular invasion", "lymphatic invasion"]),
        ("The patient has pain.", ["The patient has pain"]),
        ("", []),
    ],
)  # fmt: skip
def test_facts(text: str, expected: list[str]) -> None:
    assert facts(text) == expected


def test_offsets_are_those_of_the_words_that_state_it() -> None:
    text = "She smokes and denies fever."
    _, second = parts(text, 0, len(text))
    assert text[second.start : second.end] == "denies fever" and second.complete


def test_words_that_only_introduce_are_left_out() -> None:
    assert facts("The report states that necrosis is present.") == ["necrosis is present"]


@given(st.text("abc no,and;. ", max_size=80))
def test_any_text_is_cut_in_order_and_inside_its_bounds(text: str) -> None:
    cut = parts(text, 0, len(text))
    assert all(0 <= part.start < part.end <= len(text) for part in cut)
    assert [part.start for part in cut] == sorted(part.start for part in cut)
