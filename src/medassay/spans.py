"""Plain data that rooms exchange: typed spans of a text, links between them, and the names of their types."""

from __future__ import annotations

from dataclasses import dataclass

ENTITY_TYPES = ("site", "diagnosis", "descriptor", "marker", "modifier", "finding", "grade")
"""The seven entity types, HARE's five first, in the order of a classifier's outputs."""

HARE_TYPES = ENTITY_TYPES[:5]
"""The five entity types of HARE (section 3.1); `finding` and `grade` are additions."""

ASSERTIONS = ("present", "absent", "possible")
"""What a report may say of an entity, in the order of a classifier's outputs."""

RELATION_TYPES = {
    ("marker", "modifier"): "marker_modifier",
    ("diagnosis", "descriptor"): "diagnosis_descriptor",
    ("diagnosis", "grade"): "diagnosis_grade",
    ("finding", "grade"): "finding_grade",
}
"""Relation of each (head, tail) type pair that may be related; other pairs are never asked about."""


@dataclass(frozen=True, slots=True)
class Span:
    """A typed stretch of a text; `start` and `end` are characters of the text as given."""

    start: int
    end: int
    type: str
    score: float


@dataclass(frozen=True, slots=True)
class Link:
    """A relation between two spans of one text, by their indices."""

    head: int
    tail: int
    type: str
    score: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What a relation model reads in one text: an assertion for each span, and the links.

    `assertions` is empty where the model reads none (relation models of the hub): the caller then
    decides by rule.
    """

    assertions: tuple[tuple[str, float], ...]
    links: tuple[Link, ...]
