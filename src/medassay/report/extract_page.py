"""The page of `medassay extract`: entities marked in the text, their assertions, relations and concepts.

One HTML file without scripts or outside files. It is drawn from the records of the extract file, so that it can be
drawn again from that file. All text of a report is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from string import Template
from typing import Any

from medassay import __version__
from medassay.report.sections import asset, content_hash
from medassay.spans import ENTITY_TYPES

Record = Mapping[str, Any]
"""One line of the extract file."""

BYTES = 4_600_000
"""What the drawn reports may take; a page of this size still opens at once."""

_RELATIONS = {
    "marker_modifier": ("Marker results", "shows"),
    "diagnosis_descriptor": ("Certainty of diagnoses", "qualified by"),
    "diagnosis_grade": ("Grades, stages and sizes of diagnoses", "has"),
    "finding_grade": ("Grades and sizes of findings", "has"),
}
_CUES = {"absent": "stated as absent", "possible": "stated as possible"}


class ExtractPage:
    """Takes in records one by one and draws as many as a page can hold."""

    def __init__(self, title: str = "Extracted reports") -> None:
        self.title = title
        self.drawn: list[str] = []
        self.size = 0
        self.seen = 0

    def add(self, record: Record) -> None:
        """Draw one record; past `BYTES` records are only counted."""
        self.seen += 1
        if self.size > BYTES:
            return
        html = draw(record, len(self.drawn))
        self.size += len(html.encode("utf-8", "replace"))
        if self.size <= BYTES or not self.drawn:
            self.drawn.append(html)

    def html(self) -> str:
        """The whole page."""
        style = asset("extract.css")
        left = self.seen - len(self.drawn)
        note = f'<p class="note">{left:,} further reports are in the extract file only.</p>' if left else ""
        return Template(asset("extract.html")).substitute(
            policy=f"default-src 'none'; style-src {content_hash(style)}; base-uri 'none'; form-action 'none'",
            title=escape(self.title),
            style=style,
            facts=f"{self.seen:,} report{'s' if self.seen != 1 else ''}",
            legend=_legend(),
            note=note,
            reports="\n".join(self.drawn),
            version=escape(__version__),
        )


def draw(record: Record, number: int = 0) -> str:
    """One report as an article; `number` keeps the anchors of several on one page apart."""
    entities: Sequence[Mapping[str, Any]] = record["entities"]
    counts = {how: sum(entity["assertion"] == how for entity in entities) for how in _CUES}
    facts = [f"{len(entities)} entities", *(f"{count} {how}" for how, count in counts.items() if count)]
    facts += [f"{len(record['relations'])} relations"] if record["relations"] else []
    name = " · ".join(str(part) for part in (record["id"], record.get("system")) if part)
    return (
        f'<article aria-labelledby="r{number}"><h2 id="r{number}">{escape(name)}</h2>'
        f'<p class="facts">{" · ".join(facts)}</p>'
        f'<div class="text">{_marked(record["text"], entities, number)}</div>'
        f"{_related(record, number)}</article>"
    )


def _marked(text: str, entities: Sequence[Mapping[str, Any]], number: int) -> str:
    """The text with a mark around each entity; where two overlap the first is marked."""
    pieces = []
    at = 0
    for i, entity in sorted(enumerate(entities), key=lambda pair: pair[1]["start"]):
        start, end = entity["start"], entity["end"]
        if start < at or end <= start or end > len(text):
            continue
        pieces += [escape(text[at:start]), _mark(text[start:end], entity, f"r{number}e{i}")]
        at = end
    return "".join([*pieces, escape(text[at:])])


def _mark(words: str, entity: Mapping[str, Any], anchor: str) -> str:
    label = entity["type"] + (f" · {entity['assertion']}" if entity["assertion"] in _CUES else "")
    return (
        f'<mark id="{anchor}" class="{_classes(entity)}" tabindex="0" aria-describedby="{anchor}t">'
        f"<span>{escape(words)}</span><small>{escape(label)}</small>"
        f'<span class="tip" role="tooltip" id="{anchor}t">{_tip(entity)}</span></mark>'
    )


def _tip(entity: Mapping[str, Any]) -> str:
    """What is known of an entity beyond its words: the concept, the assertion, the reader's confidence."""
    concept = entity.get("concept")
    named = f"<b>{escape(concept['name'])}</b>{escape(concept['id'])}" if concept else "not linked to a concept"
    if concept and concept.get("link") not in (None, "exact"):
        named += f" ({escape(concept['link'])} match)"
    assertion = escape(_CUES.get(entity["assertion"], f"stated as {entity['assertion']}"))
    return f"{named}<br>{assertion}; confidence {entity['score']:.2f}"


def _classes(entity: Mapping[str, Any]) -> str:
    kind = entity["type"] if entity["type"] in ENTITY_TYPES else "other"
    return f"{kind} {entity['assertion']}" if entity["assertion"] in _CUES else kind


def _related(record: Record, number: int) -> str:
    """The relations as lists of labelled arrows, a list for each kind."""
    entities = record["entities"]
    kinds: dict[str, list[str]] = {}
    for relation in record["relations"]:
        title, arrow = _RELATIONS.get(relation["type"], (relation["type"], "related to"))
        head, tail = (_reference(entities, relation[end], number) for end in ("head", "tail"))
        item = f'<li>{head}<span class="arrow">— {escape(arrow)} →</span>{tail}</li>'
        kinds.setdefault(title, []).append(item)
    if not kinds:
        return ""
    lists = "".join(f"<h3>{escape(title)}</h3><ul>{''.join(items)}</ul>" for title, items in kinds.items())
    return f'<section class="relations" aria-label="Relations">{lists}</section>'


def _reference(entities: Sequence[Mapping[str, Any]], i: int, number: int) -> str:
    entity = entities[i]
    return f'<a href="#r{number}e{i}" class="{_classes(entity)}">{escape(" ".join(entity["text"].split()))}</a>'


def _legend() -> str:
    kinds = "".join(f'<div><dt><mark class="{kind}"><span>{kind}</span></mark></dt></div>' for kind in ENTITY_TYPES)
    cues = "".join(
        f'<div><dt><mark class="other {how}"><span>words</span></mark></dt><dd>{meaning}</dd></div>'
        for how, meaning in _CUES.items()
    )
    return kinds + cues
