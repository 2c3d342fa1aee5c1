"""Plain data that rooms exchange: typed spans of a text, links between them, and the names of their types."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    """A typed part of a text; `start` and `end` are characters of the text as given."""

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


VERDICTS = ("supported", "not_stated", "contradicted")
"""What a text may say of a statement, in the order of a checker's probabilities."""

CONTRADICTION_KINDS = (
    "value", "quantity", "negation", "side", "site", "person", "time", "drug", "marker", "diagnosis", "grade",
    "certainty", "cause", "plan", "other",
)  # fmt: skip
"""The kinds of error in a contradicted statement, in the order of a checker's outputs."""

INVENTION_KINDS = ("symptom", "history", "drug", "test", "finding", "plan", "other")
"""Kinds of content in a statement that the text does not mention, in the order of a checker's outputs."""


@dataclass(frozen=True, slots=True)
class Check:
    """A checker's judgement of one statement against one text.

    probabilities: of supported, not stated, contradicted; they sum to 1.
    start, end: characters of the text that decide; both 0 where nothing was read.
    kind: in what it is wrong, or what was invented, if it is not supported (`CONTRADICTION_KINDS`, `INVENTION_KINDS`).
    critical: probability that the error, if there is one, is clinically critical.
    """

    probabilities: tuple[float, float, float]
    start: int
    end: int
    kind: str
    critical: float

    @property
    def verdict(self) -> str:
        """The likeliest of `VERDICTS`."""
        return VERDICTS[max(range(3), key=self.probabilities.__getitem__)]

    def in_words(self, text: str) -> Check:
        """The same check with whole words that decide: a model's tokens may be parts of words."""
        start, end = self.start, self.end
        while 0 < start < end and text[start - 1].isalnum() and text[start].isalnum():
            start -= 1
        while 0 < end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
            end += 1
        return self if (start, end) == (self.start, self.end) else replace(self, start=start, end=end)
