"""Which entity of one report meets which of another, and what each meeting means.

Only like meets like: sites with sites, markers with markers, grades with grades of the same kind;
diagnoses and findings may meet each other at a discount, because reports name the same lesion as
either. Each entity meets at most one other, the most similar pairs first. A meeting is

- *matched*: they say the same;
- *hedged*: one is certain where the other is possible;
- *contradicted*: found, but said otherwise: present against absent, left against right, another grade
  or result.

What meets nothing is *missed* (reference) or *invented* (candidate).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from medassay.language.concepts import similarity as concept_similarity
from medassay.language.grades import normalise_grade
from medassay.language.graph import Entity, Report
from medassay.language.results import Result, read_result
from medassay.models.base import Encoder, Matrix

CONTENT = ("diagnosis", "finding", "site", "marker", "grade")
"""Types that are matched. Modifiers and descriptors speak through their marker or diagnosis."""

MEET = 0.5
"""Similarity at which two entities are taken to speak of the same thing."""

_FLOOR, _CEILING = 0.55, 0.85
"""Cosines at and below the floor count 0, at and above the ceiling 1."""

_SHARE = 10.0
"""Percentage points of stained cells that two readers may differ by."""

_CROSS = 0.8
"""Discount on a diagnosis that meets a finding."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two entities that speak of the same thing, by index; `similarity` in 0–1."""

    reference: int
    candidate: int
    similarity: float
    verdict: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Alignment:
    """All meetings of two reports, and what met nothing."""

    meetings: tuple[Meeting, ...]
    missed: tuple[int, ...]
    invented: tuple[int, ...]


def align_pairs(pairs: Sequence[tuple[Report, Report]], encoder: Encoder) -> list[Alignment]:
    """Align (reference, candidate) pairs; each distinct entity text is encoded once for all of them."""
    reports = {id(report): report for pair in pairs for report in pair}
    texts = sorted({e.text.lower() for r in reports.values() for e in r.entities if e.type in CONTENT})
    vectors = dict(zip(texts, encoder.embed(texts)))
    return [align(reference, candidate, vectors) for reference, candidate in pairs]


def align(reference: Report, candidate: Report, vectors: Mapping[str, Matrix]) -> Alignment:
    """Align two reports, the most similar pairs first."""
    left = [i for i, e in enumerate(reference.entities) if e.type in CONTENT]
    right = [j for j, e in enumerate(candidate.entities) if e.type in CONTENT]
    table = similarities([reference.entities[i] for i in left], [candidate.entities[j] for j in right], vectors)
    asserted = np.array(
        [[reference.entities[i].assertion == candidate.entities[j].assertion for j in right] for i in left]
    )
    meetings: list[Meeting] = []
    free_left, free_right = set(range(len(left))), set(range(len(right)))
    if left and right:
        # Equal assertion breaks ties, so that two mentions of one thing pair up as they are meant.
        order = np.argsort(-(table + 1e-3 * asserted), axis=None, kind="stable")
        for flat in order:
            i, j = divmod(int(flat), len(right))
            if table[i, j] < MEET:
                break
            if i in free_left and j in free_right:
                free_left.remove(i)
                free_right.remove(j)
                meetings.append(_meeting(reference, candidate, left[i], right[j], float(table[i, j])))
    return Alignment(
        tuple(sorted(meetings, key=lambda m: m.reference)),
        tuple(left[i] for i in sorted(free_left)),
        tuple(right[j] for j in sorted(free_right)),
    )


def similarities(left: Sequence[Entity], right: Sequence[Entity], vectors: Mapping[str, Matrix]) -> Matrix:
    """Similarity 0–1 of every pair: along the ontology where both are linked, else by their vectors."""
    if not left or not right:
        return np.zeros((len(left), len(right)), np.float32)
    cosines = np.stack([vectors[e.text.lower()] for e in left]) @ np.stack([vectors[e.text.lower()] for e in right]).T
    table: Matrix = np.clip((cosines - _FLOOR) / (_CEILING - _FLOOR), 0.0, 1.0)
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            table[i, j] = _similarity(a, b, float(table[i, j]))
    return table


def _similarity(a: Entity, b: Entity, by_vector: float) -> float:
    if "grade" in (a.type, b.type):
        return _grade_similarity(a, b) if a.type == b.type else 0.0
    cross = a.type != b.type
    if cross and {a.type, b.type} != {"diagnosis", "finding"}:
        return 0.0
    value = by_vector
    if a.concept is not None and b.concept is not None:
        value = concept_similarity(a.concept, b.concept)
    return value * _CROSS if cross else value


def _grade_similarity(a: Entity, b: Entity) -> float:
    """1 for the same value, `MEET` for another value of the same kind (a contradiction), else 0."""
    if " ".join(a.text.lower().split()) == " ".join(b.text.lower().split()):
        return 1.0
    left, right = normalise_grade(a.text), normalise_grade(b.text)
    if left is None or right is None or not left.same_kind(right):
        return 0.0
    return 1.0 if left.agrees(right) else MEET


def _meeting(reference: Report, candidate: Report, i: int, j: int, similarity: float) -> Meeting:
    verdict, reason = _verdict(reference, candidate, i, j)
    if reference.entities[i].type == "grade" and similarity < 1.0:
        verdict, reason = "contradicted", "another value"
    return Meeting(i, j, similarity, verdict, reason)


def _verdict(reference: Report, candidate: Report, i: int, j: int) -> tuple[str, str]:
    a, b = reference.entities[i], candidate.entities[j]
    if {a.assertion, b.assertion} == {"present", "absent"}:
        return "contradicted", f"{a.assertion} in the reference, {b.assertion} in the candidate"
    sides = {side for e in (a, b) if e.concept is not None and (side := e.concept.laterality)}
    if sides == {"left", "right"}:
        return "contradicted", "another side"
    if a.type == "marker" and not _results_agree(results(reference, i), results(candidate, j)):
        return "contradicted", "another result"
    if a.assertion != b.assertion:
        return "hedged", f"{a.assertion} in the reference, {b.assertion} in the candidate"
    return "matched", ""


def results(report: Report, marker: int) -> list[Result]:
    """What a marker's modifiers say of it."""
    texts = [report.entities[r.tail].text for r in report.relations if r.head == marker]
    return [result for text in texts if (result := read_result(text)) is not None]


def _results_agree(left: Sequence[Result], right: Sequence[Result]) -> bool:
    """False only where both state a share of stained cells and no two shares are near each other."""
    shares = [(a.percent, b.percent) for a in left for b in right if a.percent is not None and b.percent is not None]
    return not shares or any(abs(a - b) <= _SHARE for a, b in shares)
