"""The report graph: what a report says, as entities with assertions and concepts, joined by relations.

`read_reports` is the one way from text to graph; every metric that looks at content goes through it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from medassay.language.assertion import decide_assertions
from medassay.language.concepts import Concept, link
from medassay.language.sections import Section, sections
from medassay.models import load
from medassay.spans import Reading, Span

READ_AT_ONCE = 64
"""Texts read together: enough to fill batches, few enough that entity and relation pass share states.

A model that has no states to share says itself how many it takes (`at_once`)."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A typed span of a report: characters [start, end) of the text as given.

    assertion: present, absent or possible. score: the reader's confidence, 0–1.
    concept: what it is linked to, or None.
    """

    start: int
    end: int
    text: str
    type: str
    assertion: str
    score: float
    concept: Concept | None

    def to_json(self) -> dict[str, Any]:
        """As in the extract file."""
        return {
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "type": self.type,
            "assertion": self.assertion,
            "score": round(self.score, 4),
            "concept": self.concept.to_json() if self.concept else None,
        }


@dataclass(frozen=True, slots=True)
class Relation:
    """Head and tail are indices into the report's entities."""

    head: int
    tail: int
    type: str
    score: float

    def to_json(self) -> dict[str, Any]:
        """As in the extract file."""
        return {"head": self.head, "tail": self.tail, "type": self.type, "score": round(self.score, 4)}


@dataclass(frozen=True, slots=True)
class Report:
    """A report that has been read."""

    text: str
    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]

    def to_json(self) -> dict[str, Any]:
        """As in the extract file."""
        return {
            "text": self.text,
            "entities": [entity.to_json() for entity in self.entities],
            "relations": [relation.to_json() for relation in self.relations],
        }

    def beginning(self, length: int) -> Report:
        """The first `length` characters and the entities in them; the report itself where it is no longer."""
        if len(self.text) <= length:
            return self
        return Report(self.text[:length], tuple(e for e in self.entities if e.end <= length), ())

    def sections(self) -> list[Section]:
        """The report cut at its headings; `sections.section_at` tells which one an entity stands in."""
        return sections(self.text)


def read_reports(texts: Sequence[str], models: str = "embedded") -> list[Report]:
    """Read each distinct text once; the reports come in the order of the texts."""
    distinct = list(dict.fromkeys(texts))
    ner, relations = load("ner", models), load("re", models)
    step = int(getattr(ner, "at_once", READ_AT_ONCE))
    parts = [distinct[start : start + step] for start in range(0, len(distinct), step)]
    read_parts = _on_device if hasattr(ner, "begin") and hasattr(relations, "begin") else _one_by_one
    read = {report.text: report for report in read_parts(parts, ner, relations)}
    return [read[text] for text in texts]


def _one_by_one(parts: Iterable[Sequence[str]], ner: Any, relations: Any) -> Iterator[Report]:
    for texts in parts:
        spans = ner.spans(texts)
        yield from map(_report, texts, spans, relations.read(texts, spans))


def _on_device(parts: Iterable[Sequence[str]], ner: Any, relations: Any) -> Iterator[Report]:
    """The same where models answer later (`begin`): a device always has the next part's entities and this part's
    relations to work on while the reports of the part before are put together."""
    coming = iter(parts)
    texts = next(coming, None)
    spans_of = ner.begin(texts) if texts is not None else None
    earlier: tuple[Sequence[str], Sequence[Sequence[Span]], Callable[[], list[Reading]]] | None = None
    while texts is not None and spans_of is not None:
        spans = spans_of()
        following = next(coming, None)
        spans_of = ner.begin(following) if following is not None else None
        asked = relations.begin(texts, spans)
        if earlier is not None:
            yield from map(_report, earlier[0], earlier[1], earlier[2]())
        earlier, texts = (texts, spans, asked), following
    if earlier is not None:
        yield from map(_report, earlier[0], earlier[1], earlier[2]())


def _report(text: str, spans: Sequence[Span], reading: Reading) -> Report:
    assertions = decide_assertions(text, spans, reading)
    entities = tuple(
        Entity(s.start, s.end, text[s.start : s.end], s.type, assertion, s.score, link(text[s.start : s.end], s.type))
        for s, assertion in zip(spans, assertions)
    )
    return Report(text, entities, tuple(Relation(k.head, k.tail, k.type, k.score) for k in reading.links))
