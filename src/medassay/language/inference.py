"""Does one statement follow from another, contradict it, or neither?

Two readers, combined. A cross-encoder (role `nli`) reads the pair as text; the structured comparison
(`rules/`) reads both as reports and compares markers, numbers, stages, margins, nodes, sides,
assertions and the profiles of diagnoses. A multinomial logistic regression with few weights, fitted on
held-out answers of the cross-encoder, turns both into one probability (MODEL_CARD.md says what each adds).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medassay.errors import ModelError
from medassay.language.graph import read_reports
from medassay.language.lexicon import named_pattern
from medassay.language.rules import CONTRADICTS, ENTAILS, RuleVerdict, compare
from medassay.language.terms import word_coverage
from medassay.models import load
from medassay.models.activations import softmax
from medassay.models.base import Matrix, NliModel
from medassay.models.nli import LABELS, EmbeddedNli, Pair

FEATURES = (
    "log entailment", "log neutral", "log contradiction",
    "contradicts by structure", "contradicts by assertion", "contradicts by profile",
    "entails by structure", "entails by assertion", "entails by profile",
    "speaks of something else", "premise undecided", "words covered", "constant",
)  # fmt: skip
"""What the combination weighs: the cross-encoder's logarithms, the rules' weights (0–1), and three cues."""

_FAMILIES = ("structure", "assertion", "profile")


def load_nli(models: str = "embedded") -> NliModel:
    """The role `nli`, combined with the rules where it can be.

    Args:
        models: as for `medassay.models.load`.

    Returns:
        A model set's cross-encoder combined with the rules; a hub's classifier as it is, since nothing says
        how far to trust the rules beside it.
    """
    model = load("nli", models)
    return CombinedNli(model) if isinstance(model, EmbeddedNli) else model


class CombinedNli:
    """Cross-encoder and structured comparison as one model."""

    def __init__(self, model: EmbeddedNli) -> None:
        self.model = model
        self.name = model.name
        self.weights = _weights(model)

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """[pairs, 3] probabilities of entailment, neutral, contradiction of (premise, hypothesis) pairs."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        reports = dict(zip(texts, read_reports(texts)))
        combined: dict[Pair, tuple[float, float, float]] = {}
        for pair, chances in zip(pairs, self.model.probabilities(pairs)):
            if pair not in combined:
                verdicts = compare(reports[pair[0]], reports[pair[1]])
                combined[pair] = combine(chances, features(pair, verdicts), self.weights)
        return np.array([combined[pair] for pair in pairs], np.float32).reshape(len(pairs), len(LABELS))


def features(pair: Pair, verdicts: Sequence[RuleVerdict]) -> list[float]:
    """The rules' side of `FEATURES`: the greatest weight of each family of rules, and the cues of the texts."""
    strongest = []
    for label in (CONTRADICTS, ENTAILS):
        for family in _FAMILIES:
            weights = [v.weight for v in verdicts if v.label == label and _family(v.kind) == family]
            strongest.append(max(weights, default=0.0))
    aside, unsure = named_pattern("aside").search(pair[1]), named_pattern("unsure").search(pair[0])
    return [*strongest, float(aside is not None), float(unsure is not None), word_coverage(*pair)]


def _family(kind: str) -> str:
    return kind if kind in _FAMILIES else "structure"


def combine(chances: Matrix, rules: Sequence[float], weights: Matrix) -> tuple[float, float, float]:
    """Three probabilities from the cross-encoder's and the rules' features; `weights` is [3, features]."""
    logs = np.log(np.clip(np.asarray(chances, np.float64), 1e-6, 1.0))
    row = np.array([*logs, *rules, 1.0])
    entailment, neutral, contradiction = softmax((weights @ row)[None])[0]
    return float(entailment), float(neutral), float(contradiction)


def _weights(model: EmbeddedNli) -> Matrix:
    """The combination's weights as the manifest states them, checked."""
    stated = model.settings.get("combination", {})
    if tuple(stated.get("features", ())) != FEATURES:
        raise ModelError(
            f"{model.models.folder}: the role 'nli' was combined from other features; install the matching medassay"
        )
    return np.array(stated["weights"], np.float64)
