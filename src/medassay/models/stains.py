"""A small description of an image's stain colours, which distinguishes H&E from other stains."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

SIDE = 96
"""Side of the image that the colours are read from, in pixels."""
BINS = 10
"""Bins along each axis of the plane of colours."""
SIZE = BINS * BINS + 5


def stain_colours(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Numbers [SIZE] that describe the colours of an image of SIDE × SIDE pixels.

    First the root of the share of stain in each cell of the hue–saturation–density plane (van der Laak 2000), where
    amount and colour of a stain are apart; then shares of empty, dark and black pixels, deviation and mean of density.
    """
    density = -np.log((pixels.reshape(-1, 3).astype(np.float32) + 1) / 256)
    amount = density.mean(1)
    stained = amount > 0.1
    weight = amount[stained]
    across = np.clip(density[stained, 0] / weight - 1, -0.999, 0.999)
    up = np.clip((density[stained, 1] - density[stained, 2]) / (np.sqrt(3) * weight), -0.999, 0.999)
    limits = ((-1, 1), (-1, 1))
    cells, _, _ = np.histogram2d(across, up, bins=BINS, range=limits, weights=np.minimum(weight, 1.5))
    shares = np.sqrt(cells.ravel() / max(float(cells.sum()), 1e-6))
    levels = [1 - stained.mean(), (amount > 1.5).mean(), (amount > 3).mean(), amount.std(), amount.mean()]
    return np.concatenate([shares, levels]).astype(np.float32)
