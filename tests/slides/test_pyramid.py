"""Pyramidal TIFF files: tiles, levels, and a writer that fails."""

from __future__ import annotations

import numpy as np
import pytest
from tests.slides.made import tissue

from medassay.slides.plain import PlainImage
from medassay.slides.pyramid import PyramidWriter, write_pyramid


def test_a_slide_that_breaks_leaves_no_file(tmp_path):
    def fail(pixels: np.ndarray) -> np.ndarray:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        write_pyramid(PlainImage("made", tissue(600, 600)), tmp_path / "out.tiff", fail)
    assert not list(tmp_path.iterdir())


def test_equal_tiles_are_stored_once(slide_file):
    glass = np.full((2048, 4096, 3), 244, np.uint8)
    one = slide_file(glass[:512, :512], name="one.tiff").stat().st_size
    assert slide_file(glass).stat().st_size < 2 * one  # 43 tiles, all alike


def test_a_level_needs_all_its_tiles(tmp_path):
    with (
        (tmp_path / "x.tiff").open("wb") as stream,
        pytest.raises(ValueError, match="1 tiles given where the level has 4"),
    ):
        PyramidWriter(stream, None).add_level(600, 600, [b"jpeg"])
