"""One finding or diagnosis, present in one statement and absent in the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from medassay.language.alignment import GENERAL
from medassay.language.concepts import ancestors, behaviour
from medassay.language.graph import Entity, Report
from medassay.language.lexicon import named_pattern, plain_words
from medassay.language.rules.base import Rule
from medassay.language.rules.verdict import CONTRADICTS, ENTAILS, Kind, RuleVerdict
from medassay.language.terms import stems, word_coverage

_METASTASIS = "MONDO:0024883"
_COVERED = 0.5
"""Share of the hypothesis's words that the premise must have for an entailment."""

_RESECTED = named_pattern("margin, node or surface")
_DOUBLE_NEGATION_BEFORE = named_pattern("not not")
_DOUBLE_NEGATION_AFTER = named_pattern("not absent")
_DOUBT_BEFORE = named_pattern("doubt before")
_DOUBT_AFTER = named_pattern("doubt after")
_MICRO = named_pattern("micro")
_METASTATIC = named_pattern("metastasis")


class AssertionRule(Rule):
    """Entities that name one thing, with the same assertion or with opposite ones."""

    name = "assertion"

    def compare(self, premise: Report, hypothesis: Report) -> Iterator[RuleVerdict]:
        known = [(entity, _sites(premise, entity)) for entity in _asserted(premise)]
        covered = word_coverage(premise.text, hypothesis.text)
        for entity in _asserted(hypothesis):
            sites = _sites(hypothesis, entity)
            for other, other_sites in known:
                identity = self._identity(other, entity)
                if not identity or not _overlap(other_sites, sites):
                    continue
                spans = (other.start, other.end), (entity.start, entity.end)
                if {other.assertion, entity.assertion} == {"present", "absent"}:
                    weight = self.weights["present and absent"] * identity
                    yield RuleVerdict(CONTRADICTS, Kind.ASSERTION, *spans, weight)
                elif other.assertion == entity.assertion != "possible" and identity == 1.0 and covered >= _COVERED:
                    yield RuleVerdict(ENTAILS, Kind.ASSERTION, *spans, self.weights["same assertion"] * covered)
                elif other.assertion == "possible" and entity.assertion == "absent":
                    weight = self.weights["possible and absent"] * identity
                    yield RuleVerdict(CONTRADICTS, Kind.ASSERTION, *spans, weight)

    def _identity(self, first: Entity, second: Entity) -> float:
        """How surely two entities are one thing for a denial, 0–1: the same, or the denied one is the broader."""
        left, right = stems(first.text), stems(second.text)
        if not left or not right:
            return 0.0
        general = [_is_general(entity) for entity in (first, second)]
        if left == right and not any(general):
            return 1.0
        micro = [_MICRO.search(entity.text.lower()) is not None for entity in (first, second)]
        if left != right and (_is_bare(left) or _is_bare(right) or micro[0] != micro[1]):
            return 0.0
        nested = left <= right or right <= left
        if first.concept is None or second.concept is None:
            return self.weights["words in common"] if len(left & right) >= 2 and nested else 0.0
        if first.concept.id == second.concept.id and not any(general) and left & right:
            return 1.0 if nested else self.weights["one concept, other words"]
        for narrow, broad, broad_is_general in ((first, second, general[1]), (second, first, general[0])):
            if broad.assertion != "absent" or narrow.assertion == "absent":
                continue
            if broad_is_general and narrow.type == "diagnosis":
                return self.weights["malignancy denied"] if _is_denied_cancer(narrow, broad) else 0.0
            if (
                broad.concept is not None
                and narrow.concept is not None
                and broad.concept.id in ancestors(narrow.concept)
            ):
                return self.weights["broader concept denied"]
        return 0.0


def _asserted(report: Report) -> list[Entity]:
    """Diagnoses and findings with their stance; margins and nodes have their own rule."""
    return [
        replace(entity, assertion=_stance(report.text, entity.start, entity.end, entity.assertion))
        for entity in report.entities
        if entity.type in ("diagnosis", "finding") and len(entity.text) > 2 and not _RESECTED.search(entity.text)
    ]


@lru_cache(maxsize=50_000)
def _stance(text: str, start: int, end: int, assertion: str) -> str:
    """An entity's assertion, with double negation and doubt told in its clause taken into account."""
    before = text[max(0, start - 60) : start]
    if _DOUBLE_NEGATION_BEFORE.search(before) or _DOUBLE_NEGATION_AFTER.search(text[end : end + 30]):
        return "present"
    if _DOUBT_BEFORE.search(before) or _DOUBT_AFTER.search(text[end : end + 100]):
        return "possible"
    return assertion


def _is_general(entity: Entity) -> bool:
    return entity.concept is not None and entity.concept.id in GENERAL


def _is_bare(words: frozenset[str]) -> bool:
    """Whether words need the place that they leave out: no invasion of the capsule is not no vascular invasion."""
    return words <= plain_words("bare finding")


def _is_denied_cancer(narrow: Entity, broad: Entity) -> bool:
    if narrow.concept is None or broad.concept is None or behaviour(narrow.concept) != "malignant":
        return False
    return broad.concept.id != _METASTASIS or _METASTATIC.search(narrow.text.lower()) is not None


def _overlap(first: frozenset[str], second: frozenset[str]) -> bool:
    """False where both are sites, and none of the one lies in one of the other."""
    if not first or not second:
        return True
    above_first = {identity for site in first for identity in (site, *ancestors(site))}
    above_second = {identity for site in second for identity in (site, *ancestors(site))}
    return bool(first & above_second or second & above_first)


def _sites(report: Report, entity: Entity) -> frozenset[str]:
    """The sites that the sentence of an entity names."""
    left = max(report.text.rfind(". ", 0, entity.start), report.text.rfind("; ", 0, entity.start))
    right = report.text.find(". ", entity.end)
    right = len(report.text) if right < 0 else right
    return frozenset(
        other.concept.id
        for other in report.entities
        if other.type == "site" and other.concept is not None and left <= other.start and other.end <= right
    )
