"""The abstract class of everything that has pixels: a region of interest or a whole slide.

A subclass implements `_pixels` and states its size, levels and resolution; reading at a requested resolution, in
pieces of bounded size, is the same for all and is implemented here. Coordinates (x, y) are always pixels of the
full-resolution image (level 0), x to the right and y down; the size of what is read is in pixels of the
wanted resolution, as in OpenSlide's `read_region`. Resolution is in micrometres per pixel (mpp): 0.5 is
what a 20× objective gives, 0.25 a 40× one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

import numpy as np

from medassay.errors import InputError, MissingExtra, shortened
from medassay.files import exists
from medassay.models.image import Pixels as Pixels
from medassay.models.image import resize as resize

PLAUSIBLE_MPP = (0.05, 20.0)
"""Resolutions of microscopes. A print resolution of 72 dpi (353 µm per pixel) in a file is not one."""
FINEST_STRETCH = 1.25
"""How far pixels may be enlarged: detail that was not scanned is not made up."""
PIECE = 4096
"""Longest side, in pixels of the level read, of what is held at once while a region is shrunk."""
MAX_READ = 128_000_000
"""Pixels that one `read` may return (384 MB)."""


class Slide(ABC):
    """An open image. Use it in a `with` block; reading is safe from several threads."""

    whole: ClassVar[bool] = True
    """Whether this is a slide to be read in patches, rather than a region held in memory."""

    def __init__(self, path: str | Path, dimensions: tuple[int, int], mpp: float | None) -> None:
        self.path = Path(path)
        self._dimensions = dimensions
        self._mpp = check_mpp(mpp, str(path)) if mpp is not None else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        width, height = self.dimensions
        return f"{type(self).__name__}({self.path.name!r}, {width} × {height}, mpp {self._mpp or 'unknown'})"

    @property
    def dimensions(self) -> tuple[int, int]:
        """Width and height at full resolution."""
        return self._dimensions

    @property
    def known_mpp(self) -> float | None:
        """Micrometres per pixel at full resolution, or None where neither the file nor the caller states it."""
        return self._mpp

    @property
    def mpp(self) -> float:
        """Micrometres per pixel at full resolution; an `InputError` with the remedy where it is not known."""
        if self._mpp is None:
            raise InputError(
                f"{self.path}: the file states neither micrometres per pixel nor the objective; give them with --mpp "
                "(mpp= in Python; 0.25 for a 40× scan, 0.5 for 20×)"
            )
        return self._mpp

    @property
    def downsamples(self) -> tuple[float, ...]:
        """How many times smaller each stored level is, finest first; a plain image has one."""
        return (1.0,)

    @abstractmethod
    def _pixels(self, level: int, x: int, y: int, width: int, height: int) -> Pixels:
        """Pixels of one level from (x, y) of level 0 on; white where the slide has none."""

    @abstractmethod
    def close(self) -> None:
        """Close the file."""

    def read(self, x: int, y: int, width: int, height: int, mpp: float | None = None) -> Pixels:
        """`width` × `height` pixels of `mpp` micrometres from (x, y) on; pixels as they are where mpp is None.

        What lies outside the image is white. Asking for much finer pixels than were scanned is an error.
        """
        return self.read_scaled(x, y, width, height, self.scale(mpp))

    def scale(self, mpp: float | None) -> float:
        """How many full-resolution pixels one pixel of `mpp` micrometres spans; 1 where mpp is None."""
        if mpp is None:
            return 1.0
        scale = check_mpp(mpp, "mpp") / self.mpp
        if scale < 1 / FINEST_STRETCH:
            raise InputError(
                f"{self.path}: scanned at {self.mpp:.3g} µm per pixel, so {mpp:.3g} is not in it; "
                f"read it at {self.mpp:.3g} or coarser"
            )
        # Scanners write 0.499 or 0.2527 for what is meant by 20× and 40×: a resize by 1 % only blurs.
        return round(scale) if abs(scale - round(scale)) < 0.02 * scale else scale

    def read_scaled(self, x: int, y: int, width: int, height: int, scale: float) -> Pixels:
        """`width` × `height` pixels, each `scale` full-resolution pixels wide, in bounded memory."""
        if width < 1 or height < 1 or width * height > MAX_READ:
            raise InputError(f"{self.path}: cannot read {width} × {height} pixels at once; read it in patches")
        level = max((i for i, d in enumerate(self.downsamples) if d <= scale * 1.01), default=0)
        remaining = scale / self.downsamples[level]
        side = max(1, int(PIECE / remaining))
        if max(width, height) <= side:
            return self._piece(level, x, y, width, height, scale, remaining)
        joined = np.empty((height, width, 3), np.uint8)
        for top in range(0, height, side):
            for left in range(0, width, side):
                high, wide = min(side, height - top), min(side, width - left)
                at_x, at_y = x + round(left * scale), y + round(top * scale)
                joined[top : top + high, left : left + wide] = self._piece(
                    level, at_x, at_y, wide, high, scale, remaining
                )
        return joined

    def _piece(self, level: int, x: int, y: int, width: int, height: int, scale: float, rest: float) -> Pixels:
        if abs(rest - 1) < 0.01:
            return self._pixels(level, x, y, width, height)
        wide, high = max(1, round(width * rest)), max(1, round(height * rest))
        return resize(self._pixels(level, x, y, wide, high), width, height)

    def thumbnail(self, longest: int = 2048) -> tuple[Pixels, float]:
        """The whole image with its longer side at most `longest`, and how many times it was shrunk."""
        width, height = self.dimensions
        scale = max(1.0, max(width, height) / longest)
        return self.read_scaled(0, 0, max(1, int(width / scale)), max(1, int(height / scale)), scale), scale


def check_mpp(mpp: float, what: str) -> float:
    """A resolution that a microscope can give, or an `InputError`.

    >>> check_mpp(0.25, "slide.svs")
    0.25
    """
    low, high = PLAUSIBLE_MPP
    if not low <= mpp <= high:
        raise InputError(
            f"{what}: {mpp:g} µm per pixel cannot be; expected {low:g} to {high:g} (0.25 for 40×, 0.5 for 20×)"
        )
    return float(mpp)


def open_image(path: str | Path, *, mpp: float | None = None, max_pixels: int | None = None) -> Slide:
    """Open a region of interest (PNG, JPEG, TIFF …) or a whole slide (SVS, NDPI, MRXS, pyramidal TIFF, DICOM).

    `mpp` overrides what the file says. `max_pixels` is the largest plain image that is decoded (it is held in
    memory; whole slides are read piece by piece and have no limit). A file that is missing, broken, cut short
    or not an image raises `InputError` with its name and what to do.
    """
    try:
        from medassay.slides.plain import MAX_PIXELS, open_plain
        from medassay.slides.whole import is_slide, open_whole
    except ModuleNotFoundError as error:
        raise MissingExtra("Reading images and slides", "slides") from error
    path = Path(path)
    if not exists(path):
        raise InputError(f"{shortened(str(path))}: no such file")
    if path.is_dir():
        raise InputError(f"{path}: a folder; name the slide file in it (for DICOM, any one .dcm of the series)")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty; copy or download it again")
    if is_slide(path):
        return open_whole(path, mpp)
    return open_plain(path, mpp, max_pixels or MAX_PIXELS)


def read_image(path: str | Path) -> Pixels:
    """All pixels of a region of interest; a whole slide is too large for this: use `patches`."""
    with open_image(path) as image:
        return image.read(0, 0, *image.dimensions)
