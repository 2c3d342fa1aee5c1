"""Whether an image looks like stained tissue under a microscope: a warning for users, not a score.

Nearly all histology, and few photographs, scans of paper, radiographs and charts, have three properties: colour;
mostly colours of stains (pink, purple, blue, brown) rather than of grass, skin or sky; and fine texture all over.
Measured on real images in `docs/slides.md`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from medassay.slides.image import Pixels, Slide
from medassay.slides.tissue import LEAST_CHROMA, chroma_of

LOOKED_AT = 384
"""Longer side of the thumbnail that is checked, in pixels."""
LEAST_COLOUR = 0.02
"""Share of coloured pixels below which the image is grey or empty."""
LEAST_STAIN = 0.55
"""Least share of stain hues, weighted by colour."""
LEAST_TEXTURE = 0.02
"""Least texture: the ninth decile of the density steps between neighbouring pixels."""


def looks_like_histology(image: Slide | Pixels) -> bool:
    """Whether the image could be a stained section; `why_not_histology` gives the reason against."""
    return why_not_histology(image) is None


def why_not_histology(image: Slide | Pixels) -> str | None:
    """Why the image is probably not a stained section, or None. A warning for users, never a score."""
    pixels = image.thumbnail(LOOKED_AT)[0] if isinstance(image, Slide) else _smaller(image)
    chroma = chroma_of(pixels)[0]
    coloured = chroma > LEAST_CHROMA
    if coloured.mean() < LEAST_COLOUR:
        return "it has hardly any colour (empty, grey, a radiograph or a page of text?)"
    # Weighed by colour: a tinted background is large but pale.
    stain = float(chroma[coloured & stain_hues(pixels)].sum() / chroma[coloured].sum())
    if stain < LEAST_STAIN:
        return f"only {stain:.0%} of its colour is that of stains (a photograph or a chart?)"
    if texture(pixels, coloured) < LEAST_TEXTURE:
        return "it is too smooth (a drawing, a gross photograph or far out of focus?)"
    return None


def stain_hues(pixels: Pixels) -> NDArray[np.bool_]:
    """Pixels with a hue that common stains have: pink through purple to blue (green lowest), or brown (DAB)."""
    red, green, blue = (pixels[..., i].astype(np.int16) for i in range(3))
    purple = (green <= red) & (green <= blue + 6)
    blueish = (blue >= green) & (green <= red + 25) & (blue > red)
    brown = (red < 190) & (green < 0.8 * red) & (green > 0.45 * red) & (blue < 0.8 * green) & (blue > 0.35 * green)
    return purple | blueish | brown


def texture(pixels: Pixels, where: NDArray[np.bool_]) -> float:
    """Ninth decile of the steps in optical density (base 10) between neighbours where the mask holds; 0 and up."""
    density = -np.log10((pixels[..., 1].astype(np.float32) + 1) / 256)
    steps = np.maximum(abs(np.diff(density, axis=1))[:-1], abs(np.diff(density, axis=0))[:, :-1])
    inside = where[:-1, :-1]
    return float(np.quantile(steps[inside], 0.9)) if inside.any() else 0.0


def _smaller(pixels: Pixels) -> Pixels:
    step = max(1, max(pixels.shape[:2]) // LOOKED_AT)
    return pixels[::step, ::step]
