from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.models.pairs import clean_lines, diagnosis_first, join_pair


@given(st.integers(0, 40), st.integers(0, 40), st.integers(5, 40))
def test_a_pair_fits_and_wastes_no_room(left: int, right: int, limit: int) -> None:
    reference, candidate = list(range(100, 100 + left)), list(range(200, 200 + right))
    ids, sides = join_pair(reference, candidate, 1, 2, limit)
    assert len(ids) == len(sides) == min(left + right + 3, limit)
    read = [i for i in ids if i >= 100]
    assert [i for i in read if i < 200] == reference[: sum(i < 200 for i in read)]
    assert [i for i in read if i >= 200] == candidate[: sum(i >= 200 for i in read)]
    assert [s for i, s in zip(ids, sides) if 100 <= i < 200] == [0] * sum(i < 200 for i in read)
    assert (ids[0], ids[-1], ids.count(2)) == (1, 2, 2)


def test_a_short_side_leaves_its_room_to_the_other() -> None:
    ids, sides = join_pair([7], [8] * 20, 1, 2, 13)
    assert ids == [1, 7, 2, *[8] * 9, 2]
    assert sides == [0, 0, 0, *[1] * 10]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("[Name]\n___\n**", ""),
        ("Plain text.", "Plain text."),
        ("Patient ID: 12\nFindings: glands.", "Findings: glands."),
        (
            "Gross: a mass.\nDiagnosis: adenoma.\nbenign\nComment: none.",
            "Diagnosis: adenoma. benign Gross: a mass. Comment: none.",
        ),
    ],
)
def test_the_diagnosis_comes_first_and_forms_are_dropped(text: str, expected: str) -> None:
    assert diagnosis_first(text) == expected


@given(st.text(max_size=300))
def test_any_text_is_laid_out_on_one_line(text: str) -> None:
    assert "\n" not in diagnosis_first(text)
    assert all(line.strip() for line in clean_lines(text))
