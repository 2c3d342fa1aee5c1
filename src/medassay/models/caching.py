"""A cache of recent answers, so that a model is not asked the same question twice."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")


class RecentAnswers(OrderedDict[Question, Answer]):
    """Answers by question; beyond `most` of them, the oldest are dropped."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def keep(self, answers: Mapping[Question, Answer]) -> None:
        """Add answers, then drop the oldest beyond `most`."""
        self.update(answers)
        while len(self) > self.most:
            self.popitem(last=False)

    def look_up(
        self, questions: Sequence[Question], compute: Callable[[list[Question]], Iterable[Answer]]
    ) -> list[Answer]:
        """The answer to each question; `compute` is called once, with the distinct ones that are not cached."""
        unknown = [question for question in dict.fromkeys(questions) if question not in self]
        computed = dict(zip(unknown, compute(unknown)))
        answers = [computed[question] if question in computed else self[question] for question in questions]
        self.keep(computed)
        return answers
