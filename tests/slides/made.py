"""Made tissue: small images whose stains, tissue and resolution are known."""

from __future__ import annotations

import numpy as np

from medassay.slides.image import Pixels

HAEMATOXYLIN = np.array([0.65, 0.70, 0.29]) / np.linalg.norm([0.65, 0.70, 0.29])
EOSIN = np.array([0.25, 0.90, 0.36]) / np.linalg.norm([0.25, 0.90, 0.36])


def tissue(height: int, width: int, seed: int = 0) -> Pixels:
    """Pixels that are mixtures of two known stains, with some of each nearly pure."""
    random = np.random.default_rng(seed)
    nuclei = random.random((height, width)) < 0.3
    haematoxylin = np.where(nuclei, random.uniform(0.9, 1.6, (height, width)), random.uniform(0, 0.05, (height, width)))
    eosin = np.where(nuclei, random.uniform(0, 0.05, (height, width)), random.uniform(0.6, 1.0, (height, width)))
    density = haematoxylin[..., None] * HAEMATOXYLIN + eosin[..., None] * EOSIN
    return np.clip(np.round(240 * np.exp(-density) - 1), 0, 255).astype(np.uint8)


def on_glass(height: int, width: int, box: tuple[int, int, int, int], seed: int = 0) -> Pixels:
    """Glass with one rectangle (x, y, width, height) of tissue."""
    pixels = np.full((height, width, 3), 244, np.uint8)
    x, y, wide, high = box
    pixels[y : y + high, x : x + wide] = tissue(high, wide, seed)
    return pixels
