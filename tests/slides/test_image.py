"""Opening and reading: every kind of file, every kind of damage."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from tests.slides.made import on_glass, tissue

from medassay.errors import InputError, MissingExtra
from medassay.slides import open_image
from medassay.slides.plain import PlainImage
from medassay.slides.whole import stated_mpp


@pytest.mark.parametrize("suffix", ["png", "bmp", "tiff", "webp"])
def test_a_region_is_read_as_it_is(tmp_path, suffix):
    pixels = tissue(40, 60)
    Image.fromarray(pixels).save(tmp_path / f"roi.{suffix}", **({"lossless": True} if suffix == "webp" else {}))
    with open_image(tmp_path / f"roi.{suffix}") as image:
        assert image.dimensions == (60, 40)
        assert not image.whole
        assert np.array_equal(image.read(0, 0, 60, 40), pixels)
        assert np.array_equal(image.read(10, 5, 7, 3), pixels[5:8, 10:17])


def test_outside_is_white():
    image = PlainImage("made", np.zeros((10, 10, 3), np.uint8))
    pixels = image.read(-2, 7, 5, 5)
    assert (pixels[:3, 2:] == 0).all()
    assert (pixels[3:] == 255).all()
    assert (pixels[:, :2] == 255).all()
    assert (image.read(50, 50, 4, 4) == 255).all()


@pytest.mark.parametrize(
    ("mode", "value", "expected"),
    [
        ("RGBA", (200, 0, 0, 0), (255, 255, 255)),  # transparent: white shows
        ("RGBA", (200, 0, 0, 255), (200, 0, 0)),
        ("LA", (80, 255), (80, 80, 80)),
        ("L", 80, (80, 80, 80)),
        ("1", 1, (255, 255, 255)),
        ("I;16", 0x80FF, (0x80, 0x80, 0x80)),  # the upper byte
    ],
)
def test_kinds_become_rgb(tmp_path, mode, value, expected):
    Image.new(mode, (8, 8), value).save(tmp_path / "roi.png")
    with open_image(tmp_path / "roi.png") as image:
        assert tuple(image.read(3, 3, 1, 1)[0, 0]) == expected


def test_palette_with_a_transparent_colour(tmp_path):
    image = Image.new("P", (8, 8), 1)
    image.putpalette([0, 0, 0, 10, 200, 30])
    image.save(tmp_path / "opaque.png")
    image.save(tmp_path / "clear.png", transparency=1)
    assert tuple(open_image(tmp_path / "opaque.png").read(0, 0, 1, 1)[0, 0]) == (10, 200, 30)
    assert tuple(open_image(tmp_path / "clear.png").read(0, 0, 1, 1)[0, 0]) == (255, 255, 255)


def test_cmyk(tmp_path):
    Image.new("CMYK", (16, 16), (0, 255, 0, 0)).save(tmp_path / "roi.jpg")
    red, green, blue = open_image(tmp_path / "roi.jpg").read(4, 4, 1, 1)[0, 0]
    assert (red > 240, green < 15, blue > 240) == (True, True, True)  # magenta


def test_sixteen_bits_a_channel(tmp_path):
    rows = b"".join(b"\0" + struct.pack(">HHH", 0xC0FF, 0x4000, 0x80AA) * 4 for _ in range(4))
    (tmp_path / "roi.png").write_bytes(png(4, 4, 16, zlib.compress(rows)))
    assert tuple(open_image(tmp_path / "roi.png").read(1, 1, 1, 1)[0, 0]) == (0xC0, 0x40, 0x80)


def test_floating_point_pixels_are_refused(tmp_path):
    Image.new("F", (8, 8), 0.5).save(tmp_path / "roi.tiff")
    with pytest.raises(InputError, match=r"roi\.tiff: 32-bit values.*8 bits"):
        open_image(tmp_path / "roi.tiff")


def png(width: int, height: int, depth: int, data: bytes) -> bytes:
    """An RGB PNG file of given header and compressed data."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, depth, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.mark.parametrize("side", [11_000, 12_000, 60_000])
def test_a_bomb_is_refused_before_it_is_decoded(tmp_path, side):
    (tmp_path / "bomb.png").write_bytes(png(side, side, 8, zlib.compress(b"\0" * 1000)))
    with pytest.raises(InputError, match=r"bomb\.png: too large.*100,000,000 pixels.*pyramidal TIFF"):
        open_image(tmp_path / "bomb.png")


def test_the_limit_can_be_set(tmp_path):
    Image.fromarray(tissue(40, 60)).save(tmp_path / "roi.png")
    with pytest.raises(InputError, match="too large"):
        open_image(tmp_path / "roi.png", max_pixels=2399)
    assert open_image(tmp_path / "roi.png", max_pixels=2400).dimensions == (60, 40)


def test_what_is_not_there_or_not_an_image(tmp_path):
    (tmp_path / "empty.png").touch()
    (tmp_path / "page.html").write_text("<html>Please log in</html>")
    (tmp_path / "slide.mrxs").write_bytes(b"no folder beside")
    for name, message in {
        "none.png": "no such file",
        ".": "a folder; name the slide file",
        "empty.png": "the file is empty",
        "page.html": "neither an image .* nor a whole slide",
        "slide.mrxs": "needs its folder 'slide' beside it",
    }.items():
        with pytest.raises(InputError, match=message) as error:
            open_image(tmp_path / name)
        assert str(tmp_path / name) in str(error.value)


def test_the_extra_is_named_where_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "medassay.slides.plain", None)
    with pytest.raises(MissingExtra, match=r"medassay\[slides\]"):
        open_image(tmp_path / "roi.png")


@pytest.mark.parametrize("suffix", ["png", "jpg", "tiff"])
def test_half_a_region_is_an_error(tmp_path, suffix):
    stream = io.BytesIO()
    Image.fromarray(tissue(120, 120)).save(stream, {"jpg": "JPEG", "png": "PNG", "tiff": "TIFF"}[suffix])
    half = tmp_path / f"half.{suffix}"
    half.write_bytes(stream.getvalue()[: len(stream.getvalue()) // 2])
    with pytest.raises(InputError, match=rf"half\.{suffix}"):
        open_image(half)


def _encoded(kind: str) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(tissue(24, 24)).save(stream, kind)
    return stream.getvalue()


WHOLE = {kind: _encoded(kind) for kind in ("PNG", "JPEG", "TIFF", "BMP", "WEBP")}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(WHOLE)), st.integers(0, 10_000), st.binary(max_size=12), st.booleans())
def test_damage_is_an_input_error_or_an_image(tmp_path, kind, place, noise, cut):
    content = WHOLE[kind]
    place %= len(content)
    damaged = content[:place] + noise + (b"" if cut else content[place + len(noise) :])
    path = Path(tmp_path / "damaged.img")
    path.write_bytes(damaged)
    try:
        with open_image(path) as image:
            assert image.read(0, 0, 2, 2).shape == (2, 2, 3)
    except InputError as error:
        assert "damaged.img" in str(error)


def test_resolution_is_never_guessed(tmp_path):
    Image.fromarray(tissue(64, 64)).save(tmp_path / "roi.png", dpi=(72, 72))
    with open_image(tmp_path / "roi.png") as image:
        assert image.known_mpp is None
        with pytest.raises(InputError, match=r"roi\.png.*--mpp"):
            image.read(0, 0, 8, 8, mpp=0.5)
    with open_image(tmp_path / "roi.png", mpp=0.25) as image:
        assert image.read(0, 0, 32, 32, mpp=0.5).shape == (32, 32, 3)
    with pytest.raises(InputError, match="cannot be"):
        open_image(tmp_path / "roi.png", mpp=250)


def test_resolution_of_a_microscopes_tiff(tmp_path):
    Image.fromarray(tissue(8, 8)).save(tmp_path / "a.tiff", resolution_unit=3, x_resolution=20_000, y_resolution=20_000)
    Image.fromarray(tissue(8, 8)).save(tmp_path / "b.tiff", resolution_unit=2, x_resolution=300, y_resolution=300)
    assert open_image(tmp_path / "a.tiff").mpp == pytest.approx(0.5)
    assert open_image(tmp_path / "b.tiff").known_mpp is None  # 300 dpi is for a printer


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


def test_reading_at_a_resolution_averages(tmp_path):
    pixels = np.zeros((64, 64, 3), np.uint8)
    pixels[::2] = 200  # stripes of one pixel become even grey at half the resolution
    image = PlainImage("made", pixels, 0.25)
    half = image.read(0, 0, 32, 32, mpp=0.5)
    assert abs(half[4:-4].astype(int) - 100).max() <= 2


def test_finer_than_scanned_is_refused():
    image = PlainImage("made", tissue(64, 64), 1.0)
    with pytest.raises(InputError, match=r"scanned at 1 µm.*0.5 is not in it"):
        image.read(0, 0, 8, 8, mpp=0.5)
    assert image.scale(0.99) == 1  # what scanners write for 1.0


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


def test_a_large_region_is_read_in_pieces(monkeypatch):
    monkeypatch.setattr("medassay.slides.image.PIECE", 64)
    pixels = np.repeat(np.repeat(tissue(50, 75), 4, axis=0), 4, axis=1)
    image = PlainImage("made", pixels)
    whole = image.read_scaled(0, 0, 75, 50, 4.0)
    assert whole.shape == (50, 75, 3)
    assert abs(whole.astype(int) - pixels[::4, ::4]).mean() < 20


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
