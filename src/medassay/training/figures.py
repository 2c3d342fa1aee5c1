"""Held-out figures of the recipes: agreement with an expert, F1 over sets."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from medassay.study.correlation import kendall, pearson, spearman


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


def set_f1(gold: Sequence[Set[Any]], found: Sequence[Set[Any]]) -> dict[str, float]:
    """Precision, recall and F1 (0–1, higher is better) over all sets together."""
    hit = sum(len(g & f) for g, f in zip(gold, found))
    made, there = sum(map(len, found)), sum(map(len, gold))
    return {"precision": hit / max(1, made), "recall": hit / max(1, there), "f1": 2 * hit / max(1, made + there)}
