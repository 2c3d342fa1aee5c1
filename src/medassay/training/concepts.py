"""Organ and process of an image, as chances: a ridge map from the tower's features to both.

A caption is one point among thousands, an organ or a process one of a few dozen classes: what a report says of them can
be held against the image far more surely than its other words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from medassay.language.processes import GROUPS
from medassay.training.annotation import folds_by_group
from medassay.training.histology import Sample, group_of_process, words
from medassay.training.image import RIDGE, Floats, shares, standard, view_weights

SHARPNESS = 5.0
"""Factor to the map's answers before the softmax. Ranks do not depend on it, only how bold the chances are."""


@dataclass(frozen=True, slots=True, eq=False)
class Concepts:
    """The map: features · weight + bias are logarithms of chances, up to a constant, of organs, then of processes."""

    organs: tuple[str, ...]
    weight: Floats
    bias: Floats

    def chances(self, features: Floats) -> tuple[Floats, Floats]:
        """Chances of the organs [images, organs] and of the groups of processes [images, groups]."""
        answers = features @ self.weight + self.bias
        return softmax(answers[:, : len(self.organs)], axis=1), softmax(answers[:, len(self.organs) :], axis=1)

    def settings(self) -> dict[str, object]:
        """What a manifest says of them: the names of each organ, and the groups of processes."""
        names = {organ: [*words("organ")[organ], *words("name").get(organ, ())] for organ in self.organs}
        return {"organs": names, "processes": list(GROUPS)}


def fit_concepts(seen: Floats, samples: Sequence[Sample], ridge: float = RIDGE) -> Concepts:
    """The map of features [views, samples, features] to the organ and the process of each sample that has them."""
    organs = tuple(organ for organ in words("organ") if organ in {s.organ for s in samples} and words("organ")[organ])
    parts = [
        _fit_classes(seen, samples, [sample.organ for sample in samples], organs, ridge),
        _fit_classes(seen, samples, [group_of_process(sample.process) for sample in samples], GROUPS, ridge),
    ]
    weight, bias = (np.concatenate(values, axis=-1) for values in zip(*parts))
    return Concepts(organs, np.asarray(SHARPNESS * weight, np.float32), np.asarray(SHARPNESS * bias, np.float32))


def _fit_classes(
    seen: Floats, samples: Sequence[Sample], labels: Sequence[str], classes: Sequence[str], ridge: float
) -> tuple[Floats, Floats]:
    """Weight and bias of a ridge map to a column per class; a class counts by the square root of its samples' share."""
    known = np.array([label in classes for label in labels], bool)
    truth = np.array([[float(label == name) for name in classes] for label in labels])[known]
    share = shares(samples)[known].astype(np.float64)
    totals = truth.T @ share
    share *= (truth @ (1 / np.sqrt(np.maximum(totals, 1e-12)))) if len(share) else 1.0
    share /= share.sum()
    rows = seen[:, known]
    centre, scale = standard(rows[0], share.astype(np.float32))
    mean = share @ truth
    inner = np.zeros((seen.shape[2], seen.shape[2]))
    outer = np.zeros((seen.shape[2], len(classes)))
    for view, view_weight in zip(rows, view_weights(len(rows))):
        scaled = (view - centre) * scale
        weighted = (view_weight * share[:, None] * scaled).T
        inner += weighted @ scaled
        outer += weighted @ (truth - mean)
    inner[np.diag_indices_from(inner)] += ridge * np.trace(inner) / len(share)
    weight = np.linalg.solve(inner, outer) * scale[:, None]
    return np.asarray(weight), np.asarray(mean - centre @ weight)


def held_out_concepts(seen: Floats, samples: Sequence[Sample], seed: int = 0) -> dict[str, float]:
    """Share of images whose organ, and whose process, is the likeliest one: five folds, no group in two of them."""
    folds = np.array(folds_by_group([sample.group for sample in samples], 5, seed))
    right: dict[str, list[bool]] = {"organ": [], "process": []}
    for fold in range(5):
        learnt, tested = (np.flatnonzero(side).tolist() for side in (folds != fold, folds == fold))
        concepts = fit_concepts(seen[:, learnt], [samples[i] for i in learnt])
        organs, groups = (answers.argmax(1).tolist() for answers in concepts.chances(seen[0, tested]))
        for i, organ, group in zip(tested, organs, groups):
            if samples[i].organ in concepts.organs:
                right["organ"].append(concepts.organs[organ] == samples[i].organ)
            if group_of_process(samples[i].process):
                right["process"].append(GROUPS[group] == group_of_process(samples[i].process))
    return {f"{name}_accuracy": float(np.mean(values)) for name, values in right.items() if values}
