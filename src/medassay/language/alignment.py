"""Which entity of one report meets which of another, and what each meeting means.

Only like meets like: sites with sites, markers with markers, grades with grades of the same kind;
diagnoses and findings may meet each other at a discount, because reports name the same lesion as
either. Every entity looks for the counterpart that agrees with it best, and its fate is

- *matched*: the other report says the same, once or several times;
- *hedged*: it is certain on one side and possible on the other;
- *contradicted*: the other report speaks of the same thing, but nowhere agrees: present against absent,
  left against right, another grade or result;
- *missed* (reference) or *invented* (candidate): the other report does not speak of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from medassay.language.concepts import similarity as concept_similarity
from medassay.language.grades import normalise_grade
from medassay.language.graph import Entity, Report
from medassay.language.numbers import NUMBER_WORDS, ROMAN
from medassay.language.results import Result, read_result
from medassay.language.terms import words
from medassay.models.base import Matrix

CONTENT = ("diagnosis", "finding", "site", "marker", "grade")
"""Types that are matched. Modifiers and descriptors speak through their marker or diagnosis."""

MEET = 0.6
"""Similarity at which two entities are taken to speak of the same thing."""

SURE = 0.75
"""Similarity that a contradiction needs: only what is surely the same thing can be said otherwise."""

WORDED = 0.9
"""Credit of an entity whose every word stands in the other report, though no entity there meets it."""

_FLOOR, _CEILING = 0.55, 0.85
"""Cosines at and below the floor count 0, at and above the ceiling 1."""

_STRICT = ("diagnosis", "marker", "site")
"""Types whose linked concepts alone decide: near words can name different diseases or antibodies."""

_CROSS = 0.8
"""Discount on a diagnosis that meets a finding."""

_SHARE = 10.0
"""Percentage points of stained cells that two readers may differ by."""

_VAGUE = ("severity", "extent", "quantity")
"""Grades in plain words (mild, focal, numerous): a different word is not a contradiction."""

GENERAL = frozenset({"MONDO:0005070", "MONDO:0004992", "MONDO:0004993", "DX:mass", "DX:lesion", "MONDO:0024883"})
"""Neoplasm, malignant neoplasm, carcinoma, mass, lesion, metastasis: their absence somewhere is not their absence."""

_RANK = {"matched": 2, "hedged": 1, "contradicted": 0}


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one entity.

    verdict: matched, hedged, contradicted, or lost (missed / invented). similarity: 0–1, of the meeting.
    partner: index of the counterpart, None where there is none or only its words were found.
    """

    verdict: str
    similarity: float = 0.0
    partner: int | None = None
    reason: str = ""


_LOST = Fate("lost")


@dataclass(frozen=True, slots=True)
class Alignment:
    """The fate of each content entity of both reports, by index."""

    reference: Mapping[int, Fate]
    candidate: Mapping[int, Fate]


def align(reference: Report, candidate: Report, vectors: Mapping[str, Matrix]) -> Alignment:
    """The fates of both reports' entities. Entities that are alike share their fate, so that a text which repeats
    itself takes no time without bound; of alike counterparts the first is the partner."""
    left, right = _Alike.read(reference), _Alike.read(candidate)
    table = similarities([e for e, _ in left.groups], [e for e, _ in right.groups], vectors)
    best_left: list[list[Fate]] = [[] for _ in left.groups]
    best_right: list[list[Fate]] = [[] for _ in right.groups]
    for a, b in zip(*(axis.tolist() for axis in np.nonzero(table >= MEET))):
        similarity = float(table[a, b])
        verdict, reason = _verdict(left.groups[a], right.groups[b], similarity)
        if verdict == "contradicted" and similarity < SURE:
            continue
        best_left[a].append(Fate(verdict, similarity, right.firsts[b], reason))
        best_right[b].append(Fate(verdict, similarity, left.firsts[a], reason))
    return Alignment(_fates(left, best_left, candidate), _fates(right, best_right, reference))


@dataclass(frozen=True, slots=True)
class _Alike:
    """The content entities of a report, in groups of which each says one thing.

    groups: an entity of each group, and what is said of it where it is a marker. firsts: the index of each group's
    first entity in the report. at: the group of each content entity, by its index.
    """

    groups: list[tuple[Entity, tuple[Result, ...]]]
    firsts: list[int]
    at: dict[int, int]

    @classmethod
    def read(cls, report: Report) -> _Alike:
        by_marker = _results_by_marker(report)
        numbers: dict[tuple[object, ...], int] = {}
        alike = cls([], [], {})
        for index, entity in enumerate(report.entities):
            if entity.type not in CONTENT:
                continue
            results = by_marker.get(index, ())
            key = (entity.type, entity.text, entity.concept, entity.assertion, results)
            alike.at[index] = numbers.setdefault(key, len(numbers))
            if len(numbers) > len(alike.groups):
                alike.groups.append((entity, results))
                alike.firsts.append(index)
        return alike


def _fates(own: _Alike, best: Sequence[Sequence[Fate]], other: Report) -> dict[int, Fate]:
    """The fate of each entity of one report: its best meeting, or that the other report has its words."""
    fates = []
    for (entity, _), meetings in zip(own.groups, best):
        fate = max(meetings, key=_preference) if meetings else _LOST
        if fate is _LOST or (fate.verdict == "contradicted" and _rich(entity)):
            worded = _by_words(entity, other)
            fate = worded if worded is not _LOST else fate
        fates.append(fate)
    return {index: fates[group] for index, group in own.at.items()}


def _preference(fate: Fate) -> tuple[int, float, int]:
    return (_RANK[fate.verdict], fate.similarity, -(fate.partner or 0))


def similarities(left: Sequence[Entity], right: Sequence[Entity], vectors: Mapping[str, Matrix]) -> Matrix:
    """Similarity 0–1 of every pair: along the ontology where both are linked, else by their vectors."""
    if not left or not right:
        return np.zeros((len(left), len(right)), np.float32)
    ours, at_left = _distinct(left)
    theirs, at_right = _distinct(right)
    cosines = np.stack([vectors[e.text.lower()] for e in ours]) @ np.stack([vectors[e.text.lower()] for e in theirs]).T
    scaled = np.clip((cosines - _FLOOR) / (_CEILING - _FLOOR), 0.0, 1.0)
    table: Matrix = np.zeros_like(scaled)
    meets = {kind: [j for j, e in enumerate(theirs) if _may_meet(kind, e.type)] for kind in {e.type for e in ours}}
    for i, a in enumerate(ours):
        row = scaled[i].tolist()
        for j in meets[a.type]:
            table[i, j] = _similarity(a, theirs[j], row[j])
    return table[np.ix_(at_left, at_right)]


def _distinct(entities: Sequence[Entity]) -> tuple[list[Entity], list[int]]:
    """One entity for each type, wording and concept, which decide similarity, and each entity's place among them."""
    numbers: dict[tuple[str, str, str | None], int] = {}
    at = [numbers.setdefault((e.type, e.text, e.concept.id if e.concept else None), len(numbers)) for e in entities]
    firsts = dict(zip(reversed(at), reversed(entities)))
    return [firsts[i] for i in range(len(numbers))], at


def _may_meet(first: str, second: str) -> bool:
    return first == second or {first, second} == {"diagnosis", "finding"}


def _similarity(a: Entity, b: Entity, by_vector: float) -> float:
    if not _may_meet(a.type, b.type):
        return 0.0
    if a.type == "grade":
        return _grade_similarity(a.text, b.text)
    cross = a.type != b.type
    value = by_vector
    if a.concept is not None and b.concept is not None:
        along = concept_similarity(a.concept, b.concept)
        # A diagnosis is what its concept is; findings and sites are also what their words say.
        value = along if a.type in _STRICT or b.type in _STRICT else max(along, by_vector)
    return value * _CROSS if cross else value


@lru_cache(maxsize=100_000)
def _grade_similarity(a: str, b: str) -> float:
    """1 for the same value, `SURE` for another value of the same kind (a contradiction), else 0."""
    if " ".join(a.lower().split()) == " ".join(b.lower().split()):
        return 1.0
    left, right = normalise_grade(a), normalise_grade(b)
    if left is None or right is None or not left.same_kind(right):
        return 0.0
    if left.agrees(right):
        return 1.0
    # A share or a pattern that does not say what of is not another value of one that does.
    apart = left.system in _VAGUE or right.system in _VAGUE or left.label != right.label
    patterns = left.system == "gleason" and any(isinstance(g.value, float) and g.value < 6 for g in (left, right))
    return 0.0 if apart or patterns else SURE


def _verdict(
    left: tuple[Entity, Sequence[Result]], right: tuple[Entity, Sequence[Result]], similarity: float
) -> tuple[str, str]:
    (a, own_results), (b, other_results) = left, right
    if a.type == "grade":
        return ("matched", "") if similarity == 1.0 else ("contradicted", "another value")
    if a.type == b.type == "site":
        return ("contradicted", "another side") if _sides(a, b) == {"left", "right"} else ("matched", "")
    if {a.assertion, b.assertion} == {"present", "absent"}:
        if _general(a) or _general(b):
            return "hedged", "a general word, present on one side and absent on the other"
        return "contradicted", f"{a.assertion} in the reference, {b.assertion} in the candidate"
    if _sides(a, b) == {"left", "right"}:
        return "contradicted", "another side"
    if a.type == "marker" and not _results_agree(own_results, other_results):
        return "contradicted", "another result"
    if a.assertion != b.assertion:
        return "hedged", f"{a.assertion} in the reference, {b.assertion} in the candidate"
    return "matched", ""


def _sides(a: Entity, b: Entity) -> set[str]:
    return {side for e in (a, b) if e.concept is not None and (side := e.concept.laterality)}


def _general(entity: Entity) -> bool:
    """`Tumor`, `malignancy`: present in one place and absent in another of the same report."""
    return entity.concept is not None and entity.concept.id in GENERAL


def _results_by_marker(report: Report) -> dict[int, tuple[Result, ...]]:
    """What its modifiers say of each marker, by its index."""
    by_marker: dict[int, list[Result]] = {}
    for relation in report.relations:
        result = read_result(report.entities[relation.tail].text)
        if result is not None and report.entities[relation.head].type == "marker":
            by_marker.setdefault(relation.head, []).append(result)
    return {marker: tuple(results) for marker, results in by_marker.items()}


def _results_agree(left: Sequence[Result], right: Sequence[Result]) -> bool:
    """False only where both state a share of stained cells and no two shares are near each other."""
    shares = [(a.percent, b.percent) for a in left for b in right if a.percent is not None and b.percent is not None]
    return not shares or any(abs(a - b) <= _SHARE for a, b in shares)


_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_LETTERS = re.compile(r"[a-z]+")
_ROMAN = {roman.lower(): str(number) for roman, number in ROMAN.items() if number <= 5}
_COUNTED = {word: str(number) for number, word in enumerate(NUMBER_WORDS[:13])}


@lru_cache(maxsize=4096)
def _vocabulary(text: str) -> frozenset[str]:
    """The lemmas and numbers of a whole report."""
    return frozenset(words(text)) | _numbers(text)


@lru_cache(maxsize=100_000)
def _numbers(text: str) -> frozenset[str]:
    """The numbers of a text, however they are written."""
    numbers = set(_NUMBER.findall(text))
    for word in _LETTERS.findall(text.lower()):
        numbers.update(filter(None, (_ROMAN.get(word), _COUNTED.get(word))))
    return frozenset(numbers)


def _rich(entity: Entity) -> bool:
    """A grade of several numbers or a decimal: if all of it stands in the other report, it was not changed."""
    numbers = _numbers(entity.text)
    return entity.type == "grade" and (len(numbers) > 1 or any("." in number for number in numbers))


def _by_words(entity: Entity, other: Report) -> Fate:
    """Matched by its words alone: the other report holds them all, though not as an entity of this kind."""
    vocabulary = _vocabulary(other.text)
    needed = _numbers(entity.text) if entity.type == "grade" else frozenset()
    needed = needed or frozenset(words(entity.text))
    return Fate("matched", WORDED) if needed and needed <= vocabulary else _LOST
