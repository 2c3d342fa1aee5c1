"""The distance of an image from the sources that a model was trained on, and what the model's answers are worth there.

It is the Mahalanobis distance to the nearest source, in the first principal components of the tower's features, with
the covariance within sources. Accuracy as a function of distance, never rising, is fitted on sources that are left out
in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

PARTS = 32
"""Principal components of the features that are used."""
LEAST_IMAGES = 10
"""Images of a source that counts as known; smaller ones are no measure of a laboratory."""


@dataclass(frozen=True, slots=True, eq=False)
class Familiarity:
    """Known sources in a space of few dimensions: features @ parts − shift are coordinates, as are `centres`."""

    parts: Floats
    shift: Floats
    centres: Floats
    unit: float

    def distances(self, features: Floats) -> Floats:
        """Distance of each image from the nearest known source; 1 is the median of images of known sources."""
        rows = features @ self.parts - self.shift
        squared = ((rows[:, None] - self.centres[None]) ** 2).sum(2).min(1)
        return np.asarray(np.sqrt(squared) / self.unit, np.float32)


def fit_familiarity(features: Floats, sources: Sequence[str]) -> Familiarity:
    """Sources of `LEAST_IMAGES` images and more are known; each counts the same, whatever its size."""
    names, number, counts = np.unique(np.array(sources), return_inverse=True, return_counts=True)
    known = [i for i in range(len(names)) if counts[i] >= LEAST_IMAGES] or list(range(len(names)))
    inside = np.isin(number, known)
    rows, number = features[inside].astype(np.float64), number[inside]
    weight = 1 / counts[number]
    weight /= weight.sum()
    centre = weight @ rows
    scale = 1 / (np.sqrt(weight @ (rows - centre) ** 2) + 1e-3)
    rows = (rows - centre) * scale
    _, axes = np.linalg.eigh((rows * weight[:, None]).T @ rows)
    parts = axes[:, ::-1][:, : min(PARTS, len(rows) - 1)]
    coordinates = rows @ parts
    centres = np.stack([coordinates[number == i].mean(0) for i in known])
    centred = coordinates - centres[np.searchsorted(known, number)]
    values, turned = np.linalg.eigh((centred * weight[:, None]).T @ centred)
    whiten = turned / np.sqrt(values + 0.05 * values.mean())
    parts = scale[:, None] * (parts @ whiten)
    familiarity = Familiarity(_floats(parts), _floats(centre @ parts), _floats(centres @ whiten), 1.0)
    return replace(familiarity, unit=float(np.median(familiarity.distances(features[inside]))))


def falling_curve(distances: Floats, right: Sequence[float], knots: int = 8) -> list[tuple[float, float]]:
    """(distance, share of right answers): isotonic regression that never rises, thinned to at most `knots` points.

    >>> falling_curve(np.array([1, 2, 3, 4], np.float32), [1, 0.5, 0.75, 0], knots=4)
    [(1.0, 1.0), (2.5, 0.625), (4.0, 0.0)]
    """
    order = np.argsort(distances, kind="stable")
    blocks: list[list[float]] = []  # sum of distances, sum of right answers, count
    for x, y in zip(distances[order].tolist(), np.asarray(right, np.float64)[order].tolist()):
        blocks.append([x, y, 1])
        while len(blocks) > 1 and blocks[-1][1] * blocks[-2][2] >= blocks[-2][1] * blocks[-1][2]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last)]
    curve = [(total / n, good / n) for total, good, n in blocks]
    if len(curve) <= knots:
        return curve
    return [curve[i] for i in np.unique(np.linspace(0, len(curve) - 1, knots).round().astype(int))]


def _floats(values: NDArray[np.float64]) -> Floats:
    return np.asarray(values, np.float32)
