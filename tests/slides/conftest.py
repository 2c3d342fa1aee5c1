"""Where the extra `slides` is not installed, these tests are left out."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from medassay.slides.image import Pixels

if find_spec("PIL") is None or find_spec("openslide") is None:
    collect_ignore_glob = ["test_*.py"]

DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def slide_file(tmp_path: Path) -> Callable[..., Path]:
    """Write pixels as a pyramidal TIFF and return its path."""

    from medassay.slides.plain import PlainImage
    from medassay.slides.pyramid import write_pyramid

    def write(pixels: Pixels, mpp: float | None = 0.25, name: str = "slide.tiff") -> Path:
        path = tmp_path / name
        write_pyramid(PlainImage("made", pixels, mpp), path, lambda tile: tile, workers=1)
        return path

    return write


@pytest.fixture
def data() -> Path:
    """The folder of real files; the test is skipped where it is not beside the checkout."""
    if not (DATA / "slides").is_dir():
        pytest.skip("needs the shared data folder beside the checkout")
    return DATA
