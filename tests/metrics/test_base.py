"""What holds for every metric: lacking fields, broken rows, several references, signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from medassay import __version__
from medassay.cases import Case, make_cases
from medassay.errors import MedassayError
from medassay.metrics.base import Metric, Part
from medassay.scores import Score


class Length(Metric):
    """Characters of the reference over those of the candidate; breaks on the word `boom`."""

    name = "length"
    summary = "made for tests"
    defined = "here"
    parts = ("reference", "candidate")
    bounds = (0.0, None)
    calls = 0

    def settings(self) -> Mapping[str, object]:
        return {"unit": "character"}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        self.calls += 1
        scores = []
        for case in cases:
            if case.candidate == "boom":
                raise KeyError("boom")
            ours, theirs = float(len(case.candidate)), float(len(case.reference or ""))
            shown = {"seen": 1} if evidence else {}
            scores.append(Score(theirs / ours, parts={"reference": theirs, "candidate": ours}, evidence=shown))
        return scores


class Fewer(Length):
    """Loses a case."""

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return super().measure(cases, evidence)[1:]


class Lower(Length):
    """The same number, where less is better."""

    higher_is_better = False


def test_one_score_a_case_in_order_with_reasons() -> None:
    cases = [
        Case("1", "ab", ("abcd",)),
        Case("2", "  ", ("abcd",)),
        Case("3", "ab"),
        Case("4", "ab", (" ",)),
        Case("5", "abcd", ("ab",)),
    ]
    scores = Length().score(cases)
    assert [s.value for s in scores] == [2.0, None, None, None, 0.5]
    assert [s.unscored for s in scores] == [None, "empty candidate", "no reference", "no reference", None]


def test_no_cases_no_scores_and_nothing_measured() -> None:
    metric = Length()
    assert metric.score([]) == [] and metric.score([Case("1", "")])[0].value is None
    assert metric.calls == 0


def test_a_row_that_breaks_never_loses_the_others() -> None:
    scores = Length().score(make_cases(["a", "boom", "bb"], ["aa", "x", "bb"]))
    assert [s.value for s in scores] == [2.0, None, 1.0]
    assert scores[1].failed == "KeyError: 'boom'" and scores[1].unscored is None


def test_a_metric_that_loses_a_case_fails_and_nothing_shifts() -> None:
    scores = Fewer().score(make_cases(["a", "b"], ["a", "b"]))
    assert [score.failed for score in scores] == ["ValueError: returned 0 scores for 1 case"] * 2


def test_several_references_best_mean_and_direction() -> None:
    cases = make_cases(["ab"], [["abcd", "ab", "abcdef"]])
    assert Length().score(cases)[0].value == 3.0
    assert Lower().score(cases)[0].value == 1.0
    (mean,) = Length(references="mean").score(cases)
    assert mean.value == 2.0 and dict(mean.parts) == {"reference": 4.0, "candidate": 2.0}
    assert mean.statistics == (2.0,)
    with pytest.raises(MedassayError, match="length: references: 'worst' is not one of best, mean"):
        Length(references="worst")  # type: ignore[arg-type]


def test_evidence_names_its_reference_where_there_are_several() -> None:
    metric = Length()
    (one,) = metric.score(make_cases(["ab"], ["ab"]), evidence=True)
    (many,) = metric.score(make_cases(["ab"], [["ab", "abcd"]]), evidence=True)
    assert (one.evidence, many.evidence) == ({"seen": 1}, {"seen": 1, "reference": 1})


def test_signature() -> None:
    assert Length(references="mean").signature == f"length|unit:character|refs:mean|v:{__version__}"


def test_the_default_aggregate_is_the_mean() -> None:
    sums, counts = np.array([[6.0], [0.0]]), np.array([3.0, 0.0])
    mean = Length().combine(sums, counts)
    assert mean[0] == 2.0 and np.isnan(mean[1])


def test_a_part_is_a_metric_of_its_own() -> None:
    part = Part(Length(references="mean"), "candidate")
    scores = part.score(make_cases(["ab", ""], [["x", "yy"], "z"]), evidence=True)
    assert scores[0].value == 2.0 and scores[1].unscored == "empty candidate"
    assert scores[0].evidence["seen"] == 1
    assert part.name == "length.candidate"
    assert part.signature == f"length.candidate|of:length.candidate|unit:character|refs:mean|v:{__version__}"
