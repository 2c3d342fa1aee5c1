"""Tissue, ink, and what is not histology at all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.slides.made import on_glass, tissue

from medassay.slides import (
    find_tissue,
    open_image,
    tissue_fraction,
    tissue_mask,
)
from medassay.slides.tissue import TissueMask, ink, judge_tile, otsu

GREEN, BLUE, RED, BLACK = (20, 120, 70), (25, 60, 160), (205, 30, 40), (25, 25, 28)


def painted(colour: tuple[int, int, int]) -> np.ndarray:
    """Tissue on the left, glass in the middle, ink on the right; a third each."""
    pixels = on_glass(120, 180, (0, 0, 60, 120))
    pixels[:, 120:] = colour
    return pixels


@pytest.mark.parametrize("colour", [GREEN, BLUE, RED, BLACK], ids=["green", "blue", "red", "black"])
def test_tissue_is_found_and_ink_left_out(colour):
    found, pen = find_tissue(painted(colour))
    assert found[:, 3:57].all()
    assert not found[:, 63:].any()
    assert pen[:, 123:].all()
    assert not pen[:, :117].any()


def test_fraction_of_a_region_without_glass_is_one():
    assert tissue_fraction(tissue(100, 100)) == 1.0
    assert tissue_fraction(np.full((50, 50, 3), 255, np.uint8)) == 0.0


@pytest.mark.parametrize("glass", [(244, 244, 244), (255, 255, 255), (240, 236, 228), (200, 200, 203)])
def test_glass_of_any_tint_is_background(glass):
    pixels = on_glass(120, 120, (30, 30, 60, 60))
    pixels[(pixels == 244).all(axis=2)] = glass
    noisy = pixels.astype(int) + np.random.default_rng(0).integers(-2, 3, (120, 120, 1))
    assert tissue_fraction(np.clip(noisy, 0, 255).astype(np.uint8)) == pytest.approx(0.25, abs=0.02)


def test_tiles_are_judged():
    assert judge_tile(tissue(64, 64)) == "tissue"
    assert judge_tile(np.full((64, 64, 3), 240, np.uint8)) == "blank"
    assert judge_tile(np.full((64, 64, 3), BLUE, np.uint8)) == "pen"
    assert judge_tile(np.zeros((64, 64, 3), np.uint8)) == "pen"
    corner = on_glass(64, 64, (0, 0, 16, 16))  # 6 % tissue
    assert (judge_tile(corner), judge_tile(corner, least=0.1)) == ("tissue", "blank")


def test_stained_pixels_are_not_ink():
    assert not ink(tissue(100, 100)).any()


def test_shares_of_boxes_are_those_of_the_mask():
    mask = TissueMask(np.array([[1, 0, 0, 0], [1, 1, 0, 0]], bool), np.zeros((2, 4), bool), scale=10.0)
    corners = np.array([[0, 0], [0, 10], [20, 0], [10, 0]])
    assert mask.fractions(corners, 20, 10).tolist() == [0.5, 1.0, 0.0, 0.0]
    assert mask.fractions(np.array([[0, 0]]), 40, 20).tolist() == [3 / 8]
    assert mask.fraction == 3 / 8


@given(st.integers(0, 39), st.integers(0, 29), st.integers(1, 40), st.integers(1, 30))
def test_shares_agree_with_counting(x, y, width, height):
    found = np.random.default_rng(3).random((30, 40)) < 0.4
    mask = TissueMask(found, np.zeros_like(found), scale=1.0)
    expected = found[y : y + height, x : x + width].mean()
    assert mask.fractions(np.array([[x, y]]), width, height)[0] == pytest.approx(expected)


def test_otsu_parts_two_groups():
    random = np.random.default_rng(0)
    values = np.concatenate([random.normal(0.05, 0.01, 700), random.normal(0.4, 0.05, 300)]).astype(np.float32)
    assert 0.08 < otsu(values) < 0.3


def test_mask_of_a_slide(slide_file):
    with open_image(slide_file(on_glass(1500, 2000, (500, 300, 1000, 900)))) as slide:
        mask = tissue_mask(slide, longest=500)
    assert mask.scale == 4
    assert mask.fraction == pytest.approx(0.3, abs=0.01)  # 1000 × 900 of 2000 × 1500
