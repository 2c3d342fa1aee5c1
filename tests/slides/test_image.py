"""Opening and reading: every kind of file, every kind of damage."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from tests.slides.made import tissue

from medassay.errors import InputError, MissingExtra
from medassay.slides import open_image
from medassay.slides.plain import PlainImage


@pytest.mark.parametrize("suffix", ["png", "bmp", "tiff", "webp"])
def test_a_region_is_read_as_it_is(tmp_path, suffix):
    pixels = tissue(40, 60)
    Image.fromarray(pixels).save(tmp_path / f"roi.{suffix}", **({"lossless": True} if suffix == "webp" else {}))
    with open_image(tmp_path / f"roi.{suffix}") as image:
        assert image.dimensions == (60, 40)
        assert not image.whole
        assert np.array_equal(image.read(0, 0, 60, 40), pixels)
        assert np.array_equal(image.read(10, 5, 7, 3), pixels[5:8, 10:17])


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


def test_a_large_region_is_read_in_pieces(monkeypatch):
    monkeypatch.setattr("medassay.slides.image.PIECE", 64)
    pixels = np.repeat(np.repeat(tissue(50, 75), 4, axis=0), 4, axis=1)
    image = PlainImage("made", pixels)
    whole = image.read_scaled(0, 0, 75, 50, 4.0)
    assert whole.shape == (50, 75, 3)
    assert abs(whole.astype(int) - pixels[::4, ::4]).mean() < 20
