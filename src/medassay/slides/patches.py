"""Patches of tissue, read lazily and in parallel, in memory that does not grow with the slide.

PathGLS tiles a slide into 512 × 512 patches at 20× and reads windows with a stride of 224 pixels inside each
(Grounding). Both grids end flush with the edge: the last row and column overlap their neighbours rather than
leave tissue out, and nothing is padded; an image smaller than a patch is one patch of its own size.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medassay.errors import InputError
from medassay.slides.ahead import in_order
from medassay.slides.image import Pixels, Slide
from medassay.slides.tissue import Tile, TissueMask, judge_tile, tissue_mask

MPP = 0.5
"""Micrometres per pixel at 20×."""
SIZE = 512
WINDOW = 224
"""Side and stride, in pixels, of the window that an image model reads."""
LEAST_TISSUE = 0.1
"""Tissue share that a patch must have to be read and kept."""
MOST_WORKERS = 8


class NoTissue(InputError):
    """The image has no patch with enough tissue; nothing can be said about it."""


@dataclass(frozen=True, slots=True, eq=False)
class Patch:
    """Pixels and where they come from: corner (x, y) and extent in full-resolution pixels."""

    x: int
    y: int
    width: int
    height: int
    pixels: Pixels

    @property
    def box(self) -> tuple[int, int, int, int]:
        """x, y, width, height at full resolution."""
        return (self.x, self.y, self.width, self.height)

    def windows(self, size: int = WINDOW, stride: int = WINDOW) -> Iterator[Patch]:
        """The patch through a sliding window, row by row; views, not copies."""
        high, wide = self.pixels.shape[:2]
        across, down = self.width / wide, self.height / high
        for top in starts(high, size, stride):
            for left in starts(wide, size, stride):
                pixels = self.pixels[top : top + size, left : left + size]
                yield Patch(
                    self.x + round(left * across),
                    self.y + round(top * down),
                    round(pixels.shape[1] * across),
                    round(pixels.shape[0] * down),
                    pixels,
                )


@dataclass(slots=True)
class Tally:
    """Counts of the patches processed so far."""

    kept: int = 0
    blank: int = 0
    pen: int = 0


class Patches:
    """The patches of one slide: iterate to read them; `tally` counts what was kept and skipped.

    `corners` (n × 2: x, y at full resolution) are the planned places, in the order they are read. Each patch has
    `size` pixels (width, height) of `scale` full-resolution pixels each.
    """

    def __init__(
        self,
        slide: Slide,
        corners: NDArray[np.int64],
        size: tuple[int, int],
        scale: float,
        *,
        budget: int | None = None,
        least: float = LEAST_TISSUE,
        workers: int = 1,
    ) -> None:
        self.slide = slide
        self.corners = corners
        self.size = size
        self.scale = scale
        self.budget = budget
        self.least = least
        self.workers = workers
        self.tally = Tally()

    def __len__(self) -> int:
        """How many patches there will be at most: the budget, or all that are planned."""
        return len(self.corners) if self.budget is None else min(self.budget, len(self.corners))

    def __iter__(self) -> Iterator[Patch]:
        self.tally = Tally()
        for kind, patch in in_order(self._read, self.corners.tolist(), self.workers):
            setattr(self.tally, _COUNTED[kind], getattr(self.tally, _COUNTED[kind]) + 1)
            if kind == "tissue":
                yield patch
            if self.tally.kept == self.budget:
                return
        if not self.tally.kept:
            raise NoTissue(
                f"{self.slide.path}: none of {len(self.corners)} patches shows tissue "
                f"({self.tally.blank} blank, {self.tally.pen} pen marks)"
            )

    def _read(self, corner: list[int]) -> tuple[Tile, Patch]:
        x, y = corner
        width, height = self.size
        pixels = self.slide.read_scaled(x, y, width, height, self.scale)
        patch = Patch(x, y, round(width * self.scale), round(height * self.scale), pixels)
        return judge_tile(pixels, self.least), patch


_COUNTED = {"tissue": "kept", "blank": "blank", "pen": "pen"}


def patches(
    slide: Slide,
    size: int = SIZE,
    mpp: float | None = MPP,
    stride: int | None = None,
    *,
    budget: int | None = None,
    seed: int = 0,
    least: float = LEAST_TISSUE,
    mask: TissueMask | None = None,
    workers: int | None = None,
) -> Patches:
    """Plan the patches of a slide: `size` pixels square at `mpp`, every `stride` pixels, where there is tissue.

    `mpp=None` takes pixels as they are, for regions of interest whose resolution nobody knows. Without a
    `budget` all patches come, row by row; with one, that many, drawn at random by `seed`: a smaller budget draws
    the first of a larger one. `least` is the tissue share (0–1) a patch must have. Raises `NoTissue` where no
    place qualifies, `InputError` where the resolution is asked for and not known.
    """
    stride = stride or size
    if size < 1 or stride < 1 or (budget is not None and budget < 1):
        raise InputError(f"patches: size {size}, stride {stride} and budget {budget} must be at least 1")
    scale = slide.scale(mpp)
    width, height = (max(1, min(size, int(side / scale))) for side in slide.dimensions)
    mask = mask or tissue_mask(slide)
    corners = _corners(slide, width, height, stride, scale)
    corners = corners[mask.fractions(corners, width * scale, height * scale) >= least]
    if not len(corners):
        raise NoTissue(
            f"{slide.path}: no tissue found ({mask.fraction:.1%} of it looks stained, {mask.pen_fraction:.1%} like pen "
            "marks); is it the right slide, and not an empty or unstained one?"
        )
    if budget is not None:
        corners = corners[np.random.default_rng(seed).permutation(len(corners))]
    threads = workers or min(MOST_WORKERS, os.cpu_count() or 1)
    return Patches(slide, corners, (width, height), scale, budget=budget, least=least, workers=threads)


def _corners(slide: Slide, width: int, height: int, stride: int, scale: float) -> NDArray[np.int64]:
    """All places of the grid, row by row."""
    columns = starts(int(slide.dimensions[0] / scale), width, stride)
    rows = starts(int(slide.dimensions[1] / scale), height, stride)
    y, x = np.meshgrid(rows, columns, indexing="ij")
    return np.round(np.stack([x.ravel(), y.ravel()], axis=1) * scale).astype(np.int64)


def starts(length: int, size: int, stride: int) -> list[int]:
    """Where windows of `size` start so that they cover `length`: every `stride`, the last flush with the end.

    >>> starts(512, 224, 224)
    [0, 224, 288]
    >>> starts(200, 224, 224)
    [0]
    """
    if length <= size:
        return [0]
    regular = list(range(0, length - size + 1, stride))
    return regular if regular[-1] == length - size else [*regular, length - size]
