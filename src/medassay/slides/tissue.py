"""Where the tissue is: a mask of a thumbnail, and the same judgement of a single tile.

Stained tissue absorbs its colours unequally; glass, dust, shadow and black ink absorb all alike. So the
measure is the *chroma* of the optical density, log10(brightest channel / darkest channel) of a pixel: 0 for
any grey, about 0.07 for pale eosin, 0.1–0.4 for most haematoxylin–eosin. Otsu's threshold parts it from the
background where there is one. Coloured ink has hues or saturations that stains have not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from medassay.slides.image import Pixels, Slide

Mask = NDArray[np.bool_]

LEAST_CHROMA, MOST_CHROMA = 0.035, 0.11
"""Bounds of the threshold: JPEG noise on glass stays below, pale stroma above."""
GLASS = 190
"""Every channel of clear glass is at least this bright."""
LEAST_BACKGROUND = 0.02
"""Share of glass from which on an image has a background to part from."""
BLANK, PEN = 0.05, 0.25
"""A tile with less tissue than the first is blank; with more ink than the second it is a pen tile."""

_LOG = np.log10(np.arange(256, dtype=np.float32) + 1)

Tile = Literal["tissue", "blank", "pen"]


@dataclass(frozen=True, slots=True)
class TissueMask:
    """Tissue and ink on a thumbnail; `scale` is how many full-resolution pixels one of its pixels spans."""

    tissue: Mask
    pen: Mask
    scale: float

    @property
    def fraction(self) -> float:
        """Share of the image that is tissue, 0–1."""
        return float(self.tissue.mean())

    @property
    def pen_fraction(self) -> float:
        """Share of the image that is ink, 0–1."""
        return float(self.pen.mean())

    def fractions(self, corners: NDArray[np.int64], width: float, height: float) -> NDArray[np.float64]:
        """Tissue share (0–1) of each box of full-resolution size at the given corners (n × 2: x, y)."""
        total = np.zeros((self.tissue.shape[0] + 1, self.tissue.shape[1] + 1), np.int64)
        total[1:, 1:] = self.tissue.cumsum(0).cumsum(1)
        limit = np.array([self.tissue.shape[1], self.tissue.shape[0]])
        start = np.clip(np.floor(corners / self.scale).astype(np.int64), 0, limit - 1)
        end = np.clip(np.ceil((corners + np.array([width, height])) / self.scale).astype(np.int64), start + 1, limit)
        (x0, y0), (x1, y1) = start.T, end.T
        inside = total[y1, x1] - total[y0, x1] - total[y1, x0] + total[y0, x0]
        return np.asarray(inside / ((x1 - x0) * (y1 - y0)), np.float64)


def tissue_mask(slide: Slide, longest: int = 2048) -> TissueMask:
    """The mask of a whole image, from a thumbnail whose longer side is at most `longest` pixels."""
    pixels, scale = slide.thumbnail(longest)
    tissue, pen = find_tissue(pixels)
    return TissueMask(tissue, pen, scale)


def find_tissue(pixels: Pixels) -> tuple[Mask, Mask]:
    """Tissue and ink of an image, both height × width; specks are smoothed away."""
    chroma, light = chroma_of(pixels)
    pen = _smooth(ink(pixels))
    glass = (chroma < LEAST_CHROMA) & (light >= GLASS)
    threshold = LEAST_CHROMA
    if glass.mean() >= LEAST_BACKGROUND:
        threshold = float(np.clip(otsu(chroma[~pen]), LEAST_CHROMA, MOST_CHROMA)) if not pen.all() else MOST_CHROMA
    return _smooth(chroma > threshold) & ~pen, pen


def tissue_fraction(pixels: Pixels) -> float:
    """Share of an image that is tissue, 0–1."""
    return float(find_tissue(pixels)[0].mean())


def judge_tile(pixels: Pixels, least: float = BLANK) -> Tile:
    """Whether a tile shows tissue, is blank (under `least` tissue) or is mostly ink.

    Every second pixel is looked at, and the threshold is fixed: a tile may well have no background.
    """
    some = pixels[::2, ::2]
    pen = ink(some)
    if pen.mean() > PEN:
        return "pen"
    tissue = (chroma_of(some)[0] > LEAST_CHROMA) & ~pen
    return "tissue" if tissue.mean() >= least else "blank"


def chroma_of(pixels: Pixels) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Chroma of the optical density (0 and up) and the darkest channel of every pixel."""
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    darkest = np.minimum(np.minimum(red, green), blue)
    brightest = np.maximum(np.maximum(red, green), blue)
    return _LOG[brightest] - _LOG[darkest], darkest


def ink(pixels: Pixels) -> Mask:
    """Pixels of felt pens: green, blue, red or black.

    No common stain leaves green the brightest channel, is as blue with as little red, or is as purely red.
    Black is dark without any colour, which nuclei are not.
    """
    red, green, blue = (pixels[..., i].astype(np.int16) for i in range(3))
    # A microscope's green or blue cast tints everything, but not as deeply as ink.
    is_green = (red < 0.7 * green) & (green > blue - 25)
    is_blue = (red < 0.36 * blue) & (green > red + 15) & (blue > 80)
    is_red = (red > 140) & (green < 0.42 * red) & (abs(green - blue) < 0.14 * red)
    brightest, darkest = np.maximum(np.maximum(red, green), blue), np.minimum(np.minimum(red, green), blue)
    is_black = (brightest < 75) & (brightest - darkest < 18)
    return is_green | is_blue | is_red | is_black


def otsu(values: NDArray[np.float32], bins: int = 256) -> float:
    """Otsu's threshold: the value that parts the histogram into the two tightest groups.

    >>> 0.2 < otsu(np.array([0.1] * 50 + [0.12] * 50 + [0.5] * 30, np.float32)) < 0.5
    True
    """
    counts, edges = np.histogram(values, bins=bins)
    centres = (edges[:-1] + edges[1:]) / 2
    below = counts.cumsum()
    above = below[-1] - below
    sums = (counts * centres).cumsum()
    with np.errstate(divide="ignore", invalid="ignore"):
        between = below * above * (sums / below - (sums[-1] - sums) / above) ** 2
    between = np.nan_to_num(between)
    # A gap between two groups is flat at the top: its middle, not its first bin.
    return float(edges[1:][between >= between.max() * (1 - 1e-9)].mean())


def _smooth(mask: Mask, radius: int = 2) -> Mask:
    """Majority of the square around each pixel (the border repeats itself)."""
    if min(mask.shape) < 2 * radius + 1:
        return mask
    size = 2 * radius + 1
    total = np.pad(mask, radius + 1, mode="edge").astype(np.int32)
    total[0], total[:, 0] = 0, 0
    total = total.cumsum(0).cumsum(1)
    votes = total[size:, size:] - total[:-size, size:] - total[size:, :-size] + total[:-size, :-size]
    return votes[: mask.shape[0], : mask.shape[1]] * 2 > size * size
