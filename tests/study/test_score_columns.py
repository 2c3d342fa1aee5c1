from __future__ import annotations

import numpy as np
from tests.report.sample import Given, run, sample

from medassay.cases import Case
from medassay.engine.score_table import make_table
from medassay.result import Result
from medassay.scores import Score
from medassay.study import Comparison, ScoreColumns, compare


def columns_of(result: Result) -> ScoreColumns:
    columns = ScoreColumns(result.metrics)
    for i, case in enumerate(result.cases):
        columns.add(case, {name: scores[i] for name, scores in result.scores.items()})
    return columns


def test_comparison_from_the_columns_is_that_of_the_whole_result() -> None:
    result = sample()
    ours, theirs = (
        columns_of(result).compare(),
        compare(
            make_table(
                "result",
                enumerate(result.rows(), 1),
                {metric.name: metric.higher_is_better for metric in result.metrics},
                result.signatures,
            )
        ),
    )
    assert isinstance(ours, Comparison)
    assert ours.pairs == theirs.pairs and ours.systems == theirs.systems and ours.item == theirs.item


def test_values_leave_out_unscored_cases_and_keep_their_order() -> None:
    given = {"1": Score(0.75), "2": Score.none("no"), "3": Score(0.25)}
    cases = [Case(name, "x", ("y",), system="s") for name in given] + [Case("1", "x", ("y",))]
    values = columns_of(run(cases, Given("m", lambda case: given[case.id]))).values()
    assert values["m", "s"].tolist() == [0.75, 0.25]
    assert values["m", ""].tolist() == [0.75]


def test_a_case_without_a_system_is_not_a_system() -> None:
    cases = [Case(str(i), "x", (str(i),), system=name) for i in range(6) for name in ("a", None, "b")]
    metric = Given("m", lambda case: Score(float(np.cos(int(case.id))) / 2 + (0.5 if case.system == "a" else 0.0)))
    comparison = columns_of(run(cases, metric)).compare()
    assert isinstance(comparison, Comparison)
    assert comparison.systems == ("a", "b") and comparison.pairs[0].n == 6
    assert abs((comparison.pairs[0].difference or 0.0) - 0.5) < 1e-12
