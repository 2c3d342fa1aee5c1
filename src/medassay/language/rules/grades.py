"""Grades of one system, or of systems that translate into each other."""

from __future__ import annotations

from collections.abc import Iterator

from medassay.language.grades import Grade, compare_grades, normalise_grade
from medassay.language.graph import Entity, Report
from medassay.language.lexicon import named_pattern
from medassay.language.rules.base import Rule
from medassay.language.rules.subject import PART, is_limited, is_negated
from medassay.language.rules.verdict import CONTRADICTS, ENTAILS, Kind, RuleVerdict
from medassay.language.staging import nottingham_sum, stated

_NOT_GRADES = ("severity", "extent", "quantity", "size", "percent", "rate", "count", "number", "tnm", "component")
"""Systems of `normalise_grade` that are no grades of a tumour, or have a rule of their own."""

_LESSER = named_pattern("lesser")
_ENDOCRINE = named_pattern("neuroendocrine")


class GradeRule(Rule):
    """Two grades, or inside one statement a score and the grade that it adds up to."""

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
            yield self._verdict(label, "two grades", _span(agreeing or related[0][1]), _span(entity))

    def within(self, report: Report) -> Iterator[RuleVerdict]:
        grades = _grades(report)
        for entity, score in grades:
            for other, group in grades:
                if (score.system, group.system) != ("gleason", "grade_group"):
                    continue
                relation = compare_grades(score, group)
                if relation != "unrelated":
                    label = CONTRADICTS if relation == "conflict" else ENTAILS
                    yield self._verdict(label, "score and its group", _span(entity), _span(other))
        follows, named = nottingham_sum(report.text), stated(report.text).get("nottingham")
        if follows is not None and named is not None:
            label = ENTAILS if follows[0] == named[0] else CONTRADICTS
            yield self._verdict(label, "components and their grade", follows[1:], named[1:])

    def same_subject(self, verdict: RuleVerdict, premise: Report, hypothesis: Report) -> bool:
        first, second = premise.text, hypothesis.text
        if (PART.search(first) is None) != (PART.search(second) is None):
            return False
        lesser = _LESSER.search(first) is not None or _LESSER.search(second) is not None
        return not is_limited(first, second) and not lesser and not is_negated(first, second)

    def _verdict(self, label: str, case: str, first: tuple[int, int], second: tuple[int, int]) -> RuleVerdict:
        return RuleVerdict(label, Kind.GRADE, first, second, self.weights[case])


def _grades(report: Report) -> list[tuple[Entity, Grade]]:
    return [
        (entity, grade)
        for entity in report.entities
        if entity.type == "grade" and (grade := normalise_grade(entity.text)) is not None
    ]


def _span(entity: Entity) -> tuple[int, int]:
    return entity.start, entity.end
