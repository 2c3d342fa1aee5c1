from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.language.layout import clean_lines, diagnosis_first


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
