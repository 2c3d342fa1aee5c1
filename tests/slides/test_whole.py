"""Whole slides: levels, resolution, and damage."""

from __future__ import annotations

import pytest
from tests.slides.made import on_glass

from medassay.errors import InputError
from medassay.slides import open_image
from medassay.slides.whole import stated_mpp


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"openslide.mpp-x": "0.499", "openslide.mpp-y": "0.501", "openslide.objective-power": "40"}, 0.5),
        ({"openslide.mpp-x": "0,25"}, 0.25),
        ({"openslide.objective-power": "20"}, 0.5),
        ({"openslide.mpp-x": "353", "openslide.objective-power": "40"}, 0.25),
        ({"openslide.mpp-x": "n/a", "openslide.objective-power": "0"}, None),
        ({}, None),
    ],
)
def test_what_properties_say(properties, expected):
    assert stated_mpp(properties) == (pytest.approx(expected) if expected else None)


def test_a_pyramid_is_read_from_its_levels(slide_file):
    pixels = on_glass(1500, 2100, (500, 400, 700, 600))
    with open_image(slide_file(pixels)) as slide:
        assert slide.whole
        assert slide.dimensions == (2100, 1500)
        assert slide.mpp == pytest.approx(0.25)
        assert len(slide.downsamples) == 3  # 2100, 1050, 525
        assert abs(slide.read(600, 500, 64, 64).astype(int) - pixels[500:564, 600:664]).mean() < 12  # JPEG
        shrunk, scale = slide.thumbnail(525)
        assert scale == 4
        assert shrunk.shape == (375, 525, 3)
        assert (shrunk[:80] > 235).all()
        assert shrunk[150:200, 150:250].mean() < 200


@pytest.mark.parametrize("share", [0.02, 0.5, 0.98])
def test_half_a_slide_is_an_error(slide_file, share):
    path = slide_file(on_glass(900, 1200, (100, 100, 900, 700)))
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(InputError, match=r"slide\.tiff"), open_image(path) as slide:
        slide.thumbnail()


def test_a_hole_in_the_tiles_is_an_error_with_its_place(slide_file):
    path = slide_file(on_glass(900, 1200, (100, 100, 900, 700)))
    content = bytearray(path.read_bytes())
    content[16 : len(content) // 2] = bytes(len(content) // 2 - 16)
    path.write_bytes(content)
    with (
        open_image(path) as slide,
        pytest.raises(InputError, match=r"slide\.tiff: cannot be read at x.*fetch it again"),
    ):
        slide.read(0, 0, 1200, 900)


@pytest.mark.data
def test_real_slides(data):
    with open_image(data / "slides" / "cmu_small_region.svs") as slide:
        assert slide.dimensions == (2220, 2967)
        assert slide.mpp == pytest.approx(0.499)
        assert slide.read(600, 1200, 256, 256, mpp=0.5).shape == (256, 256, 3)
    with open_image(data / "slides" / "tcga_hnsc.svs") as slide, pytest.raises(InputError, match="--mpp"):
        slide.read(0, 0, 64, 64, mpp=0.5)
    with pytest.raises(InputError, match=r"broken\.svs: not a slide"):
        open_image(data / "slides" / "broken.svs")
    assert open_image(data / "slides" / "small_pyramid.tiff").known_mpp is None  # 72 dpi
