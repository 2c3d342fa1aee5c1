"""How the role `nli` weighs its two readers: a small regression on held-out answers of the cross-encoder.

The cross-encoder's probabilities must come from folds that did not see the pair; the rules have no weights of
their own. Multinomial logistic regression with an L2 penalty, by Newton's method; accuracy and recall are told
for the combination and for each reader alone, held out by premise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from medassay.language.contradiction import compare
from medassay.language.graph import read_reports
from medassay.language.inference import FEATURES, features
from medassay.models.activations import softmax
from medassay.models.nli import LABELS, Pair

if TYPE_CHECKING:
    from medassay.training.nli import NliPair

Floats = NDArray[np.float64]

PENALTY = 1.0
FOLDS = 5
FALSE_ALARMS = 0.1


def feature_rows(pairs: Sequence[Pair], chances: Floats) -> Floats:
    """[pairs, FEATURES]: what the combination weighs."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    read = dict(zip(texts, read_reports(texts)))
    rules = [features(pair, compare(read[pair[0]], read[pair[1]])) for pair in pairs]
    logs = np.log(np.clip(np.asarray(chances, np.float64), 1e-6, 1.0))
    return np.concatenate([logs, np.array(rules), np.ones((len(pairs), 1))], axis=1)


def fit_weights(rows: Floats, labels: NDArray[np.int64], penalty: float = PENALTY) -> Floats:
    """[3, features] weights of a multinomial logistic regression; the constant is not penalised."""
    size = rows.shape[1]
    classes = len(LABELS)
    target = np.eye(classes)[labels]
    weights = np.zeros((classes, size))
    ridge = np.full(size, 2 * penalty)
    ridge[-1] = 1e-6
    for _ in range(50):
        chances = np.asarray(softmax(rows @ weights.T), np.float64)
        gradient = ((chances - target).T @ rows + ridge * weights).ravel()
        hessian = np.zeros((classes * size, classes * size))
        for a in range(classes):
            for b in range(classes):
                share = chances[:, a] * ((a == b) - chances[:, b])
                block = rows.T @ (rows * share[:, None])
                hessian[a * size : (a + 1) * size, b * size : (b + 1) * size] = block + np.diag(ridge) * (a == b)
        step = np.linalg.solve(hessian + 1e-9 * np.eye(len(hessian)), gradient)
        weights -= step.reshape(classes, size)
        if float(np.abs(step).max()) < 1e-8:
            break
    return weights


def held_out(rows: Floats, labels: NDArray[np.int64], premises: Sequence[str], columns: Sequence[int]) -> Floats:
    """Probabilities of each pair from weights fitted on the other folds; a premise's pairs share a fold."""
    folds = np.array([int(hashlib.sha256(text.encode()).hexdigest(), 16) % FOLDS for text in premises])
    made = np.zeros((len(labels), len(LABELS)))
    for fold in range(FOLDS):
        weights = fit_weights(rows[folds != fold][:, columns], labels[folds != fold])
        made[folds == fold] = softmax(rows[folds == fold][:, columns] @ weights.T)
    return made


def figures(chances: Floats, labels: NDArray[np.int64]) -> dict[str, float]:
    """Accuracy, and the share of contradictions found at 10 % false alarms among the others."""
    scores = chances[:, 2]
    threshold = float(np.quantile(scores[labels != 2], 1 - FALSE_ALARMS))
    found = float(np.mean(scores[labels == 2] > threshold))
    return {"accuracy": float(np.mean(chances.argmax(1) == labels)), "contradiction_recall": found}


def combination(pairs: Sequence[NliPair], chances: Floats) -> dict[str, Any]:
    """The manifest's entry: features and weights; with the held-out figures of both readers and either alone."""
    labels = np.array([pair.label for pair in pairs])
    rows = feature_rows([(pair.premise, pair.hypothesis) for pair in pairs], chances)
    premises = [pair.premise for pair in pairs]
    last = len(FEATURES) - 1
    shares = {"both": range(len(FEATURES)), "cross-encoder": [0, 1, 2, last], "rules": range(3, last + 1)}
    return {
        "features": list(FEATURES),
        "weights": np.round(fit_weights(rows, labels), 4).tolist(),
        "figures": {
            name: figures(held_out(rows, labels, premises, list(columns)), labels) for name, columns in shares.items()
        },
    }
