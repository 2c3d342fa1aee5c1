"""Role `nli`: does one statement follow from another, contradict it, or neither?

Two readers, combined. A small cross-encoder reads the pair as text; the structured comparison
(`language/contradiction.py`) reads both as reports and compares markers, numbers, stages, margins, nodes,
sides, assertions and the profiles of diagnoses. A multinomial logistic regression with few weights, fitted on
held-out answers of the cross-encoder, turns both into one probability (MODEL_CARD.md says what each adds).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from medassay.errors import ModelError
from medassay.models.base import Matrix
from medassay.models.graphs import ModelSet
from medassay.models.pairs_model import open_pairs

if TYPE_CHECKING:
    from medassay.language.contradiction import Verdict
    from medassay.language.graph import Report

LABELS = ("entailment", "neutral", "contradiction")
"""The order of the three probabilities."""

FEATURES = (
    "log entailment", "log neutral", "log contradiction",
    "contradicts by structure", "contradicts by assertion", "contradicts by profile",
    "entails by structure", "entails by assertion", "entails by profile",
    "speaks of something else", "premise undecided", "words covered", "constant",
)  # fmt: skip
"""What the combination weighs: the cross-encoder's logarithms, the rules' weights (0–1), and three cues."""

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Inference:
    """The judgement of one pair: three probabilities in the order of `LABELS`, and the rule that spoke, if any."""

    probabilities: tuple[float, float, float]
    verdict: Verdict | None


class EmbeddedNli:
    """The embedded role: cross-encoder and structured comparison combined."""

    def __init__(self, models: ModelSet) -> None:
        self.models = models
        self.settings = models.role("nli")
        self.name = f"{models.name}/nli"
        self.weights = _weights(self.settings, str(models.folder))
        self.pairs = open_pairs(models, "nli")

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """[pairs, 3] probabilities of entailment, neutral, contradiction of (premise, hypothesis) pairs."""
        rows = [one.probabilities for one in self.judge(pairs)]
        return np.array(rows, np.float32).reshape(len(rows), 3)

    def judge(
        self, pairs: Sequence[Pair], readings: Mapping[str, Report] | None = None, *, strict: bool = False
    ) -> list[Inference]:
        """Each pair's probabilities and the rule that spoke.

        readings: texts that have been read already. strict: both statements are parts of one report.
        """
        from medassay.language.contradiction import compare, settle

        known = dict(readings or {})
        self._read([text for pair in pairs for text in pair if text not in known], known)
        neural = self.neural(pairs)
        made: dict[Pair, Inference] = {}
        for pair, chances in zip(pairs, neural):
            if pair in made:
                continue
            verdicts = compare(known[pair[0]], known[pair[1]], strict=strict)
            combined = combine(chances, features(pair, verdicts), self.weights)
            made[pair] = Inference(combined, settle(verdicts))
        return [made[pair] for pair in pairs]

    def _read(self, texts: Sequence[str], known: dict[str, Report]) -> None:
        from medassay.language.graph import read_reports

        distinct = list(dict.fromkeys(texts))
        known.update(zip(distinct, read_reports(distinct)))

    def neural(self, pairs: Sequence[Pair]) -> Matrix:
        """The cross-encoder alone: [pairs, 3]; each distinct pair is read once."""
        distinct = list(dict.fromkeys(pairs))
        logits = self.pairs.run(distinct, "nli") / float(self.settings.get("temperature", 1.0))
        chances = dict(zip(distinct, softmax(logits))) if distinct else {}
        return np.array([chances[pair] for pair in pairs], np.float32).reshape(len(pairs), len(LABELS))


def features(pair: Pair, verdicts: Sequence[Verdict]) -> list[float]:
    """The rules' side of `FEATURES`: the greatest weight of each family of rules, and the cues of the texts."""
    from medassay.language.contradiction import ASIDE, CONTRADICTS, ENTAILS, UNSURE, coverage

    found = []
    for label in (CONTRADICTS, ENTAILS):
        for family in ("structure", "assertion", "profile"):
            weights = [v.weight for v in verdicts if v.label == label and _family(v.kind) == family]
            found.append(max(weights, default=0.0))
    cues = [float(ASIDE.search(pair[1]) is not None), float(UNSURE.search(pair[0]) is not None)]
    return [*found, *cues, coverage(*pair)]


def _family(kind: str) -> str:
    return kind if kind in ("assertion", "profile") else "structure"


def combine(chances: Matrix, rules: Sequence[float], weights: Matrix) -> tuple[float, float, float]:
    """Three probabilities from the cross-encoder's and the rules' features; `weights` is [3, features]."""
    logs = np.log(np.clip(np.asarray(chances, np.float64), 1e-6, 1.0))
    row = np.array([*logs, *rules, 1.0])
    made = softmax((weights @ row)[None])[0]
    return float(made[0]), float(made[1]), float(made[2])


def _weights(settings: Mapping[str, Any], where: str) -> Matrix:
    """The combination's weights as the manifest states them, checked."""
    given = settings.get("combination", {})
    if tuple(given.get("features", ())) != FEATURES:
        raise ModelError(f"{where}: the role 'nli' was combined from other features; install the matching medassay")
    return np.array(given["weights"], np.float64)


def softmax(logits: Any) -> Matrix:
    """Probabilities over the last axis."""
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    chances: Matrix = shifted / shifted.sum(axis=-1, keepdims=True)
    return chances
