"""Synthetic pictures that look a little like stained tissue, drawn by rule for examples and tests.

They show no patient and no real tissue: discs for nuclei, rings for glands, in the colours of haematoxylin and
eosin. A model of real histology sees little in them, so numbers on them mean nothing; they exist so that every
command can be tried without data.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
Field = NDArray[np.float64]
Kind = Literal["glands", "sheets", "pearls", "blank"]

_HAEMATOXYLIN = np.array([0.65, 0.70, 0.29])
_EOSIN = np.array([0.22, 0.90, 0.38])
_LIGHT = 242.0


def draw_tissue(kind: Kind, size: int = 448, seed: int = 0) -> Pixels:
    """A square picture: `glands` (rings of nuclei about a lumen), `sheets` of nuclei, `pearls` (whorls) or `blank`.

    >>> draw_tissue("glands", 64).shape
    (64, 64, 3)
    """
    random = np.random.default_rng([seed, len(kind)])
    rows, columns = np.mgrid[0:size, 0:size].astype(float)
    haematoxylin = np.zeros((size, size))
    eosin = 0.04 * np.ones((size, size)) if kind == "blank" else 0.45 + 0.25 * _clouds(size, random)
    if kind == "glands":
        for y, x in _places(size, size // 5, random):
            _gland(haematoxylin, eosin, rows - y, columns - x, size / 11, random)
    elif kind == "sheets":
        for y, x in _places(size, size // 18, random):
            _nucleus(haematoxylin, rows - y, columns - x, size / 70, random)
    elif kind == "pearls":
        for y, x in _places(size, size // 18, random):
            _nucleus(haematoxylin, rows - y, columns - x, size / 90, random)
        for y, x in _places(size, size // 2, random):
            distance = np.hypot(rows - y, columns - x)
            inside = distance < size / 8
            eosin[inside] = 0.75 + 0.3 * np.cos(distance[inside] / size * 260)
            haematoxylin[inside] *= 0.1
    density = haematoxylin[..., None] * _HAEMATOXYLIN + np.maximum(eosin, 0.0)[..., None] * _EOSIN
    density += random.normal(0, 0.02, density.shape)
    pixels: Pixels = np.clip(_LIGHT * np.exp(-density), 0, 255).astype(np.uint8)
    return pixels


def _places(size: int, step: int, random: np.random.Generator) -> list[tuple[float, float]]:
    """Points of a shaken grid."""
    start = np.arange(step / 2, size, step)
    return [(y + random.normal(0, step / 8), x + random.normal(0, step / 8)) for y in start for x in start]


def _clouds(size: int, random: np.random.Generator) -> Field:
    """Smooth noise between 0 and 1: coarse random values, enlarged and blended."""
    total = np.zeros((size, size))
    for cells in (4, 12, 40):
        coarse = random.random((cells + 1, cells + 1))
        at = np.linspace(0, cells, size, endpoint=False)
        low = at.astype(int)
        share = at - low
        top = coarse[low][:, low] * (1 - share) + coarse[low][:, low + 1] * share
        bottom = coarse[low + 1][:, low] * (1 - share) + coarse[low + 1][:, low + 1] * share
        total += (top * (1 - share[:, None]) + bottom * share[:, None]) / 3
    return total


def _gland(haematoxylin: Field, eosin: Field, y: Field, x: Field, radius: float, random: np.random.Generator) -> None:
    distance = np.hypot(y, x * random.uniform(0.8, 1.25))
    eosin[distance < radius * 0.55] = 0.03
    for angle in np.arange(0, 2 * np.pi, 0.42):
        reach = radius * random.uniform(0.8, 1.0)
        _nucleus(haematoxylin, y - reach * np.sin(angle), x - reach * np.cos(angle), radius / 6, random)


def _nucleus(haematoxylin: Field, y: Field, x: Field, radius: float, random: np.random.Generator) -> None:
    near = np.hypot(y, x * random.uniform(0.8, 1.3)) < radius * random.uniform(0.7, 1.3)
    haematoxylin[near] = random.uniform(0.9, 1.5)
