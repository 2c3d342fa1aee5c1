"""From a network's raw outputs to probabilities and unit vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from medassay.models.base import Matrix


def softmax(logits: Any) -> Matrix:
    """Probabilities over the last axis."""
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    chances: Matrix = shifted / shifted.sum(axis=-1, keepdims=True)
    return chances


def sigmoid(logits: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The probability behind each log-odds.

    >>> sigmoid([0.0]).tolist()
    [0.5]
    """
    chances: npt.NDArray[np.float64] = 1.0 / (1.0 + np.exp(-np.asarray(logits, np.float64)))
    return chances


def unit_rows(vectors: Any) -> Any:
    """Rows scaled to length 1; a row of zeros stays zero."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
