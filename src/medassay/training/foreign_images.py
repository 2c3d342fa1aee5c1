"""Images that are not H&E, for training the refusal: other stains, fluorescence, radiographs, photographs, pages.

Other stains are painted from real H&E sections: their two stains are separated with fixed vectors (Ruifrok and
Johnston 2001) and recombined in the colours of another method, so that tissue and texture stay those of sections. The
other kinds are drawn from noise with the spectrum of natural images. All of it is seeded.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from medassay.models.image import Pixels

Plane = NDArray[np.float32]

HAEMATOXYLIN, EOSIN = (0.65, 0.70, 0.29), (0.07, 0.99, 0.11)
DAB, MAGENTA, ANILINE, GREEN, BIEBRICH, SILVER = (
    (0.27, 0.57, 0.78),
    (0.17, 0.95, 0.25),
    (0.85, 0.50, 0.12),
    (0.88, 0.22, 0.42),
    (0.25, 0.85, 0.46),
    (0.52, 0.58, 0.63),
)
"""Optical density of each stain in red, green and blue."""


def make_foreign_image(kind: str, section: Pixels, random: np.random.Generator) -> Pixels:
    """An image of `kind` (a key of `KINDS`), painted from an H&E section or drawn from noise of its size."""
    return KINDS[kind](section, random)


def separate_stains(section: Pixels) -> tuple[Plane, Plane]:
    """Amounts of haematoxylin and of eosin in each pixel, 0 and up."""
    density = -np.log((section.astype(np.float32) + 1) / 256)
    vectors = np.array([HAEMATOXYLIN, EOSIN], np.float32)
    amounts = np.maximum(density @ np.linalg.pinv(vectors), 0)
    return amounts[..., 0], amounts[..., 1]


def _paint(*layers: tuple[Plane, tuple[float, float, float]]) -> Pixels:
    """Light through stain layers (amount, colour) on white."""
    density = sum(amount[..., None] * np.array(colour, np.float32) for amount, colour in layers)
    return np.asarray(np.clip(np.exp(-np.asarray(density)) * 256 - 1, 0, 255), np.uint8)


def _immunostain(section: Pixels, random: np.random.Generator) -> Pixels:
    nuclei, rest = separate_stains(section)
    target = nuclei if random.random() < 0.5 else rest
    brown = np.maximum(target - np.quantile(target, random.uniform(0.3, 0.9)), 0) * random.uniform(1, 3)
    return _paint((nuclei * random.uniform(0.3, 0.8), HAEMATOXYLIN), (brown.astype(np.float32), DAB))


def _trichrome(section: Pixels, random: np.random.Generator) -> Pixels:
    nuclei, rest = separate_stains(section)
    level = np.quantile(nuclei, random.uniform(0.5, 0.8))
    fibres = (rest + np.minimum(nuclei, level)) * random.uniform(0.5, 1.2)
    dark = np.maximum(nuclei - level, 0) * random.uniform(0.8, 1.6)
    return _paint((fibres, ANILINE if random.random() < 0.5 else GREEN), (dark.astype(np.float32), BIEBRICH))


def _periodic_acid(section: Pixels, random: np.random.Generator) -> Pixels:
    nuclei, rest = separate_stains(section)
    stained = np.maximum(rest - np.quantile(rest, 0.4), 0) * random.uniform(1.2, 2.2)
    return _paint((nuclei * random.uniform(0.3, 0.7), (0.8, 0.55, 0.2)), (stained.astype(np.float32), MAGENTA))


def _silver(section: Pixels, random: np.random.Generator) -> Pixels:
    nuclei, rest = separate_stains(section)
    grey = np.maximum(nuclei + rest - random.uniform(0.1, 0.5), 0) * random.uniform(0.8, 2)
    ground = np.full_like(grey, random.uniform(0.05, 0.35))
    tint = (0.1, 0.35, 0.9) if random.random() < 0.5 else (0.8, 0.2, 0.55)
    return _paint((grey.astype(np.float32), SILVER), (ground, tint))


def _fluorescence(section: Pixels, random: np.random.Generator) -> Pixels:
    nuclei, rest = separate_stains(section)
    bright = [np.clip(plane * random.uniform(60, 200), 0, 255) for plane in (nuclei, rest)]
    light = np.zeros(section.shape, np.float32)
    light[..., 2] = bright[0]
    light[..., int(random.integers(2))] = bright[1] * (random.random() < 0.8)
    return np.asarray(np.clip(light + random.normal(0, 4, light.shape), 0, 255), np.uint8)


def _radiograph(section: Pixels, random: np.random.Generator) -> Pixels:
    field = clouds(section.shape[:2], random.uniform(1.5, 2.5), random)
    rows, columns = np.mgrid[-1 : 1 : field.shape[0] * 1j, -1 : 1 : field.shape[1] * 1j]
    body = np.exp(-((rows / random.uniform(0.5, 1)) ** 4) - (columns / random.uniform(0.4, 0.9)) ** 4)
    bars = np.sin(rows * random.uniform(8, 25) + columns**2 * random.uniform(-3, 3)) * random.uniform(0, 0.25)
    grey = np.clip((0.3 * field + body * (0.8 + bars)) * random.uniform(120, 230), 0, 255)
    tint = np.array([1, 1, 1]) if random.random() < 0.7 else random.uniform(0.85, 1, 3)
    return np.asarray(grey[..., None] * tint, np.uint8)


def _photograph(section: Pixels, random: np.random.Generator) -> Pixels:
    size = section.shape[:2]
    planes = np.stack([clouds(size, random.uniform(1, 1.8), random) for _ in range(3)], -1)
    mixed = 0.7 * planes[..., :1] + 0.3 * planes
    canvas = random.uniform(40, 220, 3) + mixed * random.uniform(20, 70)
    rows, columns = np.mgrid[0 : 1 : size[0] * 1j, 0 : 1 : size[1] * 1j]
    for _ in range(int(random.integers(1, 9))):
        centre, extent = random.uniform(0, 1, 2), random.uniform(0.05, 0.5, 2)
        inside = ((rows - centre[0]) / extent[0]) ** 2 + ((columns - centre[1]) / extent[1]) ** 2 < 1
        shade = 1 - 0.4 * (rows - centre[0])[inside][:, None]
        canvas[inside] = random.uniform(20, 250, 3) * shade + mixed[inside] * random.uniform(5, 50)
    return np.asarray(np.clip(canvas, 0, 255), np.uint8)


def _page(section: Pixels, random: np.random.Generator) -> Pixels:
    height, width = section.shape[:2]
    page = np.full((height, width, 3), random.uniform(225, 255), np.float32)
    ink = random.uniform(0, 120, 3)
    step = int(random.integers(7, 16))
    for top in range(step, height - step, step):
        for left in range(8, int(width * random.uniform(0.5, 1)) - 8, 4):
            if random.random() < 0.8:
                page[top : top + int(random.integers(2, step // 2 + 2)), left : left + int(random.integers(1, 4))] = ink
    for _ in range(int(random.integers(0, 4))):
        top, left = random.integers(0, height // 2), random.integers(0, width // 2)
        page[top : top + height // 4, left : left + int(random.integers(8, 40))] = random.uniform(0, 255, 3)
    return np.asarray(page, np.uint8)


def clouds(size: tuple[int, int], power: float, random: np.random.Generator) -> Plane:
    """Noise whose amplitude falls with frequency to `power`: mean 0, deviation 1."""
    rows, columns = np.fft.fftfreq(size[0])[:, None], np.fft.rfftfreq(size[1])[None]
    amplitude = 1 / np.maximum(np.hypot(rows, columns), 1 / max(size)) ** power
    phase = random.uniform(0, 2 * np.pi, amplitude.shape)
    field = np.fft.irfft2(amplitude * np.exp(1j * phase), s=size)
    return np.asarray((field - field.mean()) / (field.std() + 1e-9), np.float32)


KINDS: dict[str, Callable[[Pixels, np.random.Generator], Pixels]] = {
    "immunostain": _immunostain,
    "trichrome": _trichrome,
    "periodic acid-Schiff": _periodic_acid,
    "silver": _silver,
    "fluorescence": _fluorescence,
    "radiograph": _radiograph,
    "photograph": _photograph,
    "page": _page,
}
