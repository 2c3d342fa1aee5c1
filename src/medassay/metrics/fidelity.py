"""`fidelity`: does a candidate say what its reference says, all of it and nothing else?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from medassay.language.ledger import Texts, Verdict
from medassay.language.ledger_maker import CERTAIN
from medassay.metrics.base import f1
from medassay.metrics.ledger_metric import LedgerMetric, Tallies, Tally, ledger_maker
from medassay.scores import Score


@dataclass(frozen=True, slots=True)
class Weights:
    """The fitted numbers, from `fidelity.json`, which says where they come from.

    worst, whole: weights of the worst statement and of the worst passage; F1 has the rest of 1.
    """

    version: str
    worst: float
    whole: float

    def value(self, worst: float, whole: float, facts: float) -> float:
        """The weighted mean."""
        return self.worst * worst + self.whole * whole + (1.0 - self.worst - self.whole) * facts


@lru_cache(maxsize=1)
def stored_weights() -> Weights:
    """The weights that come with the package."""
    stored = json.loads((files("medassay.metrics") / "fidelity.json").read_text(encoding="utf-8"))
    numbers = (float(stored[name]) for name in ("worst", "whole"))
    return Weights(str(stored["version"]), *numbers)


class Fidelity(LedgerMetric):
    """Says the same and nothing else, 0 to 1, higher is better.

    A weighted mean of three readings: the worst statement on either side, the worst passage on either side, and F1.
    Clear support counts as 1, so that a copy, which reads as the same, comes to 1; no strings are compared. A
    paraphrase stays high; one clinical error anywhere costs the same share at any length. Against the reference;
    without one, against the source.
    0 where the candidate states nothing.
    """

    name = "fidelity"
    summary = "says the same and nothing else: paraphrases stay high, one clinical error anywhere pulls down"
    defined = "docs/metrics/fidelity.md; statements judged by the role checker"
    parts = ("precision", "recall", "worst", "whole")

    def settings(self) -> Mapping[str, object]:
        return {**super().settings(), "weights": stored_weights().version}

    def count(self, tallies: Tallies) -> Score:
        if not tallies.expected:
            return Score.none(f"no clinical statement found in the {tallies.against}")
        if not tallies.candidate:
            return Score(0.0, parts=dict.fromkeys(self.parts, 0.0))
        weights = stored_weights()
        precision, recall = self._rate(tallies.candidate), self._rate(tallies.expected)
        worst = min(map(support, (*tallies.candidate.verdicts, *tallies.expected.verdicts)))
        whole = min(map(support, tallies.passages))
        value = weights.value(worst, whole, f1(precision, recall))
        return Score(value, parts={"precision": precision, "recall": recall, "worst": worst, "whole": whole})

    def _rate(self, tally: Tally) -> float:
        if self.counts == "hard":
            counts = tally.hard()
            return counts.rate(counts.supported)
        return sum(map(support, tally.verdicts)) / len(tally.verdicts)

    def passages(self, texts: Sequence[Texts]) -> list[tuple[Verdict, ...]]:
        return ledger_maker(self.models).passages(texts)

    def quoted(self, tallies: Tallies) -> list[Verdict]:
        return [*tallies.candidate.wrong(), *tallies.expected.wrong()]


def support(verdict: Verdict) -> float:
    """The probability of support, where a clear one (from `CERTAIN` on) counts as 1: a copy reads no less clearly than
    a paraphrase, whatever the third decimal."""
    return min(1.0, verdict.check.probabilities[0] / CERTAIN)
