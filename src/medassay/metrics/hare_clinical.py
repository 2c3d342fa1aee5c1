"""HARE's clinical mode: what a pathologist would ask of a candidate report.

Is the diagnosis right? What is missed, invented, contradicted? Two numbers answer, both 0–1:

- *conclusion*: how near the diagnoses that the candidate concludes with come to the reference's, along
  the ontology: a broad diagnosis is broadly right, benign for malignant is nothing;
- *content*: F1 over the entities of both reports (`language/alignment.py`). A matched entity earns its
  similarity, a hedged one part of it, a missed or invented one nothing, a contradicted one less than
  nothing: an absence and a conflict differ.

The value is their weighted mean, cut by a fixed share where anything is contradicted. One per cent of it
is plain word overlap, so that nothing but a copy reaches 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from medassay.language.alignment import CONTENT, GENERAL, Alignment, Fate, align, similarities
from medassay.language.graph import Report
from medassay.language.terms import words
from medassay.metrics.base import f1
from medassay.models.base import Encoder, Matrix
from medassay.scores import Score

PARTS = (
    "conclusion",
    "precision",
    "recall",
    *(f"{kind}_{what}" for kind in CONTENT for what in ("precision", "recall")),
    "missed",
    "invented",
    "contradicted",
)


@dataclass(frozen=True)
class Weights:
    """The few numbers of the clinical mode (how they were chosen: docs/metrics/hare.md).

    types: how much an entity of each type counts in the content. conclusion: weight of the conclusion
    against the content. hedged: share of the credit where one side hedges. conflict: what a
    contradicted entity costs, in units of a full match. intact: what is left of the value where anything
    is contradicted. full: similarity from which a match counts in full. wording: weight of word overlap.
    """

    version: str = "1"
    types: Mapping[str, float] = field(
        default_factory=lambda: {"diagnosis": 6.0, "finding": 0.7, "site": 0.7, "marker": 1.0, "grade": 0.7}
    )
    conclusion: float = 0.6
    hedged: float = 0.5
    conflict: float = 0.3
    intact: float = 0.8
    full: float = 0.85
    wording: float = 0.01


WEIGHTS = Weights()


def score_pairs(
    pairs: Sequence[tuple[Report, Report]], encoder: Encoder, *, evidence: bool, weights: Weights = WEIGHTS
) -> list[Score]:
    """One score for each (reference, candidate) pair; each distinct entity text is encoded once."""
    reports = {id(report): report for pair in pairs for report in pair}
    texts = sorted({e.text.lower() for r in reports.values() for e in r.entities if e.type in CONTENT})
    vectors = dict(zip(texts, encoder.embed(texts)))
    return [_score(reference, candidate, vectors, weights, evidence) for reference, candidate in pairs]


def _score(
    reference: Report, candidate: Report, vectors: Mapping[str, Matrix], weights: Weights, evidence: bool
) -> Score:
    for side, report in (("reference", reference), ("candidate", candidate)):
        if not any(entity.type in CONTENT for entity in report.entities):
            return Score.none(f"no entities found in the {side}")
    alignment = align(reference, candidate, vectors)
    parts = content(reference, candidate, alignment, weights)
    value = f1(parts["precision"], parts["recall"])
    concluded = conclusion(reference, candidate, vectors)
    if concluded is not None:
        parts["conclusion"] = concluded
        value = weights.conclusion * concluded + (1 - weights.conclusion) * value
    if parts["contradicted"]:
        value *= weights.intact
    value = (1 - weights.wording) * value + weights.wording * word_overlap(reference.text, candidate.text)
    return Score(value, parts=parts, evidence=alignment_evidence(reference, candidate, alignment) if evidence else {})


def content(reference: Report, candidate: Report, alignment: Alignment, weights: Weights) -> dict[str, float]:
    """Precision and recall of the entities, weighed over all types and plain for each, and the counts."""
    parts = {
        "precision": _mean(candidate, alignment.candidate, weights, weights.types),
        "recall": _mean(reference, alignment.reference, weights, weights.types),
    }
    for kind in CONTENT:
        for what, report, fates in (
            ("precision", candidate, alignment.candidate),
            ("recall", reference, alignment.reference),
        ):
            if any(report.entities[i].type == kind for i in fates):
                parts[f"{kind}_{what}"] = _mean(report, fates, weights, {kind: 1.0})
    parts["missed"] = float(sum(fate.verdict == "lost" for fate in alignment.reference.values()))
    parts["invented"] = float(sum(fate.verdict == "lost" for fate in alignment.candidate.values()))
    parts["contradicted"] = float(
        max(
            sum(f.verdict == "contradicted" for f in side.values())
            for side in (alignment.reference, alignment.candidate)
        )
    )
    return parts


def credit(fate: Fate, weights: Weights) -> float:
    """What an entity earns by its fate."""
    if fate.verdict == "contradicted":
        return -weights.conflict
    share = min(fate.similarity / weights.full, 1.0)
    return share * weights.hedged if fate.verdict == "hedged" else share


def _mean(report: Report, fates: Mapping[int, Fate], weights: Weights, types: Mapping[str, float]) -> float:
    """The weighted mean credit, not below 0."""
    total = sum(types.get(report.entities[i].type, 0.0) for i in fates)
    earned = sum(types.get(report.entities[i].type, 0.0) * credit(fate, weights) for i, fate in fates.items())
    return max(earned / total, 0.0) if total else 0.0


def conclusion(reference: Report, candidate: Report, vectors: Mapping[str, Matrix]) -> float | None:
    """How near the candidate's concluding diagnoses come to the reference's, 0–1; None without diagnoses.

    General words (tumor, malignancy) count only where nothing more specific is concluded.
    """
    ours = [e for e in reference.entities if e.type == "diagnosis" and e.assertion != "absent"]
    theirs = [candidate.entities[i] for i in concluding(candidate)]
    if not ours or not theirs:
        return None
    specific = [e for e in theirs if e.concept is None or e.concept.id not in GENERAL]
    return float(similarities(ours, specific or theirs, vectors).max(axis=0).mean())


def concluding(report: Report) -> list[int]:
    """The diagnoses a report ends on: those of its last diagnosis section, else all; the denied ones left out."""
    stated = [i for i, e in enumerate(report.entities) if e.type == "diagnosis" and e.assertion != "absent"]
    for section in reversed(report.sections()):
        inside = [i for i in stated if section.body <= report.entities[i].start < section.end]
        if section.kind == "diagnosis" and inside:
            return inside
    return stated


def word_overlap(left: str, right: str) -> float:
    """F1 of the two texts' words, numbers included."""
    a, b = _bag(left), _bag(right)
    shared = sum((a & b).values())
    return 2 * shared / (sum(a.values()) + sum(b.values())) if shared else 0.0


@lru_cache(maxsize=4096)
def _bag(text: str) -> Counter[str]:
    return Counter(text.split()) + Counter(words(text))


def alignment_evidence(reference: Report, candidate: Report, alignment: Alignment) -> dict[str, Any]:
    """The alignment as evidence: entities with their fate, and the links between them."""
    links: dict[tuple[int, int], dict[str, Any]] = {}
    for of_reference, side in ((True, alignment.reference), (False, alignment.candidate)):
        for index, fate in side.items():
            if fate.partner is None:
                continue
            key = (index, fate.partner) if of_reference else (fate.partner, index)
            link = {
                "reference": key[0],
                "candidate": key[1],
                "similarity": round(fate.similarity, 3),
                "verdict": fate.verdict,
            }
            links.setdefault(key, link | ({"note": fate.reason} if fate.reason else {}))
    return {
        "entities": {
            "reference": _entity_records(reference, alignment.reference, "missed"),
            "candidate": _entity_records(candidate, alignment.candidate, "invented"),
        },
        "links": [links[key] for key in sorted(links)],
    }


def _entity_records(report: Report, fates: Mapping[int, Fate], lost: str) -> list[dict[str, Any]]:
    return [
        {
            "start": entity.start,
            "end": entity.end,
            "type": entity.type,
            "assertion": entity.assertion,
            "status": "context" if i not in fates else lost if fates[i].verdict == "lost" else fates[i].verdict,
        }
        for i, entity in enumerate(report.entities)
    ]
