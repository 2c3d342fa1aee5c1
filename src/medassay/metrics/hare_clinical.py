"""HARE's clinical mode: what a pathologist would ask of a candidate report.

Entities are aligned (`language/alignment.py`) and each earns a credit: its similarity where it is
matched, part of it where one side hedges, nothing where it is missed or invented, and less than
nothing where the two contradict each other: an absence and a conflict differ. Credits are weighed by
entity type; precision is their mean over the candidate, recall over the reference, the value their F1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from medassay.language.alignment import CONTENT, Alignment, align_pairs
from medassay.language.graph import Report
from medassay.models.base import Encoder
from medassay.scores import Score

PARTS = (
    "precision",
    "recall",
    *(f"{kind}_{what}" for kind in CONTENT for what in ("precision", "recall")),
    "missed",
    "invented",
    "contradicted",
)


@dataclass(frozen=True)
class Weights:
    """The few numbers of the clinical mode, fitted by `medassay.training.hare_weights`.

    types: how much an entity of each type counts. hedged: share of the credit where one side hedges.
    conflict: what a contradicted entity costs, in units of a missed one's loss.
    """

    version: str = "1"
    types: Mapping[str, float] = field(
        default_factory=lambda: {"diagnosis": 4.0, "finding": 1.0, "site": 1.0, "marker": 1.0, "grade": 1.0}
    )
    hedged: float = 0.5
    conflict: float = 1.0


WEIGHTS = Weights()


def score_pairs(
    pairs: Sequence[tuple[Report, Report]], encoder: Encoder, *, evidence: bool, weights: Weights = WEIGHTS
) -> list[Score]:
    """One score for each (reference, candidate) pair."""
    scores = []
    for (reference, candidate), alignment in zip(pairs, align_pairs(pairs, encoder)):
        scores.append(_score(reference, candidate, alignment, weights, evidence))
    return scores


def _score(reference: Report, candidate: Report, alignment: Alignment, weights: Weights, evidence: bool) -> Score:
    for side, report in (("reference", reference), ("candidate", candidate)):
        if not any(entity.type in CONTENT for entity in report.entities):
            return Score.none(f"no entities found in the {side}")
    left, right = credits(alignment, weights)
    recall = _mean(reference, left, weights.types)
    precision = _mean(candidate, right, weights.types)
    parts: dict[str, float] = {"precision": precision, "recall": recall}
    for kind in CONTENT:
        for what, report, credit in (("precision", candidate, right), ("recall", reference, left)):
            if any(report.entities[i].type == kind for i in credit):
                parts[f"{kind}_{what}"] = _mean(report, credit, {kind: 1.0})
    parts["missed"] = float(len(alignment.missed))
    parts["invented"] = float(len(alignment.invented))
    parts["contradicted"] = float(sum(m.verdict == "contradicted" for m in alignment.meetings))
    value = 2 * precision * recall / (precision + recall) if precision > 0 and recall > 0 else 0.0
    return Score(value, parts=parts, evidence=drawn(reference, candidate, alignment) if evidence else {})


def credits(alignment: Alignment, weights: Weights) -> tuple[dict[int, float], dict[int, float]]:
    """The credit of each content entity of the reference and of the candidate, by index."""
    left = dict.fromkeys(alignment.missed, 0.0)
    right = dict.fromkeys(alignment.invented, 0.0)
    for meeting in alignment.meetings:
        credit = {
            "matched": meeting.similarity,
            "hedged": meeting.similarity * weights.hedged,
            "contradicted": -weights.conflict,
        }[meeting.verdict]
        left[meeting.reference] = credit
        right[meeting.candidate] = credit
    return left, right


def _mean(report: Report, credit: Mapping[int, float], types: Mapping[str, float]) -> float:
    """The weighted mean credit, not below 0."""
    total = sum(types.get(report.entities[i].type, 0.0) for i in credit)
    earned = sum(types.get(report.entities[i].type, 0.0) * value for i, value in credit.items())
    return max(earned / total, 0.0) if total else 0.0


def drawn(reference: Report, candidate: Report, alignment: Alignment) -> dict[str, Any]:
    """The alignment as evidence: entities with their fate, and the links between them."""
    fate_left = dict.fromkeys(alignment.missed, "missed")
    fate_right = dict.fromkeys(alignment.invented, "invented")
    links = []
    for meeting in alignment.meetings:
        fate_left[meeting.reference] = fate_right[meeting.candidate] = meeting.verdict
        link = {
            "reference": meeting.reference,
            "candidate": meeting.candidate,
            "similarity": round(meeting.similarity, 3),
            "verdict": meeting.verdict,
        }
        links.append(link | ({"note": meeting.reason} if meeting.reason else {}))
    return {
        "entities": {"reference": _items(reference, fate_left), "candidate": _items(candidate, fate_right)},
        "links": links,
    }


def _items(report: Report, fates: Mapping[int, str]) -> list[dict[str, Any]]:
    return [
        {
            "start": entity.start,
            "end": entity.end,
            "type": entity.type,
            "assertion": entity.assertion,
            "status": fates.get(i, "context"),
        }
        for i, entity in enumerate(report.entities)
    ]
