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
from medassay.language.grades import normalise_grade
from medassay.language.graph import Report
from medassay.language.lexicon import named_pattern
from medassay.language.quantities import quantities
from medassay.language.rules.gleason import gleason_patterns
from medassay.language.rules.oppositions import opposing_sides
from medassay.language.rules.site_status import site_statuses
from medassay.language.sections import Section, Specimen, section_at, specimens
from medassay.language.sentences import sentences
from medassay.language.staging import stated
from medassay.language.stains import read_stains
from medassay.language.status import read_status
from medassay.language.terms import words

_CUT = named_pattern("cut")
_PAST = named_pattern("past")


_ASIDE = ("clinical", "gross")
"""Sections of another time, or of the specimen before it was cut. Of the section `specimen` only its first sentence
and listed specimens are aside: reports go on to the description without a heading."""
_LABELS = named_pattern("part label")
_NORMAL = "FINDING:normal-tissue"
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

    @property
    def sentence(self) -> str:
        """The clause as a sentence of its own: a capital first, one full stop last; characters keep their offsets.

        A model for pairs of sentences takes a missing full stop for a sign: the same clause has another probability.
        """
        bare = self.report.text.rstrip(" \t\n.;,")
        return f"{bare[:1].upper()}{bare[1:]}."


def clauses(report: Report) -> list[Clause]:
    """The clauses of a report, in text order; clauses without content are left out."""
    parts = specimens(report.text)
    heads = report.sections()
    cut = _clauses_at(report, list(_clause_spans(report.text)), parts, heads)
    if len(cut) > 1:
        return cut
    # A report of one line: its items are the clauses.
    return _clauses_at(report, list(_items(report)), parts, heads)


def _clauses_at(
    report: Report, spans: list[tuple[int, int]], parts: list[Specimen], heads: list[Section]
) -> list[Clause]:
    many = len(parts) > 1 or len(_LABELS.findall(report.text)) > 2 or len(report.text) > _ONE_SPECIMEN
    received = _received(report.text, heads)
    cut = []
    for start, end in spans:
        text = report.text[start:end]
        small = _slice(report, start, end)
        section = section_at(heads, start)
        kind = section.kind if section else ""
        topics = _topics(small) | ({"conclusion"} if _concludes(small, kind) else set())
        if not topics or text.rstrip().endswith(":"):
            continue
        label = next((part.label for part in parts if part.start <= start < part.end), "")
        past = bool(_PAST.search(text)) or kind in _ASIDE or any(a <= start < b for a, b in received)
        cut.append(Clause(small, start, end, label, many, kind, past, topics))
    return cut


def _received(text: str, heads: list[Section]) -> list[tuple[int, int]]:
    """What was received: the first sentence under each heading of the specimen, and the items of a list there."""
    spans: list[tuple[int, int]] = []
    for section in heads:
        if section.kind == "specimen":
            inside = [(section.body + a, section.body + b) for a, b in sentences(text[section.body : section.end])]
            spans += inside[:1] + [(a, b) for a, b in inside[1:] if _LABELS.match(text[a:b])]
    return spans


def _concludes(clause: Report, section: str) -> bool:
    """Whether a clause states what the report comes to: it stands under the diagnosis, or calls the tissue normal."""
    if section == "diagnosis":
        return any(map(str.isalpha, clause.text))
    return any(
        entity.concept is not None and entity.concept.id == _NORMAL and entity.assertion == "present"
        for entity in clause.entities
    )


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


_ITEM_END = re.compile(r",\s+|;\s+|\s(?=\()|\.\s+")
"""Where an item of a line ends: at a comma, a semicolon, a bracket or a full stop."""


def _items(report: Report) -> Iterator[tuple[int, int]]:
    """The items of a line, as between commas and before brackets, never cut inside an entity or a bracket."""
    text = report.text
    inside = [(entity.start, entity.end) for entity in report.entities]
    for first, last in sentences(text):
        start = first
        for match in _ITEM_END.finditer(text, first, last):
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
    topics = {f"marker {stain.marker}" for stain in read_stains(text)}
    topics |= {status.topic for status in read_status(text)}
    topics |= {f"category {scheme}" for scheme in stated(text)}
    topics |= {f"{q.dimension} {q.aspect} {word}" for q in quantities(text) for word in q.subject}
    topics |= opposing_sides(text)
    topics |= {"gleason"} if gleason_patterns(text) else set()
    topics |= {f"site {site}" for site, _, _ in site_statuses(report)}
    for entity in report.entities:
        if entity.type == "grade" and (grade := normalise_grade(entity.text)) is not None:
            topics.add("grade" if grade.tier else f"grade {grade.system}")
        elif entity.type in ("diagnosis", "finding"):
            general = entity.concept is not None and entity.concept.id in GENERAL
            topics.add("tumour" if general else "entity " + " ".join(sorted(word[:7] for word in words(entity.text))))
            if entity.concept is not None and not general:
                topics.add(f"concept {entity.concept.id}")
    if knowledge.named(text) is not None:
        topics.add("diagnosis")
    if any(balance >= _DESCRIBES for balance, _ in knowledge.ranking(text)[:1]):
        topics.add("description")
    return frozenset(topics)


_DESCRIBES = 3.0
"""Balance of evidence from which a clause counts as the description of some diagnosis."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two clauses, by index, to be compared: premise and hypothesis, and why."""

    premise: int
    hypothesis: int
    kind: str


_FEW = 3
"""Pairs below which a report's clauses are also held to its diagnosis, whatever they speak of."""


def pairs(clauses: list[Clause]) -> list[Pair]:
    """The pairs of clauses that speak of the same thing, descriptions before the diagnoses they are held to.

    Where these are few, every other clause is paired with the diagnosis as well (kind `conclusion`): with the first
    clause that names one, else the first under its heading or that calls the tissue normal.
    """
    alike = _alike(clauses)
    if len(alike) >= _FEW:
        return alike
    concluding = [i for i, clause in enumerate(clauses) if "diagnosis" in clause.topics and not clause.past]
    if not concluding:
        concluding = [i for i, clause in enumerate(clauses) if _diagnoses(clause)]
    if not concluding:
        concluding = [i for i, clause in enumerate(clauses) if "conclusion" in clause.topics and not clause.past]
    taken = {(pair.premise, pair.hypothesis) for pair in alike}
    for i, clause in enumerate(clauses):
        for j in concluding[:1]:
            if (
                i != j
                and not clause.past
                and not _apart(clause, clauses[j])
                and not {(i, j), (j, i)} & taken
                and len(alike) < _FEW
            ):
                alike.append(Pair(i, j, "conclusion"))
    return alike


def _diagnoses(clause: Clause) -> bool:
    return any(entity.type == "diagnosis" for entity in clause.report.entities)


def described(clauses: list[Clause]) -> list[Pair]:
    """Every clause of findings with every clause of a diagnosis: the pairs of the published method."""
    kinds = [{entity.type for entity in clause.report.entities} for clause in clauses]
    premises = [i for i, types in enumerate(kinds) if "diagnosis" not in types and types & {"finding", "marker"}]
    hypotheses = [j for j, types in enumerate(kinds) if "diagnosis" in types]
    return [Pair(i, j, "description") for i in premises for j in hypotheses]


_MOST = 2_000
"""Pairs of one report that are compared at most, the nearest clauses first; only very long texts reach it."""


def _alike(clauses: list[Clause]) -> list[Pair]:
    alike: list[Pair] = []
    usable = [i for i, clause in enumerate(clauses) if not clause.past]
    for distance in range(1, min(len(usable), _MOST)):
        for i, j in zip(usable, usable[distance:]):
            clause, other = clauses[i], clauses[j]
            kind = _kind(clause, other)
            if not kind or (_apart(clause, other) and not (kind == "marker" and clause.specimen == other.specimen)):
                continue
            backward = kind == "description" and not ("description" in clause.topics and "diagnosis" in other.topics)
            alike.append(Pair(j, i, kind) if backward else Pair(i, j, kind))
        if len(alike) >= _MOST:
            break
    return sorted(
        alike[:_MOST], key=lambda pair: (min(pair.premise, pair.hypothesis), max(pair.premise, pair.hypothesis))
    )


def _apart(clause: Clause, other: Clause) -> bool:
    """Whether two clauses speak, or may speak, of different specimens."""
    if clause.many:
        return not clause.specimen or clause.specimen != other.specimen
    return bool(clause.specimen and other.specimen and clause.specimen != other.specimen)


_PAIR_KINDS = {
    "marker": "marker", "node": "node", "margin": "margin", "category": "stage", "gleason": "grade", "grade": "grade",
    "site": "site", "entity": "finding", "concept": "finding",
    "length": "number", "weight": "number", "share": "number", "count": "number",
}  # fmt: skip
"""The kind of a pair by how a topic that both clauses share begins; the first that fits counts."""


def _kind(clause: Clause, other: Clause) -> str:
    """Why two clauses are comparable: what they share; empty where nothing."""
    shared = clause.topics & other.topics
    for beginning, kind in _PAIR_KINDS.items():
        if any(topic.startswith(beginning) for topic in shared):
            return kind
    if any(_opposite(topic) in other.topics for topic in clause.topics if topic.startswith("side ")):
        return "finding"
    for left, right in ((clause, other), (other, clause)):
        if "description" in left.topics and "diagnosis" in right.topics:
            return "description"
    return ""


def _opposite(side: str) -> str:
    """The other side of an opposition: of `side 3a` it is `side 3b`."""
    return side[:-1] + ("b" if side.endswith("a") else "a")
