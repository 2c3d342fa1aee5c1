"""Haematoxylin and eosin: Macenko's decomposition, normalisation, seeded perturbation.

Macenko et al., "A method for normalizing histology slides for quantitative analysis", ISBI 2009. A pixel's
optical density, −ln(intensity / 240), is a mixture of two stain colours. Those are found once a tile (or once
a slide, from several tiles); normalising and perturbing are then one 3 × 3 matrix on the densities.
PathGLS (Stability) has the subject model describe an image whose stain vectors were perturbed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from medassay.errors import InputError
from medassay.slides.image import Pixels
from medassay.slides.tissue import chroma_of

Matrix = NDArray[np.float64]

LIGHT = 240.0
"""Intensity of light that passed no tissue."""
STAINED = 0.15
"""Density that every channel of a stained pixel reaches (β of the paper)."""
EXTREME = 1.0
"""Percentile of the angles that stands for a pure stain (α of the paper)."""
LEAST_SHARE = 0.02
"""Share of stained pixels below which the stain colours of a tile cannot be estimated."""
LEAST_PIXELS = 400
OVEREXPOSED_CHROMA = 0.07
"""log10 of brightest over darkest channel that a stained pixel of an overexposed image has at least."""
LEAST_ANGLE, MOST_ANGLE = 3.0, 70.0
"""Degrees between the two stain colours: below the first there is one colour, above the second they are no stains."""
MOST_PIXELS = 1 << 18
"""Pixels that the colours are estimated on; of a larger image every n-th is taken."""

_DENSITY = -np.log((np.arange(256, dtype=np.float64) + 1.0) / LIGHT)
_DENSITY32 = _DENSITY.astype(np.float32)


class StainError(InputError):
    """The stains of this image cannot be told apart: too little tissue, or one colour only."""


@dataclass(frozen=True, slots=True)
class Stains:
    """Two stains of an image.

    `vectors`: 2 × 3, the density of pure haematoxylin (row 0) and eosin (row 1) in red, green and blue, unit
    length. `strengths`: the 99th percentile of each stain's concentration, 0 and up. `tissue`: the share of
    stained pixels, 0–1. `overexposed`: the published rule (every channel absorbs) found under 2 % of the pixels,
    so those that absorb green most, as both stains do, were used.
    """

    vectors: Matrix
    strengths: NDArray[np.float64]
    tissue: float
    overexposed: bool = False

    @property
    def unmixing(self) -> Matrix:
        """3 × 2: densities times this are the least-squares concentrations."""
        return cast(Matrix, np.linalg.pinv(self.vectors))


REFERENCE = Stains(
    vectors=np.array([[0.5626, 0.7201, 0.4062], [0.2159, 0.8012, 0.5581]]),
    strengths=np.array([1.9705, 1.0308]),
    tissue=1.0,
)
"""The target that Macenko's authors published; normalising brings an image to it."""


def decompose(pixels: Pixels, name: str = "image") -> Stains:
    """Find the two stains of an image, or of several tiles joined along an axis (H × W × 3, 8 bit).

    Raises `StainError` where under 2 % of the pixels are stained or all have one colour.
    """
    flat = pixels.reshape(-1, 3)
    # Channel by channel, and without BLAS, whose threads cost more than they give on three columns.
    channels = np.ascontiguousarray(flat[:: max(1, -(-len(flat) // MOST_PIXELS))].T)
    density = _DENSITY[channels]
    stained = density.compress(channels.max(axis=0) <= _DARK, axis=1)
    share = stained.shape[1] / max(1, channels.shape[1])
    overexposed = share < LEAST_SHARE
    if overexposed:
        # Pink tissue of a bright photograph saturates the red channel; the other two still hold its colours.
        chroma, darkest = chroma_of(channels.T)
        green = channels[1]
        stained = density.compress((green <= _DARK) & (green == darkest) & (chroma > OVEREXPOSED_CHROMA), axis=1)
        share = stained.shape[1] / max(1, channels.shape[1])
    if share < LEAST_SHARE or stained.shape[1] < LEAST_PIXELS:
        raise StainError(
            f"{name}: {share:.1%} of the pixels are stained, too few to tell the stains (needed: {LEAST_SHARE:.0%} "
            f"and {LEAST_PIXELS} pixels); choose a region with tissue"
        )
    vectors = _extremes(stained, name)
    if overexposed:
        # Light beyond the sensor's range reads as negative absorption, which no stain has.
        vectors = np.maximum(vectors, 0.0)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    concentrations = np.einsum("cs,cn->sn", np.linalg.pinv(vectors), density)
    return Stains(vectors, np.percentile(concentrations, 99, axis=1), share, overexposed)


_DARK = int(np.flatnonzero(_DENSITY >= STAINED)[-1])
"""The brightest value whose density is that of a stained pixel."""


def _extremes(stained: Matrix, name: str) -> Matrix:
    """The two pure colours (2 × 3) of densities (3 × n): the extreme angles in the plane of greatest variance."""
    centred = stained - stained.mean(axis=1, keepdims=True)
    _, axes = np.linalg.eigh(np.einsum("in,jn->ij", centred, centred))
    plane = axes[:, [2, 1]]
    # The sign of an eigenvector is arbitrary; the first axis must point where the densities are.
    if plane[:, 0].sum() < 0:
        plane[:, 0] *= -1
    along, across = np.einsum("ca,cn->an", plane, stained)
    angles = np.arctan2(across, along)
    low, high = np.percentile(angles, [EXTREME, 100 - EXTREME])
    apart = float(np.degrees(high - low))
    if not LEAST_ANGLE <= apart <= MOST_ANGLE:
        reason = "only one colour" if apart < LEAST_ANGLE else "colours unlike those of stains"
        raise StainError(
            f"{name}: {reason} ({apart:.1f}° apart, expected {LEAST_ANGLE:g} to {MOST_ANGLE:g}); "
            "is it a haematoxylin–eosin image with tissue?"
        )
    pair = np.array([[np.cos(low), np.sin(low)], [np.cos(high), np.sin(high)]]) @ plane.T
    # Haematoxylin absorbs more red than eosin does.
    return cast(Matrix, pair if pair[0, 0] > pair[1, 0] else pair[::-1].copy())


def normalise(pixels: Pixels, stains: Stains | None = None, target: Stains = REFERENCE) -> Pixels:
    """The image with the target's stain colours and strengths, as published (what is neither stain is lost)."""
    stains = stains or decompose(pixels)
    weakest = float(stains.strengths.min())
    if weakest <= 0:
        raise StainError("image: one of its stains has no strength; it cannot be brought to a target")
    matrix = stains.unmixing @ np.diag(target.strengths / stains.strengths) @ target.vectors
    return _apply(pixels, matrix)


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One seeded change of the stains, to be applied to any tile of the image it was drawn for.

    `stains` were found, `vectors` and `gains` take their place: the angle between old and new vectors is at most
    the drawn strength, gains multiply the concentrations.
    """

    stains: Stains
    vectors: Matrix
    gains: NDArray[np.float64]

    def apply(self, pixels: Pixels) -> Pixels:
        """The perturbed tile. What is neither stain (pigment, ink, background) is kept."""
        stains = self.stains
        matrix = np.eye(3) + stains.unmixing @ (self.gains[:, None] * self.vectors - stains.vectors)
        return _apply(pixels, matrix, keep_light=True)


def draw_perturbation(stains: Stains, seed: int, *, degrees: float = 8.0, gain: float = 0.25) -> Perturbation:
    """Turn each stain vector by `degrees` in a random direction and scale its concentrations by up to 1 ± `gain`.

    The turn has a fixed size, so that no seed gives a copy; channels never get a negative density. The defaults
    stay within what differs between laboratories (`docs/slides.md`). Same stains and seed, same perturbation.
    """
    if not 0 <= degrees <= 30 or not 0 <= gain < 1:
        raise InputError(f"stain perturbation: degrees {degrees:g} must be 0–30 and gain {gain:g} 0 up to 1")
    random = np.random.default_rng(seed)
    turned = np.stack([_turn(vector, random, np.radians(degrees)) for vector in stains.vectors])
    # Away from 1 as well: a factor near 1 would perturb nothing.
    gains = 1 + random.choice([-1.0, 1.0], 2) * random.uniform(gain / 2, gain, 2)
    return Perturbation(stains, turned, gains)


def _turn(vector: NDArray[np.float64], random: np.random.Generator, angle: float) -> NDArray[np.float64]:
    """The unit vector turned by `angle` towards a random direction across it."""
    across = random.normal(size=3)
    across -= (across @ vector) * vector
    across /= np.linalg.norm(across)
    turned = np.maximum(np.cos(angle) * vector + np.sin(angle) * across, 0.0)
    return cast(NDArray[np.float64], turned / np.linalg.norm(turned))


def _apply(pixels: Pixels, matrix: Matrix, *, keep_light: bool = False) -> Pixels:
    """Densities times a 3 × 3 matrix, back as 8-bit values.

    `keep_light` is for changes of an image in its own right: light brighter than `LIGHT` holds no stain and stays,
    and the + 1 of the density is undone with rounding, so that an unchanged density gives back the same value.
    """
    flat = pixels.reshape(-1, 3)
    changed = np.empty_like(flat)
    matrix32 = matrix.astype(np.float32)
    for start in range(0, len(flat), _BAND):
        density = _DENSITY32[np.ascontiguousarray(flat[start : start + _BAND].T)]
        stained = np.maximum(density, 0) if keep_light else density
        values = np.einsum("ck,cn->kn", matrix32, stained)
        if keep_light:
            values += np.minimum(density, 0)
        np.exp(np.negative(values, out=values), out=values)
        values *= np.float32(LIGHT)
        if keep_light:
            values -= np.float32(0.5)
        changed[start : start + _BAND] = np.clip(values, 0, 255, out=values).T
    return changed.reshape(pixels.shape)


_BAND = 1 << 16
"""Pixels changed at once: a large image needs no more memory than a small one, and stays in the cache."""
