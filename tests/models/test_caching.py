"""The cache of recent answers: each question is computed once, and the oldest answers are dropped."""

from __future__ import annotations

from medassay.models.caching import RecentAnswers


def test_only_distinct_new_questions_are_computed() -> None:
    cache: RecentAnswers[str, int] = RecentAnswers(10)
    asked: list[list[str]] = []

    def compute(questions: list[str]) -> list[int]:
        asked.append(questions)
        return [len(question) for question in questions]

    assert cache.look_up(["a", "bb", "a"], compute) == [1, 2, 1]
    assert cache.look_up(["bb", "ccc"], compute) == [2, 3]
    assert asked == [["a", "bb"], ["ccc"]]


def test_the_oldest_answers_are_dropped() -> None:
    cache: RecentAnswers[int, int] = RecentAnswers(2)
    assert cache.look_up([1, 2, 3], lambda questions: [10 * i for i in questions]) == [10, 20, 30], "all are answered"
    assert dict(cache) == {2: 20, 3: 30}
