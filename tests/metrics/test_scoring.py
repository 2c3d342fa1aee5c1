"""What becomes of a metric that misbehaves: each way is defined, and no other row pays for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from medassay.cases import Case, make_cases
from medassay.metrics.base import Ensemble, Metric, Part, SetMetric
from medassay.metrics.registry import load_metric
from medassay.metrics.scoring import score_slice
from medassay.scores import Score


class Misbehaving(Metric):
    """1 for every text but `bad`, on which it does what the test says."""

    name = "misbehaving"
    summary = defined = "here"
    needs = frozenset({"candidate"})

    def __init__(self, act: Callable[[], Any], whole: bool = False) -> None:
        super().__init__()
        self.act, self.whole = act, whole

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        if self.whole and any(case.candidate == "bad" for case in cases):
            return self.act()  # type: ignore[no-any-return]
        return [self.act() if case.candidate == "bad" else Score(1.0, parts={"half": 0.5}) for case in cases]


def raises(error: BaseException) -> Callable[[], Any]:
    def act() -> Any:
        raise error

    return act


CASES = make_cases(["good", "bad", "fine"])


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        (Misbehaving(raises(ValueError("no good"))), "ValueError: no good"),
        (Misbehaving(raises(MemoryError())), "MemoryError: there is not enough memory"),
        (Misbehaving(raises(RecursionError("deep"))), "RecursionError: deep"),
        (Misbehaving(lambda: sys.exit(3)), "SystemExit: 3"),
        (Misbehaving(lambda: Score(float("nan"))), "ValueError: a score must be finite, not nan"),
        (Misbehaving(lambda: Score(float("inf"))), "ValueError: a score must be finite, not inf"),
        (Misbehaving(lambda: None), "TypeError: returned NoneType for a case, not a Score"),
        (Misbehaving(lambda: 0.5), "TypeError: returned float for a case, not a Score"),
        (Misbehaving(lambda: None, whole=True), "TypeError: returned NoneType, not a list of scores"),
        (Misbehaving(list, whole=True), "ValueError: returned 0 scores for 1 case"),
        (Misbehaving(lambda: [Score(1.0)] * 2, whole=True), "ValueError: returned 2 scores for 1 case"),
    ],
)
def test_the_row_fails_with_its_error_and_the_others_keep_their_scores(metric: Metric, reason: str) -> None:
    first, bad, last = metric.score(CASES)
    assert (first.value, last.value) == (1.0, 1.0)
    assert (bad.value, bad.unscored, bad.failed) == (None, None, reason)


def test_the_line_that_raised_is_kept() -> None:
    assert "test_scoring.py, line" in Misbehaving(raises(ValueError())).score(CASES)[1].evidence["raised"]


def test_an_interrupt_interrupts() -> None:
    with pytest.raises(KeyboardInterrupt):
        Misbehaving(raises(KeyboardInterrupt())).score(CASES)


class Sum(Ensemble):
    name = "sum"
    summary = defined = "here"

    def __init__(self, *members: Metric) -> None:
        super().__init__()
        self.members = members

    def compose(self, scores: Sequence[Sequence[Score]], evidence: bool = False) -> list[Score]:
        return [Score(sum(score.value or 0.0 for score in each)) for each in zip(*scores)]


class Uncomposable(Sum):
    def compose(self, scores: Sequence[Sequence[Score]], evidence: bool = False) -> list[Score]:
        raise KeyError("nothing composed")


def other() -> Metric:
    metric = Misbehaving(lambda: Score(1.0))
    metric.name = "other"
    return metric


def test_where_a_member_fails_the_ensemble_fails() -> None:
    broken = Misbehaving(raises(ValueError("no good")))
    scores = Sum(other(), broken).score(CASES)
    assert [score.value for score in scores] == [2.0, None, 2.0]
    assert scores[1].failed == "misbehaving: ValueError: no good"
    assert [score.failed for score in Part(broken, "half").score(CASES)] == [None, "ValueError: no good", None]
    assert Uncomposable(other()).score(CASES[:1])[0].failed == "KeyError: 'nothing composed'"


def test_one_reference_that_fails_fails_the_case() -> None:
    class Picky(Metric):
        name = "picky"
        summary = defined = "here"

        def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
            return [Score(1.0 / (case.reference != "bad")) for case in cases]

    (score,) = Picky().score(make_cases(["x"], [["good", "bad"]]))
    assert score.failed == "ZeroDivisionError: float division by zero"


def test_evidence_is_an_argument_and_leaves_no_trace() -> None:
    metric = load_metric("rouge1")
    case = make_cases(["no tumor"], ["no tumor seen"])
    assert metric.score(case, evidence=True)[0].evidence
    assert not metric.score(case)[0].evidence
    part = load_metric("rouge1.recall")
    assert part.score(case, evidence=True)[0].evidence and not part.score(case)[0].evidence


def test_a_part_is_that_of_its_whole_also_with_several_references() -> None:
    case = make_cases(["a b c"], [["a b c d e f", "a b"]])
    (whole,) = load_metric("rouge1").score(case)
    (part,) = load_metric("rouge1.recall").score(case)
    assert part.value == whole.parts["recall"]


def test_a_slice_of_a_set_metric_is_scored_without_another_survey() -> None:
    class Counting(SetMetric):
        name = "counting"
        summary = defined = "here"
        needs = frozenset({"candidate"})
        bounds = (0.0, None)
        seen = 0

        def survey(self, batches: Any, scored: Any) -> None:
            self.seen = sum(len(cases) for cases in batches)

        def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
            return [Score(float(self.seen)) for _ in cases]

    metric = Counting()
    assert [score.value for score in metric.score(CASES)] == [3.0] * 3
    assert [score.value for score in score_slice(metric, CASES[:1])] == [3.0]
