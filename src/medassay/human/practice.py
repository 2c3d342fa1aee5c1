"""Practice: how far an annotator's answers are from those expected, and whether that is near enough to go on."""

from __future__ import annotations

from medassay.human.freeze import TRAINING
from medassay.human.protocols.base import Question
from medassay.human.state import answers
from medassay.human.store import StoredTask
from medassay.human.study import Study

TOLERANCE = 1
"""How far a count may be from the one expected: what is one fact and what is two is a matter of judgement."""


def practice_score(study: Study, task: StoredTask) -> float | None:
    """The share of a practice task's expected answers that were given, counts to within `TOLERANCE`; 0…1.

    None where the task is not finished, or where the study's wording expects nothing any more.
    """
    number = int(task.unit.case_id.removeprefix(TRAINING)) if task.training else 0
    if not task.training or not task.state["done"] or number > len(study.wording.training):
        return None
    near = []
    for slot, text in enumerate(study.wording.training[number - 1].candidates, 1):
        given = answers(study.protocol, task.state, str(slot))
        for name, want in text.expected.items():
            near.append(_is_near(study.protocol.question(name), given.get(name), want))
    return sum(near) / len(near) if near else None


def _is_near(question: Question | None, given: float | None, want: float) -> bool:
    if question is None or given is None:
        return False
    return abs(given - want) <= TOLERANCE if question.is_count else given == want


def is_passed(study: Study, task: StoredTask) -> bool:
    """Whether a practice task is finished, and near enough to what was expected."""
    score = practice_score(study, task)
    return task.state["done"] and (score is None or score >= study.practice_threshold)
