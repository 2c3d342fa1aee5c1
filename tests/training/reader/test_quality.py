"""Pairs with a known quality."""

from __future__ import annotations

import pytest

from medassay.training.reader.quality import CRITICAL, MINOR, quality


@pytest.mark.parametrize(
    ("errors", "expected"),
    [(0.0, 1.0), (CRITICAL, 0.5), (MINOR, 1 - 1 / 6), (3 * CRITICAL, 0.0)],
)
def test_quality_is_one_minus_weighted_errors_per_sentence(errors: float, expected: float) -> None:
    # Two sentences in the longer text.
    assert quality("No fever. No cough.", "No fever.", errors) == pytest.approx(expected)


def test_an_empty_pair_has_one_sentence() -> None:
    assert quality("", "", MINOR) == pytest.approx(2 / 3)
