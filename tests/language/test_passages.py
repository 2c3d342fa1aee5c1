"""Passages of a report, and which can be held against each other."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.language.passages import comparable, passages


def cut(text: str) -> list[list[str]]:
    return [[passage.text for passage in group] for group in comparable(text)]


@given(st.text())
def test_passages_are_slices_in_order_and_lose_only_white_space(text: str) -> None:
    pieces = passages(text)
    assert all(text[piece.start : piece.end] == piece.text for piece in pieces)
    assert all(first.end <= second.start for first, second in pairwise(pieces))
    assert "".join("".join(piece.text.split()) for piece in pieces) == "".join(text.split())


def test_a_line_is_cut_at_its_commas_and_brackets_stay_whole() -> None:
    text = "Adenocarcinoma, Gleason's score 7 (3+4, left), grade group 2"
    assert cut(text) == [["Adenocarcinoma", "Gleason's score 7 (3+4, left)", "grade group 2"]]


def test_specimens_are_kept_apart() -> None:
    text = "A. Kidney, left: no necrosis is seen. B. Kidney, right: necrosis is present. Margins are free."
    groups = cut(text)
    assert len(groups) == 2
    assert not any("left" in " ".join(group) and "right" in " ".join(group) for group in groups)


def test_what_has_no_label_is_left_out_where_there_are_several_specimens() -> None:
    assert "Necrosis is seen somewhere." not in [
        words
        for group in cut("Necrosis is seen somewhere.\nA. Skin: benign naevus.\nB. Skin: melanoma.")
        for words in group
    ]


@pytest.mark.parametrize(
    "aside",
    ["Clinical history: melanoma suspected.", "Gross description: a brown nodule.", "Previously a melanoma was seen."],
)
def test_another_time_and_the_uncut_specimen_are_left_out(aside: str) -> None:
    text = f"Diagnosis: benign naevus. No atypia is seen.\n{aside}"
    assert cut(text) == [["Diagnosis: benign naevus.", "No atypia is seen."]]


def test_a_long_report_without_labels_is_taken_for_several_specimens() -> None:
    assert comparable("Nests of cells are seen. " * 200) == []


def test_headings_are_told_from_statements() -> None:
    ((heading, statement),) = comparable("Diagnosis:\nCarcinoma")
    assert heading.is_heading and not statement.is_heading
