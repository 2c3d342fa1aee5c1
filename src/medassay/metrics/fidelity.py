"""`fidelity`: does a candidate say what its reference says, all of it and nothing else?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from medassay.language.ledger import Verdict
from medassay.metrics.facts import f1
from medassay.metrics.ledger_metric import LedgerMetric, Tallies
from medassay.scores import Score


@dataclass(frozen=True, slots=True)
class Weights:
    """The fitted numbers, from `fidelity.json`, which says where they come from.

    worst: weight of the worst statement against F1, 0 to 1. contradicted, not_stated: what a statement costs that is
    surely contradicted, or surely not stated.
    """

    version: str
    worst: float
    contradicted: float
    not_stated: float

    def cost(self, verdict: Verdict) -> float:
        """What a statement costs, 0 to 1."""
        _, not_stated, contradicted = verdict.check.probabilities
        return self.not_stated * not_stated + self.contradicted * contradicted


@lru_cache(maxsize=1)
def stored_weights() -> Weights:
    """The weights that come with the package."""
    stored = json.loads((files("medassay.metrics") / "fidelity.json").read_text(encoding="utf-8"))
    numbers = (float(stored[name]) for name in ("worst", "contradicted", "not_stated"))
    return Weights(str(stored["version"]), *numbers)


class Fidelity(LedgerMetric):
    """Says the same and nothing else, 0 to 1, higher is better.

    worst · (1 − cost of the worst statement on either side) + (1 − worst) · F1. A copy reads as the same, so that it
    comes to about 1; no strings are compared. A paraphrase stays high; one clinical error anywhere costs the same
    share at any length. Against the reference; without one, against the source. 0 where the candidate states nothing.
    """

    name = "fidelity"
    summary = "says the same and nothing else: paraphrases stay high, one clinical error anywhere pulls down"
    defined = "docs/metrics/fidelity.md; statements judged by the role checker"
    parts = ("precision", "recall", "worst")

    def settings(self) -> Mapping[str, object]:
        return {**super().settings(), "weights": stored_weights().version}

    def count(self, tallies: Tallies) -> Score:
        if not tallies.expected:
            return Score.none(f"no clinical statement found in the {tallies.against}")
        if not tallies.candidate:
            return Score(0.0, parts={"precision": 0.0, "recall": 0.0, "worst": 0.0})
        weights = stored_weights()
        candidate, reference = self.chosen(tallies.candidate), self.chosen(tallies.expected)
        precision, recall = candidate.rate(candidate.supported), reference.rate(reference.supported)
        worst = 1.0 - max(map(weights.cost, (*tallies.candidate.verdicts, *tallies.expected.verdicts)))
        value = weights.worst * worst + (1.0 - weights.worst) * f1(precision, recall)
        return Score(value, parts={"precision": precision, "recall": recall, "worst": worst})

    def quoted(self, tallies: Tallies) -> list[Verdict]:
        return [*tallies.candidate.wrong(), *tallies.expected.wrong()]
