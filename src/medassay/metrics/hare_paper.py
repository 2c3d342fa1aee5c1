"""HARE as published: best cosines of entities, and overlap of relation triples (HARE, section 3.3).

Paper and published code leave some choices open, or differ; each is a field of `PaperRules`, and its default is what
the published code does. `docs/metrics/hare-paper.md` has the list, with what each choice changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from medassay.language.graph import Report
from medassay.metrics.base import f1
from medassay.models.base import Encoder, Matrix
from medassay.scores import Score
from medassay.spans import ENTITY_TYPES, HARE_TYPES

PARTS = ("precision", "recall", "entities", "relations", "reference_relations", "candidate_relations")

Triple = tuple[str, str, str]
"""Head words, tail words, relation type."""

_UNTYPED = "related"
_HARE_RELATIONS = ("marker_modifier", "diagnosis_descriptor")
_GRADE_OF_DIAGNOSIS = "diagnosis_grade"


@dataclass(frozen=True, slots=True)
class PaperRules:
    """The choices of paper mode.

    threshold, keep: entities and relations whose confidence is above (or, `below`, not above) it; None keeps all.
    entities: every mention counts (`mentions`), or equal words once (`distinct`: "sets", as the paper prints it).
    case: words are compared and embedded in lower case, or as they stand (`mixed`).
    types: HARE's five (`five`); also the grades tied to a diagnosis, as its descriptors (`graded`); or all that the
        reader knows, with all its relations (`seven`).
    triples: equal words of head and tail (`words`); the relation's type, too (`typed`); or the best product of the
        two cosines among triples of one type (`aligned`, not published).
    ends: a relation needs no sure ends (`all`), or both must pass the threshold themselves (`kept`).
    empty: a side without entities scores 0, or leaves the pair unscored.
    total: the sum of both halves (0–2), or their mean (0–1).
    """

    threshold: float | None = 0.7
    keep: Literal["above", "below"] = "above"
    entities: Literal["mentions", "distinct"] = "mentions"
    case: Literal["lower", "mixed"] = "lower"
    types: Literal["five", "graded", "seven"] = "five"
    triples: Literal["words", "typed", "aligned"] = "words"
    ends: Literal["all", "kept"] = "all"
    empty: Literal["zero", "unscored"] = "zero"
    total: Literal["sum", "mean"] = "sum"

    def signature_settings(self) -> dict[str, object]:
        """The rules as the signature names them.

        `pairs:typed`: only pairs that can be related by their types are asked about.
        """
        return {
            "thr": self.threshold,
            "keep": self.keep,
            "entities": self.entities,
            "case": self.case,
            "types": self.types,
            "triples": self.triples,
            "ends": self.ends,
            "pairs": "typed",
            "total": self.total,
            "empty": self.empty,
        }


@dataclass(frozen=True, slots=True)
class Side:
    """The part of a report that is compared: the words of its entities, and its relation triples."""

    entities: tuple[str, ...]
    triples: frozenset[Triple]

    def words(self) -> set[str]:
        """All words that may be embedded."""
        return {*self.entities, *(words for triple in self.triples for words in triple[:2])}


def score_pairs(pairs: Sequence[tuple[Report, Report]], aligner: Encoder, rules: PaperRules) -> list[Score]:
    """The scores of (reference, candidate) pairs; each distinct phrase is embedded once."""
    sides = [(read_side(reference, rules), read_side(candidate, rules)) for reference, candidate in pairs]
    words = sorted({words for pair in sides for side in pair for words in side.words()})
    vectors = dict(zip(words, aligner.embed(words)))
    return [score_sides(reference, candidate, vectors, rules) for reference, candidate in sides]


def read_side(report: Report, rules: PaperRules) -> Side:
    """The entities and triples of a report that the rules count."""
    relations = [(r, kind) for r in report.relations if (kind := _relation_type(r.type, rules)) is not None]
    grades = {r.tail for r, _ in relations if r.type == _GRADE_OF_DIAGNOSIS}
    types = ENTITY_TYPES if rules.types == "seven" else HARE_TYPES
    counted = {i for i, e in enumerate(report.entities) if e.type in types or (rules.types == "graded" and i in grades)}
    sure = {i for i in counted if _passes(report.entities[i].score, rules)}
    ends = sure if rules.ends == "kept" else counted
    words = [entity.text.lower() if rules.case == "lower" else entity.text for entity in report.entities]
    triples = frozenset(
        (words[r.head], words[r.tail], _UNTYPED if rules.triples == "words" else kind)
        for r, kind in relations
        if r.head in ends and r.tail in ends and _passes(r.score, rules)
    )
    chosen = [words[i] for i in sorted(sure)]
    return Side(tuple(dict.fromkeys(chosen) if rules.entities == "distinct" else chosen), triples)


def _relation_type(kind: str, rules: PaperRules) -> str | None:
    """The type under which a relation counts; None where it does not."""
    if rules.types == "seven" or kind in _HARE_RELATIONS:
        return kind
    return "diagnosis_descriptor" if rules.types == "graded" and kind == _GRADE_OF_DIAGNOSIS else None


def _passes(confidence: float, rules: PaperRules) -> bool:
    return rules.threshold is None or (confidence > rules.threshold) == (rules.keep == "above")


def score_sides(reference: Side, candidate: Side, vectors: Mapping[str, Matrix], rules: PaperRules) -> Score:
    """HARE of one pair; with `empty=zero` a side without entities brings only the entity half to 0."""
    missing = next(
        (name for name, side in (("reference", reference), ("candidate", candidate)) if not side.entities), ""
    )
    if missing and rules.empty == "unscored":
        return Score.none(f"no entities found in the {missing}")
    precision = recall = entity_f1 = 0.0
    if not missing:
        cosines = _stack(reference.entities, vectors) @ _stack(candidate.entities, vectors).T
        precision, recall, entity_f1 = entity_scores(cosines)
    if rules.triples == "aligned":
        relation_f1 = aligned_f1(reference.triples, candidate.triples, vectors)
    else:
        relation_f1 = triple_f1(reference.triples, candidate.triples)
    total = entity_f1 + relation_f1
    parts = (
        precision,
        recall,
        entity_f1,
        relation_f1,
        float(len(reference.triples)),
        float(len(candidate.triples)),
    )
    return Score(total if rules.total == "sum" else total / 2, parts=dict(zip(PARTS, parts)))


def _stack(phrases: Sequence[str], vectors: Mapping[str, Matrix]) -> Matrix:
    return np.stack([vectors[phrase] for phrase in phrases])


def entity_scores(cosines: Matrix) -> tuple[float, float, float]:
    """Precision, recall and F1 from cosines [reference entities, candidate entities].

    Recall is the mean over reference entities of the best cosine with any candidate entity; precision
    the other way round.

    >>> [round(x, 2) for x in entity_scores(np.array([[1.0, 0.2], [0.4, 0.1]]))]
    [0.6, 0.7, 0.65]
    """
    recall = float(cosines.max(axis=1).mean())
    precision = float(cosines.max(axis=0).mean())
    return precision, recall, f1(precision, recall)


def triple_f1(reference: frozenset[Triple] | set[Triple], candidate: frozenset[Triple] | set[Triple]) -> float:
    """F1 of two sets of (head, tail, type), 0–1; 0 where nothing is shared.

    >>> triple_f1({("er", "positive", "marker_modifier")}, {("er", "positive", "marker_modifier")})
    1.0
    """
    shared = len(reference & candidate)
    return 2 * shared / (len(reference) + len(candidate)) if shared else 0.0


def aligned_f1(reference: frozenset[Triple], candidate: frozenset[Triple], vectors: Mapping[str, Matrix]) -> float:
    """F1 of triples by their best counterpart of the same type, 0–1: cosine of the heads times cosine of the tails.

    A negative cosine counts as 0. 0 where a side has no triple.
    """
    if not reference or not candidate:
        return 0.0
    rows, columns = sorted(reference), sorted(candidate)
    similar: Matrix = np.ones((len(rows), len(columns)), np.float32)
    for end in (0, 1):
        left = _stack([triple[end] for triple in rows], vectors)
        right = _stack([triple[end] for triple in columns], vectors)
        similar *= np.clip(left @ right.T, 0.0, 1.0)
    similar *= np.array([[a[2] == b[2] for b in columns] for a in rows], np.float32)
    return entity_scores(similar)[2]
