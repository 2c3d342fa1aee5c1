"""Plain images: kinds of pixels, limits, and damage."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image
from tests.slides.made import tissue

from medassay.errors import InputError
from medassay.slides import open_image
from medassay.slides.plain import PlainImage


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


@pytest.mark.parametrize("suffix", ["png", "jpg", "tiff"])
def test_half_a_region_is_an_error(tmp_path, suffix):
    stream = io.BytesIO()
    Image.fromarray(tissue(120, 120)).save(stream, {"jpg": "JPEG", "png": "PNG", "tiff": "TIFF"}[suffix])
    half = tmp_path / f"half.{suffix}"
    half.write_bytes(stream.getvalue()[: len(stream.getvalue()) // 2])
    with pytest.raises(InputError, match=rf"half\.{suffix}"):
        open_image(half)


def test_resolution_of_a_microscopes_tiff(tmp_path):
    Image.fromarray(tissue(8, 8)).save(tmp_path / "a.tiff", resolution_unit=3, x_resolution=20_000, y_resolution=20_000)
    Image.fromarray(tissue(8, 8)).save(tmp_path / "b.tiff", resolution_unit=2, x_resolution=300, y_resolution=300)
    assert open_image(tmp_path / "a.tiff").mpp == pytest.approx(0.5)
    assert open_image(tmp_path / "b.tiff").known_mpp is None  # 300 dpi is for a printer
