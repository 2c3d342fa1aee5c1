"""Whole slides, through OpenSlide."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import openslide
from openslide import OpenSlide, OpenSlideError

from medassay.errors import InputError
from medassay.slides.image import PLAUSIBLE_MPP, Pixels, Slide

SUFFIXES = frozenset(
    {".svs", ".ndpi", ".ndpis", ".mrxs", ".scn", ".vms", ".vmu", ".bif", ".svslide", ".czi", ".dcm", ".vsi"}
)
"""File suffixes of whole slides: such a file is never read as a plain image of its first page."""
UM_AT_1X = 10.0
"""Micrometres per pixel times the objective's power: 20× is 0.5, 40× is 0.25 on all common scanners."""


class WholeSlide(Slide):
    """A slide that OpenSlide can read: pieces are decoded as they are asked for."""

    def __init__(self, path: Path, slide: OpenSlide, mpp: float | None) -> None:
        super().__init__(path, slide.dimensions, mpp)
        self._slide = slide
        self._downsamples: tuple[float, ...] = tuple(slide.level_downsamples)
        colour = slide.properties.get(openslide.PROPERTY_NAME_BACKGROUND_COLOR, "ffffff")
        self._background = np.frombuffer(bytes.fromhex(colour), np.uint8)

    @property
    def downsamples(self) -> tuple[float, ...]:
        """How many times smaller each stored level is, finest first."""
        return self._downsamples

    def _pixels(self, level: int, x: int, y: int, width: int, height: int) -> Pixels:
        try:
            rgba = np.asarray(self._slide.read_region((x, y), level, (width, height)))
        except OpenSlideError as error:
            # OpenSlide latches its first error: every later read of this slide fails too.
            raise InputError(f"{self.path}: cannot be read at x {x}, y {y} ({error}); {_REMEDY}") from error
        pixels = np.ascontiguousarray(rgba[..., :3])
        # Not scanned is transparent (MRXS, the margin of any slide): it gets the slide's own background.
        empty = rgba[..., 3] == 0
        if empty.any():
            pixels[empty] = self._background
        return pixels

    def close(self) -> None:
        """Close the slide."""
        self._slide.close()


_REMEDY = "the file is damaged or its download was cut short: fetch it again and compare sizes"


def is_slide(path: Path) -> bool:
    """Whether the file is, or by its name should be, a whole slide."""
    if path.suffix.lower() in SUFFIXES:
        return True
    try:
        return OpenSlide.detect_format(path) is not None
    except OpenSlideError:
        # Recognised by its content and found broken: `open_whole` says so.
        return True


def open_whole(path: Path, mpp: float | None) -> WholeSlide:
    """Open a slide; `mpp` overrides what its properties say."""
    try:
        slide = OpenSlide(path)
    except OpenSlideError as error:
        beside = f"; an .mrxs file needs its folder '{path.stem}' beside it" if path.suffix.lower() == ".mrxs" else ""
        raise InputError(f"{path}: not a slide that can be opened ({error}); {_REMEDY}{beside}") from error
    try:
        return WholeSlide(path, slide, mpp if mpp is not None else stated_mpp(slide.properties))
    except BaseException:
        slide.close()
        raise


def stated_mpp(properties: Mapping[str, str]) -> float | None:
    """Micrometres per pixel from a slide's properties: as stated, or else from the objective's power.

    A value no microscope gives (the print resolution that image editors write) counts as missing.

    >>> stated_mpp({"openslide.objective-power": "40"})
    0.25
    >>> stated_mpp({"openslide.mpp-x": "352.8", "openslide.mpp-y": "352.8"}) is None
    True
    """
    stated = [_number(properties.get(name)) for name in (openslide.PROPERTY_NAME_MPP_X, openslide.PROPERTY_NAME_MPP_Y)]
    values = [value for value in stated if value is not None]
    power = _number(properties.get(openslide.PROPERTY_NAME_OBJECTIVE_POWER))
    for mpp in (sum(values) / len(values) if values else None, UM_AT_1X / power if power else None):
        if mpp is not None and PLAUSIBLE_MPP[0] <= mpp <= PLAUSIBLE_MPP[1]:
            return mpp
    return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text.replace(",", ".")) if text else None
    except ValueError:
        return None
    return value if value and value > 0 else None
