"""Segments and excerpts of long texts, by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.models.excerpts import (
    GAP,
    LONGEST_SEGMENT,
    excerpt,
    joined,
    lexical_relevance,
    relevance,
    segments,
    stems,
)

TEXT = "Any fever?\nNo.\nAny cough? Yes, dry.\nDo you smoke?\nTen a day."


def test_segments_are_lines_and_sentences() -> None:
    assert [TEXT[a:b] for a, b in segments(TEXT)] == [
        "Any fever?", "No.", "Any cough?", "Yes, dry.", "Do you smoke?", "Ten a day.",
    ]  # fmt: skip


def test_a_line_without_an_end_is_cut_at_a_space() -> None:
    ranges = segments("word " * 200)
    assert all(end - start <= LONGEST_SEGMENT for start, end in ranges)
    assert sum(end - start for start, end in ranges) > 900


@given(st.text(max_size=400))
def test_segments_are_in_order_and_cover_what_is_not_white_space(text: str) -> None:
    ranges = segments(text)
    assert all(a < b for a, b in ranges)
    assert all(b <= c for (_, b), (c, _) in itertools.pairwise(ranges))
    assert "".join("".join(text[a:b].split()) for a, b in ranges) == "".join(text.split())


def test_an_excerpt_takes_the_best_segment_with_its_neighbours_and_keeps_the_order() -> None:
    ranges = segments(TEXT)
    part = excerpt(TEXT, ranges, np.array([0, 0, 0, 0, 0, 1], np.float32), 30)
    assert part.text == "Do you smoke?\nTen a day."
    assert TEXT[part.position(part.text.index("Ten")) :] == "Ten a day."


def test_a_gap_is_marked_and_offsets_lead_back_to_the_text() -> None:
    ranges = segments(TEXT)
    part = joined(TEXT, ranges, [1, 5])
    assert part.text == f"No.{GAP}Ten a day."
    at = part.text.index("day")
    assert TEXT[part.position(at) : part.position(at + 3)] == "day"


def test_rare_words_count_more() -> None:
    # "fever" stands in one segment of three, "any" in two.
    shares = lexical_relevance("any fever", [stems("any fever"), stems("any cough"), stems("no")])
    assert shares[0] == pytest.approx(1.0)
    assert 0.0 < shares[1] < 0.5
    assert shares[2] == 0.0


def test_a_segment_gains_from_a_neighbour_that_fits() -> None:
    vectors = np.array([[1, 0], [0, 1], [0, 1], [0, 1]], np.float32)
    fit = relevance(vectors, np.array([1, 0], np.float32), np.zeros(4, np.float32))
    # Segment 1 is (0, 1) + half of (1, 0) + half of (0, 1), so its cosine is .5 / sqrt(.25 + 2.25).
    assert fit[1] == pytest.approx(0.5 / np.sqrt(2.5), abs=1e-6)
    assert fit[0] > fit[1] > fit[2] == pytest.approx(0.0, abs=1e-6)
