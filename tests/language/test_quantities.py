"""Numbers with what they measure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medassay.language.quantities import INFINITE, comparable, quantities, relation


def only(text: str) -> tuple[str, float, float]:
    (one,) = quantities(text)
    return one.dimension, one.low, one.high


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nodule, 3.4 cm across", ("length", 34, 34)),
        ("mass of 2.3 x 2.0 x 1.1 cm", ("length", 23, 23)),
        ("leiomyomas, 8 to 90 mm", ("length", 90, 90)),
        ("The nodule exceeds 3 cm.", ("length", 30, INFINITE)),
        ("margin under 1 mm", ("length", 0, 1)),
        ("Spleen weighs 1,450 g.", ("weight", 1450, 1450)),
        ("Liver of 1.25 kg", ("weight", 1250, 1250)),
        ("more than half of the hepatocytes", ("share", 50, INFINITE)),
        ("7 mitoses per 2 mm²", ("rate_mm2", 3.5, 3.5)),
        ("2 mitoses in 10 HPF", ("rate_hpf", 2, 2)),
    ],
)
def test_numbers_become_intervals(text: str, expected: tuple[str, float, float]) -> None:
    assert only(text) == expected


@pytest.mark.parametrize(
    ("premise", "hypothesis", "expected"),
    [
        ("The nodule has a diameter of 0.8 cm.", "The nodule is 8 cm across.", "apart"),
        ("Bowel segment, 32 cm in length.", "The resected bowel is 320 mm long.", "same"),
        ("Crescents in 5 of 10 glomeruli.", "Half of the glomeruli show crescents.", "same"),
        ("Tumor in 4 of 12 cores.", "Tumor in 5 of 12 cores.", "apart"),
        ("Nodule of 3 cm.", "The nodule exceeds 2 cm.", "same"),
    ],
)
def test_numbers_about_one_thing(premise: str, hypothesis: str, expected: str) -> None:
    (one,), (other,) = quantities(premise), quantities(hypothesis)
    assert comparable(one, other)
    assert relation(one, other) == expected


@pytest.mark.parametrize(
    ("premise", "hypothesis"),
    [
        ("The lesion is 5 mm deep.", "The lesion extends 18 mm laterally."),
        ("Greatest dimension of the mass: 6 cm.", "The second largest dimension is 4 cm."),
        ("Spleen of 12 cm.", "Appendix of 6 cm."),
    ],
)
def test_numbers_about_different_things_are_not_compared(premise: str, hypothesis: str) -> None:
    (one,), (other,) = quantities(premise), quantities(hypothesis)
    assert not comparable(one, other)


def test_a_range_written_backwards_is_the_same_range() -> None:
    (one,), (other,) = quantities("60-40% of cells"), quantities("40-60% of cells")
    assert (one.low, one.high) == (other.low, other.high) == (40, 60)


@given(st.text(alphabet="0123456789.,%x cmgofHP/<>µ-½", max_size=60))
def test_any_text_is_read(text: str) -> None:
    for one in quantities(text):
        assert 0 <= one.start < one.end <= len(text)
        assert one.low <= one.high
