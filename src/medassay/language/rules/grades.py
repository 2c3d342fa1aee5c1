"""Grades of one system, or of systems that translate into each other."""

from __future__ import annotations

from collections.abc import Iterator

from medassay.language.grades import Grade, compare_grades, normalise_grade
from medassay.language.graph import Entity, Report
from medassay.language.lexicon import named_pattern
from medassay.language.rules.base import Rule
from medassay.language.rules.verdict import CONTRADICTS, ENTAILS, Kind, RuleVerdict

_NOT_GRADES = ("severity", "extent", "quantity", "size", "percent", "rate", "count", "number", "tnm", "component")
"""Systems of `normalise_grade` that are no grades of a tumour, or have a rule of their own."""

_ENDOCRINE = named_pattern("neuroendocrine")


class GradeRule(Rule):
    """Two grades of a tumour."""

    name = "grade"

    def compare(self, premise: Report, hypothesis: Report) -> Iterator[RuleVerdict]:
        known = [(entity, grade) for entity, grade in _grades(premise) if grade.system not in _NOT_GRADES]
        endocrine = _ENDOCRINE.search(premise.text.lower()) is not None
        for entity, grade in _grades(hypothesis):
            if grade.system in _NOT_GRADES:
                continue
            nuclear = grade.system == "nuclear_grade"
            related = [
                (compare_grades(other, grade), other_entity)
                for other_entity, other in known
                if (other.system == "nuclear_grade") == nuclear
            ]
            related = [(relation, other_entity) for relation, other_entity in related if relation != "unrelated"]
            if not related or endocrine:
                continue
            agreeing = next((other for relation, other in related if relation in ("equal", "compatible")), None)
            label = CONTRADICTS if agreeing is None else ENTAILS
            spans = _span(agreeing or related[0][1]), _span(entity)
            yield RuleVerdict(label, Kind.GRADE, *spans, self.weights["two grades"])


def _grades(report: Report) -> list[tuple[Entity, Grade]]:
    return [
        (entity, grade)
        for entity in report.entities
        if entity.type == "grade" and (grade := normalise_grade(entity.text)) is not None
    ]


def _span(entity: Entity) -> tuple[int, int]:
    return entity.start, entity.end
