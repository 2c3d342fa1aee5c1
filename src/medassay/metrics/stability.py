"""Stability: does the subject model write the same report when only what should not matter has changed?

PathGLS, section 3.4: S_s = 1 − ½(|Δ(R, R_stain)| + |Δ(R, R_attack)|). R is the report under judgement
(`candidate`), R_stain the one that the same subject wrote about the image with perturbed stains
(`candidate_stain`), R_attack the one it wrote under a false clinical history (`candidate_attack`). Δ is a
distance in [0, 1] that must see negation and diagnosis, so it is HARE's clinical form by default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from medassay.cases import Case
from medassay.metrics.base import Metric
from medassay.models import load
from medassay.scores import Score

HALVES = {"stain": "candidate_stain", "attack": "candidate_attack"}
"""The two halves of the score and the columns that hold their reports."""

FAILURE = "{column}_error"
"""The column that says why a generation failed, where that is known."""


class Distance(Protocol):
    """A semantic distance between two reports, 0 (the same) to 1; a reason where it cannot be computed."""

    name: str
    roles: tuple[tuple[str, str], ...]

    def settings(self) -> Mapping[str, object]:
        """What changes the distance, for the signature."""
        ...

    def between(self, pairs: Sequence[tuple[str, str]]) -> list[float | str]:
        """The distance of each pair, or why it cannot be computed."""
        ...


class HareDistance:
    """1 − HARE's clinical score, the mean of both ways round. Sees negation, diagnosis, grade and side."""

    name = "hare-clinical"

    def __init__(self, models: str) -> None:
        from medassay.metrics.hare import Hare

        self.hare = Hare(mode="clinical", models=models)
        self.roles = self.hare.roles

    def settings(self) -> Mapping[str, object]:
        settings = self.hare.settings()
        return {"models": settings["models"], "weights": settings["weights"]}

    def between(self, pairs: Sequence[tuple[str, str]]) -> list[float | str]:
        """1 − the mean of both directions, or why one of them has no score."""
        both = [Case("", b, (a,)) for a, b in pairs] + [Case("", a, (b,)) for a, b in pairs]
        scores = self.hare.measure(both)
        return [self._mean(forward, backward) for forward, backward in zip(scores[: len(pairs)], scores[len(pairs) :])]

    @staticmethod
    def _mean(forward: Score, backward: Score) -> float | str:
        if forward.value is None or backward.value is None:
            # The first call has the original as reference and the other report as candidate.
            reason = forward.unscored or backward.unscored or ""
            return reason.replace("candidate", "other report").replace("reference", "report")
        return min(max(1.0 - (forward.value + backward.value) / 2, 0.0), 1.0)


class EncoderDistance:
    """1 − cosine of the whole reports. Does not see negation: `no invasion` lies close to `invasion`."""

    name = "encoder"

    def __init__(self, models: str) -> None:
        self.encoder = load("encoder", models)
        self.roles: tuple[tuple[str, str], ...] = (("encoder", models),)

    def settings(self) -> Mapping[str, object]:
        return {"models": self.encoder.name}

    def between(self, pairs: Sequence[tuple[str, str]]) -> list[float | str]:
        """1 − cosine of each pair; every distinct text is embedded once."""
        texts = sorted({text for pair in pairs for text in pair})
        vectors = dict(zip(texts, self.encoder.embed(texts)))
        return [float(np.clip(1.0 - vectors[a] @ vectors[b], 0.0, 1.0)) for a, b in pairs]


@dataclass(frozen=True, slots=True)
class _Half:
    """One half of a case: the other report, or why its generation failed, or neither where nobody generated it."""

    text: str | None = None
    failure: str | None = None


class Stability(Metric):
    """How little the report changes under another stain and a false history: 0 to 1, higher is better.

    Parts: `stain` and `attack`, each 1 − Δ; `halves`, how many of the two the value rests on. With one half
    the value is that half alone, and trust labels it partial. An empty report in either column is a failed
    generation: the case is unscored, because a failure is neither a match nor a number. A missing column
    (or a null) is a half that nobody generated.

    mode: `clinical` or `paper`; the formula is the same, and the distance, which the paper calls semantic and does not
        define, is `hare` in the first and `encoder` in the second.
    distance: `hare` (HARE's clinical form, mean of both directions) or `encoder` (cosine of embeddings, blind
        to negation); by default as the mode says.
    """

    name = "stability"
    summary = "does the report stay the same under another stain and a false clinical history?"
    defined = "PathGLS §3.4; docs/metrics/stability.md"
    needs = frozenset({"candidate"})
    reads = frozenset({*HALVES.values(), *(FAILURE.format(column=column) for column in HALVES.values())})
    parts = ("stain", "attack", "halves")

    def __init__(
        self,
        *,
        mode: Literal["clinical", "paper"] = "clinical",
        distance: Literal["hare", "encoder"] | None = None,
        models: str = "embedded",
    ) -> None:
        super().__init__()
        self.mode = mode
        distance = distance or ("hare" if mode == "clinical" else "encoder")
        self.distance: Distance = HareDistance(models) if distance == "hare" else EncoderDistance(models)
        self.roles = self.distance.roles

    def settings(self) -> Mapping[str, object]:
        return {"mode": self.mode, "distance": self.distance.name, **self.distance.settings(), "failed": "unscored"}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        halves_by_case = [{name: _half(case, column) for name, column in HALVES.items()} for case in cases]
        distances: dict[tuple[str, str], float | str] = {}
        for case, halves in zip(cases, halves_by_case):
            for half in halves.values():
                if half.text is not None:
                    distances[case.candidate, half.text] = 0.0
        changed = [pair for pair in distances if _collapse_spaces(pair[0]) != _collapse_spaces(pair[1])]
        distances.update(zip(changed, self.distance.between(changed)))
        return [self._score(case.candidate, halves, distances) for case, halves in zip(cases, halves_by_case)]

    def _score(
        self, candidate: str, halves: Mapping[str, _Half], distances: Mapping[tuple[str, str], float | str]
    ) -> Score:
        unchanged: dict[str, float] = {}
        for name, half in halves.items():
            if half.failure is not None:
                return Score.none(f"{name}: {half.failure}")
            if half.text is not None:
                delta = distances[candidate, half.text]
                if isinstance(delta, str):
                    return Score.none(f"{name}: {delta}")
                unchanged[name] = 1.0 - delta
        if not unchanged:
            return Score.none(f"no {' and no '.join(HALVES.values())}")
        mean = sum(unchanged.values()) / len(unchanged)
        missing = [name for name in HALVES if name not in unchanged]
        evidence: dict[str, Any] = {"stability": {name: round(value, 4) for name, value in unchanged.items()}}
        if missing:
            evidence["partial"] = f"only {', '.join(unchanged)}: no {', '.join(HALVES[name] for name in missing)}"
        return Score(mean, parts={**unchanged, "halves": float(len(unchanged))}, evidence=evidence)


def _half(case: Case, column: str) -> _Half:
    value = case.extra.get(column)
    error = case.extra.get(FAILURE.format(column=column))
    if isinstance(error, str) and error.strip():
        return _Half(failure=f"the generation failed ({error.strip()[:200]})")
    if value is None:
        return _Half()
    text = str(value)
    return _Half(text=text) if text.strip() else _Half(failure=f"the generation failed ({column} is empty)")


def _collapse_spaces(text: str) -> str:
    """The text with single spaces: reports that differ in spaces alone are the same report."""
    return " ".join(text.split())
