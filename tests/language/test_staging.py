"""Stage and grade categories that a text states."""

from __future__ import annotations

import pytest

from medassay.language.staging import nottingham_sum, stated


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ypT2 ypN1a, grade II", {"t": "T2", "n": "N1a", "nottingham": "G2"}),
        ("FIGO stage IB, FIGO grade 2", {"figo": "IB", "figo_grade": "G2", "nottingham": "G2"}),
        ("Tumour budding Bd2", {"budding": "Bd2"}),
        ("Atypical meningioma, WHO grade 2", {"meningioma": "grade 2", "nottingham": "G2"}),
        ("NET G1", {"net": "G1"}),
        ("Grade 3 neuroendocrine carcinoma", {"net": "G3", "nottingham": "G3"}),
        ("T2.5 mm", {}),
        ("", {}),
    ],
)
def test_categories(text: str, expected: dict[str, str]) -> None:
    assert {scheme: category for scheme, (category, _, _) in stated(text).items()} == expected


def test_the_characters_are_those_of_the_category() -> None:
    text = "Carcinoma, pT3, free margins"
    _, start, end = stated(text)["t"]
    assert text[start:end] == "pT3"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tubule formation: 3, nuclear grade: 2, mitoses: 1", "G2"),
        ("Tubules 1, nuclei 1, mitoses 1", "G1"),
        ("Tubules 3, nuclei 3, mitoses 2", "G3"),
        ("Tubules 3, nuclei 3", None),
    ],
)
def test_nottingham_components_add_up(text: str, expected: str | None) -> None:
    total = nottingham_sum(text)
    assert (total and total[0]) == expected
