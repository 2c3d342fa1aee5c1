"""Held-out figures of the recipes: correlations with ties, relation F1, cross-validation folds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Linear correlation, −1…1."""
    return float(np.corrcoef(np.asarray(x, float), np.asarray(y, float))[0, 1])


def ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Ranks from 1, ties given their mean rank."""
    array = np.asarray(values, float)
    _, inverse, counts = np.unique(array, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means: NDArray[np.float64] = last - (counts - 1) / 2
    return means[inverse]


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Rank correlation, −1…1."""
    return pearson(ranks(x), ranks(y))


def kendall(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's tau-b, −1…1: concordant less discordant pairs, corrected for ties."""
    a, b = np.asarray(x, float), np.asarray(y, float)
    upper = np.triu_indices(len(a), 1)
    da, db = np.sign(a[:, None] - a[None])[upper], np.sign(b[:, None] - b[None])[upper]
    return float((da * db).sum() / np.sqrt((da**2).sum() * (db**2).sum()))


def expert_figures(expert: ArrayLike, predicted: ArrayLike) -> dict[str, float]:
    """Agreement with an expert's scores as HARE reports it: on scores above 0, and Pearson on all."""
    e, p = np.asarray(expert, float), np.asarray(predicted, float)
    above = e > 0
    return {
        "pearson": pearson(e[above], p[above]),
        "spearman": spearman(e[above], p[above]),
        "kendall": kendall(e[above], p[above]),
        "pearson_all": pearson(e, p),
        "rmse_all": float(np.sqrt(np.mean((e - p) ** 2))),
    }


def set_f1(gold: Sequence[set[tuple[object, ...]]], found: Sequence[set[tuple[object, ...]]]) -> dict[str, float]:
    """Precision, recall and F1 (0–1, higher is better) over all sets together."""
    hit = sum(len(g & f) for g, f in zip(gold, found))
    made, there = sum(map(len, found)), sum(map(len, gold))
    return {"precision": hit / max(1, made), "recall": hit / max(1, there), "f1": 2 * hit / max(1, made + there)}
