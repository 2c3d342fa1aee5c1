"""Patches: where they are, how they are drawn, that they come in order and without piling up."""

from __future__ import annotations

import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.slides.made import on_glass, tissue

from medassay.errors import InputError
from medassay.slides import NoTissue, Patch, open_image, patches
from medassay.slides.patches import starts
from medassay.slides.plain import PlainImage


def made(height: int = 1024, width: int = 1536, box: tuple[int, int, int, int] = (256, 128, 900, 700)) -> PlainImage:
    return PlainImage("made.png", on_glass(height, width, box), 0.5)


@given(st.integers(1, 3000), st.integers(1, 600), st.integers(1, 600))
def test_windows_cover_everything_where_the_stride_allows(length, size, stride):
    where = starts(length, size, stride)
    assert where == sorted(set(where))
    assert where[0] == 0
    assert max(where[-1], 0) + size >= length
    assert all(place + size <= max(length, size) for place in where)
    if stride <= size:
        assert all(b - a <= size for a, b in pairwise(where))


def test_a_grid_inside_the_tissue():
    slide = made(512, 768, box=(0, 0, 256, 512))
    found = [patch.box for patch in patches(slide, size=128)]
    assert found == [(x, y, 128, 128) for y in (0, 128, 256, 384) for x in (0, 128)]


def test_coordinates_are_those_of_full_resolution():
    slide = PlainImage("made", tissue(1024, 1024), 0.25)
    found = list(patches(slide, size=256, mpp=0.5))
    assert [patch.box for patch in found] == [(x, y, 512, 512) for y in (0, 512) for x in (0, 512)]
    assert all(patch.pixels.shape == (256, 256, 3) for patch in found)
    expected = slide.read(512, 0, 256, 256, mpp=0.5)
    assert np.array_equal(found[1].pixels, expected)


def test_a_patch_through_windows():
    pixels = tissue(512, 512)
    windows = list(Patch(1000, 2000, 1024, 1024, pixels).windows())
    assert [w.box for w in windows][:3] == [(1000, 2000, 448, 448), (1448, 2000, 448, 448), (1576, 2000, 448, 448)]
    assert len(windows) == 9
    assert np.array_equal(windows[-1].pixels, pixels[288:, 288:])
    assert np.shares_memory(windows[0].pixels, pixels)


def test_an_image_smaller_than_a_patch_is_one_patch():
    (patch,) = patches(PlainImage("roi", tissue(224, 200)), mpp=None)
    assert patch.box == (0, 0, 200, 224)
    assert patch.pixels.shape == (224, 200, 3)
    assert [w.box for w in patch.windows()] == [(0, 0, 200, 224)]


def test_resolution_must_be_known_unless_pixels_are_taken_as_they_are():
    image = PlainImage("roi.png", tissue(600, 600))
    with pytest.raises(InputError, match=r"roi\.png.*--mpp"):
        patches(image)
    assert len(patches(image, mpp=None)) == 4


def test_a_budget_draws_the_same_patches_every_time():
    def drawn(budget: int, seed: int, workers: int) -> list[tuple[int, int, int, int]]:
        return [p.box for p in patches(made(), size=64, budget=budget, seed=seed, workers=workers)]

    ten = drawn(10, 7, 4)
    assert len(ten) == 10
    assert ten == drawn(10, 7, 1)
    assert drawn(25, 7, 4)[:10] == ten
    assert drawn(10, 8, 4) != ten


def test_a_budget_larger_than_the_tissue_takes_all():
    everything = {p.box for p in patches(made(), size=128)}
    assert {p.box for p in patches(made(), size=128, budget=10_000)} == everything


def test_blank_and_pen_tiles_are_skipped_and_counted():
    pixels = tissue(128, 512)
    pixels[:, 128:256] = 244
    pixels[:, 256:384] = (25, 60, 160)
    plan = patches(PlainImage("made", pixels, 0.5), size=128, least=0.0)
    plan.least = 0.1  # the coarse mask let all through; the tiles themselves are judged
    assert [p.x for p in plan] == [0, 384]
    assert (plan.tally.kept, plan.tally.blank, plan.tally.pen) == (2, 1, 1)
    assert [p.x for p in plan] == [0, 384]  # a second walk counts afresh
    assert plan.tally.kept == 2


def test_no_tissue_is_said():
    with pytest.raises(NoTissue, match=r"glass\.png: no tissue found \(0\.0% .* 0\.0% like pen"):
        patches(PlainImage("glass.png", np.full((600, 600, 3), 244, np.uint8), 0.5))
    inked = np.full((600, 600, 3), (25, 60, 160), np.uint8)
    with pytest.raises(NoTissue, match=r"100\.0% like pen"):
        patches(PlainImage("ink.png", inked, 0.5))
    plan = patches(PlainImage("glass.png", np.full((600, 600, 3), 244, np.uint8), 0.5), least=0.0)
    plan.least = 0.1
    with pytest.raises(NoTissue, match=r"none of 4 patches shows tissue \(4 blank, 0 pen"):
        list(plan)


def test_wrong_numbers_are_refused():
    for wrong in ({"size": 0}, {"stride": -1}, {"budget": 0}):
        with pytest.raises(InputError, match="at least 1"):
            patches(made(), **wrong)


def test_leaving_early_stops_the_reading():
    walk = iter(patches(made(), size=32, workers=2))
    next(walk)
    walk.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("medassay-ahead")]


def test_patches_of_a_pyramid(slide_file):
    pixels = on_glass(1500, 2000, (512, 0, 1024, 1500))
    with open_image(slide_file(pixels, mpp=0.25)) as slide:
        found = list(patches(slide, size=256))
    assert {p.x for p in found} == {512, 1024}
    assert {p.width for p in found} == {512}
    assert max(p.y for p in found) == 1500 - 512  # flush with the edge


@pytest.mark.data
def test_patches_of_a_real_slide(data):
    with open_image(data / "slides" / "cmu_small_region.svs") as slide:
        plan = patches(slide)
        found = list(plan)
    assert 10 <= len(found) <= 30
    assert plan.tally.kept == len(found)
    assert all(p.pixels.shape == (512, 512, 3) and p.width == 512 for p in found)
