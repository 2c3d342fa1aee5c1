"""The description of an image's stain colours."""

from __future__ import annotations

import numpy as np
import pytest

from medassay.models.stains import BINS, SIDE, SIZE, stain_colours


def _plain(red: int, green: int, blue: int) -> np.ndarray:
    return np.full((SIDE, SIDE, 3), (red, green, blue), np.uint8)


def test_an_empty_image_has_no_stain() -> None:
    numbers = stain_colours(_plain(255, 255, 255))
    assert numbers.shape == (SIZE,)
    assert numbers[: BINS * BINS].tolist() == [0.0] * BINS * BINS
    # Shares of empty, dark and black pixels; deviation and mean of density.
    assert numbers[BINS * BINS :].tolist() == pytest.approx([1, 0, 0, 0, 0], abs=1e-6)


def test_one_colour_fills_one_cell() -> None:
    numbers = stain_colours(_plain(120, 60, 140))
    assert sorted(numbers[: BINS * BINS].tolist())[-2:] == pytest.approx([0.0, 1.0])


def test_the_cell_depends_on_the_colour_and_not_on_its_amount() -> None:
    # Densities in proportion 1 : 2 : 1, at two strengths.
    weak, strong = (_plain(*(round(256 * np.exp(-k * density)) - 1 for density in (0.3, 0.6, 0.3))) for k in (1.0, 2.0))
    brown = _plain(140, 90, 40)
    cells = [int(stain_colours(image)[: BINS * BINS].argmax()) for image in (weak, strong, brown)]
    assert cells[0] == cells[1] != cells[2]
