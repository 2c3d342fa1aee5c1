"""A report cut into clauses, and which of them speak of the same thing.

A clause counts where it has content (an entity, a marker's result, a number, a stage); it is read within its
report. Two clauses are worth comparing where they share a subject: a marker, a finding or diagnosis,
margins, nodes, a grade, a measured thing, a side; or where one describes what the other diagnoses.
Clauses about different specimens (part A, part B) or different points in time are kept apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from medassay.language import knowledge
from medassay.language.alignment import GENERAL
from medassay.language.contradiction import gleason_patterns, opposing_sides, site_statuses
from medassay.language.grades import normalise_grade
from medassay.language.graph import Report
from medassay.language.lexicon import named_pattern
from medassay.language.quantities import quantities
from medassay.language.sections import Section, Specimen, section_at, specimens
from medassay.language.sentences import sentences
from medassay.language.staging import stated
from medassay.language.stains import read_stains
from medassay.language.status import read_status
from medassay.language.terms import words

_CUT = named_pattern("cut")
_PAST = named_pattern("past")


_ASIDE = ("history", "clinical", "preoperative", "gross", "macroscopic", "procedure", "specimen")
_LABELS = re.compile(r"(?:^|[\n.;:])\s{0,20}+(?:PART |Part |#\s?)?(?:[A-Z]|\d{1,2})[.):]\s++(?=[A-Z\"'])")
_ONE_SPECIMEN = 3_000
"""Characters: a longer report is taken to speak of several specimens, whether or not its parts are labelled."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of a report: a small report of its own whose text stands at [start, end) of the whole.

    specimen: label of the part it speaks of, empty where the report has none. many: whether the report has several
    parts. section: kind of its section. past: whether it tells of another time or place than the specimen at hand,
    or how the specimen was received. topics: what it is about.
    """

    report: Report
    start: int
    end: int
    specimen: str
    many: bool
    section: str
    past: bool
    topics: frozenset[str]


def as_sentence(text: str) -> str:
    """A clause as a sentence of its own: a capital first, one full stop last; characters before it keep their offsets.

    A model for pairs of sentences takes a missing full stop for a sign: the same clause has another probability.

    >>> as_sentence("high grade leiomyosarcoma;"), as_sentence("No mitoses.")
    ('High grade leiomyosarcoma.', 'No mitoses.')
    """
    bare = text.rstrip(" \t\n.;,")
    return f"{bare[:1].upper()}{bare[1:]}."


def clauses(report: Report) -> list[Clause]:
    """The clauses of a report, in text order; clauses without content are left out."""
    parts = specimens(report.text)
    heads = report.sections()
    made = _made(report, list(_clause_spans(report.text)), parts, heads)
    if len(made) > 1:
        return made
    # A report of one line: its items are the clauses.
    return _made(report, list(_items(report)), parts, heads)


def _made(report: Report, spans: list[tuple[int, int]], parts: list[Specimen], heads: list[Section]) -> list[Clause]:
    many = len(parts) > 1 or len(_LABELS.findall(report.text)) > 2 or len(report.text) > _ONE_SPECIMEN
    made = []
    for start, end in spans:
        text = report.text[start:end]
        small = _slice(report, start, end)
        topics = _topics(small)
        if not topics or text.rstrip().endswith(":"):
            continue
        label = next((part.label for part in parts if part.start <= start < part.end), "")
        section = section_at(heads, start)
        kind = section.kind if section else ""
        past = bool(_PAST.search(text)) or kind in _ASIDE
        made.append(Clause(small, start, end, label, many, kind, past, topics))
    return made


def _clause_spans(text: str) -> Iterator[tuple[int, int]]:
    for first, last in sentences(text):
        start = first
        for match in _CUT.finditer(text, first, last):
            if match.start() - start >= 12:
                yield start, match.start()
                start = match.end()
        if last > start:
            yield start, last


def _slice(report: Report, start: int, end: int) -> Report:
    """The part of a report at [start, end): its text and the entities in it, counted from `start`."""
    entities = tuple(
        replace(e, start=e.start - start, end=e.end - start)
        for e in report.entities
        if start <= e.start and e.end <= end
    )
    return Report(report.text[start:end], entities, ())


_ITEM = re.compile(r",\s+|;\s+|\s(?=\()|\.\s+")


def _items(report: Report) -> Iterator[tuple[int, int]]:
    """The items of a line, as between commas and before brackets, never cut inside an entity or a bracket."""
    text = report.text
    inside = [(entity.start, entity.end) for entity in report.entities]
    for first, last in sentences(text):
        start = first
        for match in _ITEM.finditer(text, first, last):
            bracket = text.count("(", start, match.start()) > text.count(")", start, match.start())
            if bracket or any(a < match.end() and match.start() < b for a, b in inside):
                continue
            yield start, match.start()
            start = match.end()
        if last > start:
            yield start, last


def _topics(report: Report) -> frozenset[str]:
    """What a clause is about, as keys that two clauses can share."""
    text = report.text
    found = {f"marker {stain.marker}" for stain in read_stains(text)}
    found |= {status.topic for status in read_status(text)}
    found |= {f"category {scheme}" for scheme in stated(text)}
    found |= {f"{q.dimension} {q.aspect} {word}" for q in quantities(text) for word in q.subject}
    found |= opposing_sides(text)
    found |= {"gleason"} if gleason_patterns(text) else set()
    found |= {f"site {site}" for site, _, _ in site_statuses(report)}
    for entity in report.entities:
        if entity.type == "grade" and (grade := normalise_grade(entity.text)) is not None:
            found.add("grade" if grade.tier else f"grade {grade.system}")
        elif entity.type in ("diagnosis", "finding"):
            general = entity.concept is not None and entity.concept.id in GENERAL
            found.add("tumour" if general else "entity " + " ".join(sorted(word[:7] for word in words(entity.text))))
            if entity.concept is not None and not general:
                found.add(f"concept {entity.concept.id}")
    if knowledge.named(text) is not None:
        found.add("diagnosis")
    if any(balance >= DESCRIBES for balance, _ in knowledge.ranking(text)[:1]):
        found.add("description")
    return frozenset(found)


DESCRIBES = 3.0
"""Balance of evidence from which a clause counts as the description of some diagnosis."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two clauses, by index, to be compared: premise and hypothesis, and why."""

    premise: int
    hypothesis: int
    kind: str


FEW = 3
"""Pairs below which a report's clauses are also held to its diagnosis, whatever they speak of."""


def pairs(found: list[Clause]) -> list[Pair]:
    """The pairs of clauses that speak of the same thing, descriptions before the diagnoses they are held to.

    Where these are few, every other clause is paired with the diagnosis as well (kind `conclusion`).
    """
    made = _alike(found)
    if len(made) >= FEW:
        return made
    concluding = [i for i, one in enumerate(found) if "diagnosis" in one.topics and not one.past]
    if not concluding:
        concluding = [i for i, one in enumerate(found) if any(e.type == "diagnosis" for e in one.report.entities)]
    taken = {(pair.premise, pair.hypothesis) for pair in made}
    for i, one in enumerate(found):
        for j in concluding[:1]:
            if (
                i != j
                and not one.past
                and not _apart(one, found[j])
                and not {(i, j), (j, i)} & taken
                and len(made) < FEW
            ):
                made.append(Pair(i, j, "conclusion"))
    return made


def described(found: list[Clause]) -> list[Pair]:
    """Every clause of findings with every clause of a diagnosis: the pairs of the published method."""
    kinds = [{entity.type for entity in one.report.entities} for one in found]
    premises = [i for i, types in enumerate(kinds) if "diagnosis" not in types and types & {"finding", "marker"}]
    hypotheses = [j for j, types in enumerate(kinds) if "diagnosis" in types]
    return [Pair(i, j, "description") for i in premises for j in hypotheses]


MOST = 2_000
"""Pairs of one report that are compared at most, the nearest clauses first; only very long texts reach it."""


def _alike(found: list[Clause]) -> list[Pair]:
    made: list[Pair] = []
    usable = [i for i, one in enumerate(found) if not one.past]
    for distance in range(1, min(len(usable), MOST)):
        for i, j in zip(usable, usable[distance:]):
            one, other = found[i], found[j]
            kind = _kind(one, other)
            if not kind or (_apart(one, other) and not (kind == "marker" and one.specimen == other.specimen)):
                continue
            backward = kind == "description" and not ("description" in one.topics and "diagnosis" in other.topics)
            made.append(Pair(j, i, kind) if backward else Pair(i, j, kind))
        if len(made) >= MOST:
            break
    return sorted(
        made[:MOST], key=lambda pair: (min(pair.premise, pair.hypothesis), max(pair.premise, pair.hypothesis))
    )


def _apart(one: Clause, other: Clause) -> bool:
    """Whether two clauses speak, or may speak, of different specimens."""
    if one.many:
        return not one.specimen or one.specimen != other.specimen
    return bool(one.specimen and other.specimen and one.specimen != other.specimen)


_OPPOSED = re.compile(r"^side (\d+)([ab])$")


def _kind(one: Clause, other: Clause) -> str:
    """Why two clauses are comparable: what they share; empty where nothing."""
    shared = one.topics & other.topics
    for start in (
        "marker",
        "node",
        "margin",
        "category",
        "gleason",
        "grade",
        "site",
        "entity",
        "concept",
        "length",
        "weight",
        "share",
        "count",
    ):
        if any(topic.startswith(start) for topic in shared):
            return {"entity": "finding", "concept": "finding", "category": "stage", "gleason": "grade"}.get(
                start, "number" if start in ("length", "weight", "share", "count") else start
            )
    sides = [{match.groups() for topic in s.topics if (match := _OPPOSED.match(topic))} for s in (one, other)]
    if any((number, "b" if side == "a" else "a") in sides[1] for number, side in sides[0]):
        return "finding"
    for left, right in ((one, other), (other, one)):
        if "description" in left.topics and "diagnosis" in right.topics:
            return "description"
    return ""
