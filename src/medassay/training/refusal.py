"""Whether an image is an H&E section: a logistic model of the tower's features and of the colours of stains.

Learnt from H&E of many sources, images of other stains and cytology (`other/labels.csv`: image, source) and painted
strangers (`foreign_images.py`). Sources count by the square root of their size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medassay.models.activations import sigmoid

Floats = NDArray[np.float32]

PARTS = 256
"""Principal components of the features that are used."""
STRENGTH = 1e-3
"""Ridge of the logistic model."""
FOREIGN_SHARE = 0.3
"""Weight of all images that are not H&E; the rest is H&E's."""
PAINTED = 0.5
"""Weight of a painted image beside a real one."""
LEAST = 0.0
"""Log odds from which on an image is refused, chosen on sources of H&E that were held out (MODEL_CARD.md)."""


@dataclass(frozen=True, slots=True, eq=False)
class Refusal:
    """Log odds that an image is not H&E: features · deep + colours · stains + bias."""

    deep: Floats
    stains: Floats
    bias: float

    def odds(self, features: Floats, colours: Floats) -> Floats:
        """Log odds [images]; the higher the surer that an image is not H&E."""
        return np.asarray(features @ self.deep + colours @ self.stains + self.bias, np.float32)


def fit_refusal(features: Floats, colours: Floats, sources: Sequence[str], foreign: Sequence[bool]) -> Refusal:
    """The model for images [images, features], [images, colours]; sources that start with `~` are painted."""
    counts = Counter(sources)
    size = np.array([counts[s] ** -0.5 * (PAINTED if s.startswith("~") else 1) for s in sources])
    truth = np.array(foreign, bool)
    weight = np.where(truth, size * FOREIGN_SHARE / size[truth].sum(), size * (1 - FOREIGN_SHARE) / size[~truth].sum())
    plain = np.array([counts[s] ** -0.5 for s in sources])
    plain /= plain.sum()
    centre = plain @ features
    scale = 1 / (np.sqrt(plain @ (features - centre) ** 2) + 1e-3)
    rows = (features - centre) * scale
    values, axes = np.linalg.eigh((rows * plain[:, None]).T @ rows)
    parts = axes[:, ::-1][:, :PARTS] / np.sqrt(np.maximum(values[::-1][:PARTS], 1e-9))
    middle, spread = colours.mean(0), colours.std(0) + 0.02
    inputs = np.hstack([rows @ parts, (colours - middle) / spread])
    slopes, shift = _logistic(inputs, truth, weight)
    deep = scale * (parts @ slopes[: parts.shape[1]])
    stains = slopes[parts.shape[1] :] / spread
    bias = shift - float(centre @ deep) - float(middle @ stains)
    return Refusal(np.asarray(deep, np.float32), np.asarray(stains, np.float32), bias)


def refusal_settings(refusal: Refusal) -> dict[str, object]:
    """The refusal's settings for a manifest; the weights of the features are in the graph."""
    return {"least": LEAST, "stains": [round(float(number), 5) for number in refusal.stains]}


def held_out(
    features: Floats, colours: Floats, sources: Sequence[str], foreign: Sequence[bool], folds: int = 8, seed: int = 0
) -> Floats:
    """Log odds of every image by a model that saw no image of its source (H&E) or none of its fold (all else)."""
    counts = Counter(source for source, other in zip(sources, foreign) if not other)
    part = {source: i % folds for i, (source, _) in enumerate(counts.most_common())}
    drawn = np.random.default_rng(seed).integers(0, folds, len(sources)).tolist()
    fold = np.array([k if other else part[source] for source, other, k in zip(sources, foreign, drawn)])
    odds = np.zeros(len(sources), np.float32)
    for k in range(folds):
        learnt = np.flatnonzero(fold != k).tolist()
        chosen = [sources[i] for i in learnt], [foreign[i] for i in learnt]
        model = fit_refusal(features[learnt], colours[learnt], *chosen)
        odds[fold == k] = model.odds(features[fold == k], colours[fold == k])
    return odds


def _logistic(rows: NDArray[np.floating], truth: NDArray[np.bool_], weight: Floats) -> tuple[Floats, float]:
    """Slopes and intercept of the ridge logistic model, by Newton's method."""
    inputs = np.hstack([rows, np.ones((len(rows), 1))]).astype(np.float64)
    ridge = np.full(inputs.shape[1], 2 * STRENGTH)
    ridge[-1] = 1e-9
    slopes = np.zeros(inputs.shape[1])
    for _ in range(30):
        chance = sigmoid(inputs @ slopes)
        slope = inputs.T @ (weight * (chance - truth)) + ridge * slopes
        curve = (inputs * (weight * chance * (1 - chance))[:, None]).T @ inputs + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        slopes -= step
        if np.abs(step).max() < 1e-6:
            break
    return np.asarray(slopes[:-1], np.float32), float(slopes[-1])
