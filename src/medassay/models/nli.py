"""Role `nli` of the embedded set: a small cross-encoder that reads premise and hypothesis together.

This is the neural reader alone. `medassay.language.inference.load_nli` combines it with the structured
comparison of both statements, which is what the metrics use.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medassay.models.activations import softmax
from medassay.models.base import Matrix
from medassay.models.graphs import ModelSet
from medassay.models.pairs_model import open_pairs

LABELS = ("entailment", "neutral", "contradiction")
"""The order of the three probabilities."""

Pair = tuple[str, str]


class EmbeddedNli:
    """The `nli` head of the embedded pair model.

    settings: the manifest's entry of the role, with the weights that `language.inference` combines by.
    """

    def __init__(self, models: ModelSet) -> None:
        self.models = models
        self.settings = models.role("nli")
        self.name = f"{models.name}/nli"
        self.pairs = open_pairs(models, "nli")

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """[pairs, 3] probabilities of entailment, neutral, contradiction of (premise, hypothesis) pairs.

        Each distinct pair is read once; the tails of a pair longer than the model's room are not read.
        """
        distinct = list(dict.fromkeys(pairs))
        logits = self.pairs.run(distinct, "nli") / float(self.settings.get("temperature", 1.0))
        chances = dict(zip(distinct, softmax(logits))) if distinct else {}
        return np.array([chances[pair] for pair in pairs], np.float32).reshape(len(pairs), len(LABELS))
