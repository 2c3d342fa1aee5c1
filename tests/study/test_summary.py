"""Summaries: hand arithmetic, scipy's bootstrap as an oracle, and the promises about clusters and memory."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from medassay.cases import Case
from medassay.errors import MedassayError
from medassay.metrics.base import Floats, Metric
from medassay.result import Result
from medassay.scores import Score
from medassay.study import summary
from medassay.study.resampling import MOST_CLUSTERS, bootstrap_sums
from medassay.study.summary import Aggregate, Tally, summarise


class Given(Metric):
    """A metric whose scores the test makes itself."""

    summary = "given"
    defined = "here"

    def __init__(self, name: str = "m") -> None:
        super().__init__()
        self.name = name

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        raise AssertionError("summaries never rescore")


class Ratio(Given):
    """A corpus-level metric: sum of the first statistic over sum of the second."""

    def combine(self, sums: Floats, counts: Floats) -> Floats:
        return sums[..., 0] / sums[..., 1]


def result_of(
    values: Sequence[float | None], *, references: Sequence[str] | None = None, **columns: Sequence[str]
) -> Result:
    cases = [
        Case(
            str(i),
            "text",
            (references[i] if references else f"reference {i}",),
            system=columns["system"][i] if "system" in columns else None,
            extra={name: column[i] for name, column in columns.items() if name != "system"},
            row=i + 1,
        )
        for i in range(len(values))
    ]
    scores = [Score.none("empty candidate") if value is None else Score(value) for value in values]
    return Result(cases, [Given()], {"m": scores})


def tally(result: Result) -> Tally:
    counted = Tally(result.metrics)
    for case, score in zip(result.cases, result["m"]):
        counted.add(case, {"m": score})
    return counted


def only(rows: list[Aggregate]) -> Aggregate:
    assert len(rows) == 1
    return rows[0]


def test_unscored_and_failed_are_counted_apart() -> None:
    result = result_of([0.5, None, 0.7, 0.9])
    scores = [*result["m"][:2], Score.failure("broke"), Score.failure("broke again")]
    row = only(Result(result.cases, result.metrics, {"m": scores}).summary())
    assert (row.n, row.unscored, row.failed, row.value) == (1, 1, 2, 0.5)


def test_values_by_hand_and_unscored_counted() -> None:
    row = only(result_of([0.1, 0.2, None, 0.6]).summary())
    assert (row.n, row.unscored, row.group) == (3, 1, None)
    assert row.value == pytest.approx(0.3)  # (0.1 + 0.2 + 0.6) / 3
    assert row.median == pytest.approx(0.2)
    assert row.sd == pytest.approx(math.sqrt((0.04 + 0.01 + 0.09) / 2))
    assert row.low is not None and row.high is not None and 0 <= row.low < 0.1 and 0.6 < row.high <= 1


def test_nothing_scored_gives_no_number() -> None:
    row = only(result_of([None, None]).summary())
    assert math.isnan(row.value) and math.isnan(row.median) and math.isnan(row.sd)
    assert (row.n, row.unscored, row.low, row.high) == (0, 2, None, None)


def test_one_case_has_no_interval_and_no_spread() -> None:
    row = only(result_of([0.5, None]).summary())
    assert (row.value, row.low, row.high) == (0.5, None, None)
    assert math.isnan(row.sd)


def test_one_cluster_has_no_interval() -> None:
    row = only(result_of([0.1, 0.5, 0.9], references=["same"] * 3).summary())
    assert (row.low, row.high) == (None, None)
    assert only(result_of([0.1, 0.5, 0.9], references=["same"] * 3).summary(cluster="none")).low is not None


@pytest.mark.parametrize("values", [[0.1, 0.9], [0.4, 0.4, 0.4], [0.4] * 200, [1 / 3] * 7])
def test_two_cases_and_equal_cases_have_no_interval(values: list[float]) -> None:
    row = only(result_of(values).summary())
    assert (row.low, row.high) == (None, None)


def test_sums_too_large_for_a_number_give_none() -> None:
    row = only(result_of([1e308, 1e308, 1e308]).summary())
    assert math.isnan(row.value) and row.median == 1e308
    assert (row.low, row.high) == (None, None)


def test_bounds_that_the_values_break_do_not_cut_the_interval() -> None:
    row = only(result_of([0.5, 3.0, 0.2, 0.4, 2.0]).summary())  # the metric says 0 to 1, as the part of a count may
    assert row.low is not None and row.low >= 0 and row.high is not None and row.high > 2


def test_no_resamples_no_interval() -> None:
    assert only(result_of([0.1, 0.9]).summary(resamples=0)).low is None
    with pytest.raises(MedassayError, match="resamples"):
        result_of([0.1, 0.9]).summary(resamples=-1)


def test_an_empty_run() -> None:
    assert only(summarise(Tally([Given()]))).n == 0


def test_interval_agrees_with_scipy() -> None:
    values = np.random.default_rng(3).beta(4, 2, 400)
    row = only(result_of(values.tolist()).summary(resamples=4000))
    oracle = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(5)
    )
    assert row.low == pytest.approx(oracle.confidence_interval.low, abs=0.002)
    assert row.high == pytest.approx(oracle.confidence_interval.high, abs=0.002)


def test_clusters_widen_the_interval() -> None:
    # Four equal copies of each case are no more evidence than one: the interval must be that of 60 cases.
    values = np.random.default_rng(0).random(60)
    copies, references = np.repeat(values, 4).tolist(), [f"r{i}" for i in np.repeat(np.arange(60), 4)]
    single = only(result_of(values.tolist()).summary())
    clustered = only(result_of(copies, references=references).summary())
    naive = only(result_of(copies, references=references).summary(cluster="none"))
    width = {name: row.high - row.low for name, row in (("1", single), ("c", clustered), ("n", naive))}  # type: ignore[operator]
    assert width["c"] == pytest.approx(width["1"], rel=0.1)
    assert width["n"] < 0.65 * width["c"]


def test_cluster_by_column_equals_the_same_clusters_by_reference() -> None:
    values = np.random.default_rng(1).random(120).tolist()
    wards = [f"w{i % 40}" for i in range(120)]
    by_column = only(result_of(values, ward=wards).summary(cluster="ward"))
    by_reference = only(result_of(values, references=wards).summary())
    assert by_column.value == pytest.approx(by_reference.value)
    assert by_column.low == pytest.approx(by_reference.low, abs=0.02)


def test_cases_without_reference_cluster_by_id() -> None:
    cases = [Case(f"{i // 2}", "c", system="ab"[i % 2]) for i in range(4)]
    counted = Tally([Given()])
    for case in cases:
        counted.add(case, {"m": Score(0.5)})
    summarise(counted, resamples=0)
    assert counted.cluster_count == 2


def test_groups_in_order_of_appearance() -> None:
    rows = result_of([1.0, 0.0, 0.5, 0.0], system=["b", "a", "b", "a"]).summary("system")
    assert [(row.group, row.value, row.n) for row in rows] == [("b", 0.75, 2), ("a", 0.0, 2)]


def test_missing_group_values_stay_visible() -> None:
    rows = result_of([1.0, 0.0], ward=["x", ""]).summary("ward")
    assert [(row.group, row.n) for row in rows] == [("x", 1), (None, 1)]


def test_unknown_columns_are_named() -> None:
    with pytest.raises(MedassayError, match="'ward'"):
        result_of([1.0, 0.0]).summary("ward")
    with pytest.raises(MedassayError, match="'ward'"):
        result_of([1.0, 0.0]).summary(cluster="ward")


def test_too_many_groups_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MOST_GROUPS", 3)
    with pytest.raises(MedassayError, match="row 4"):
        result_of([0.1] * 4, ward=list("abcd")).summary("ward")


def test_corpus_metric_combines_statistics() -> None:
    scores = [Score(0.5, statistics=(1, 2)), Score(0.25, statistics=(2, 8)), Score(0.3, statistics=(3, 10))]
    cases = [Case(str(i), "c", (f"r{i}",)) for i in range(3)]
    row = only(Result(cases, [Ratio()], {"m": scores}).summary())
    assert row.value == pytest.approx(6 / 20)  # not the mean of 0.5, 0.25 and 0.3
    assert row.median == 0.3
    assert row.low is not None and row.high is not None and 0 <= row.low < 0.3 < row.high <= 1


def test_statistics_of_changing_length_are_an_error() -> None:
    counted = Tally([Given()])
    counted.add(Case("1", "c"), {"m": Score(0.5)})
    with pytest.raises(MedassayError, match="2 statistics"):
        counted.add(Case("2", "c"), {"m": Score(0.5, statistics=(1, 2))})


def test_undefined_resamples_give_no_interval() -> None:
    scores = [Score(0.5, statistics=(1, 2)), Score(0.0, statistics=(0, 0))]
    cases = [Case("1", "c", ("r1",)), Case("2", "c", ("r2",))]
    with np.errstate(invalid="ignore"):
        row = only(Result(cases, [Ratio()], {"m": scores}).summary())
    assert (row.value, row.low, row.high) == (0.5, None, None)


def test_folding_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [0.1, None, 0.7, 0.4, 0.9, 0.2, None, 0.6] * 20
    made = result_of(values, system=["a", "b"] * 80, references=[f"r{i // 2}" for i in range(160)])
    whole = made.summary("system")
    monkeypatch.setattr(summary, "_PENDING", 7)
    folded = made.summary("system")
    for a, b in zip(whole, folded):
        assert (a.metric, a.group, a.n, a.unscored, a.median) == (b.metric, b.group, b.n, b.unscored, b.median)
        assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), abs=1e-12)


def test_more_clusters_than_are_drawn_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(2).random(3000).tolist()
    apart = only(result_of(values).summary())
    monkeypatch.setattr(summary, "MOST_CLUSTERS", 500)
    monkeypatch.setattr(summary, "_PENDING", 400)
    counted = tally(result_of(values))
    merged = only(summarise(counted))
    assert counted.cluster_count <= 500 < MOST_CLUSTERS
    assert merged.value == pytest.approx(apart.value, abs=1e-12)
    assert merged.low == pytest.approx(apart.low, abs=0.004)
    assert merged.high == pytest.approx(apart.high, abs=0.004)


def test_a_merged_cluster_keeps_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MOST_CLUSTERS", 100)
    monkeypatch.setattr(summary, "_PENDING", 120)
    references = [f"r{i}" for i in range(120)]
    counted = tally(result_of([0.5] * 130, references=[*references, *references[:10]]))
    before = counted.cluster_count
    summarise(counted, resamples=0)
    assert counted.cluster_count == before  # the ten came back to where they were


def test_same_seed_same_interval_other_seed_another() -> None:
    values = np.random.default_rng(4).random(50).tolist()
    assert result_of(values).summary(seed=7) == result_of(values).summary(seed=7)
    assert result_of(values).summary(seed=7) != result_of(values).summary(seed=8)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.randoms(use_true_random=False))
def test_interval_holds_the_value_and_ignores_row_order(values: list[float], shuffle: random.Random) -> None:
    row = only(result_of(values).summary(resamples=100))
    if row.low is None or row.high is None:
        assert len(values) < 3 or np.ptp(values) < 1e-5
        return
    assert 0 <= row.low <= row.value <= row.high <= 1
    order = list(range(len(values)))
    shuffle.shuffle(order)
    moved = only(
        result_of([values[i] for i in order], references=[f"reference {i}" for i in order]).summary(resamples=100)
    )
    assert (moved.value, moved.low, moved.high) == pytest.approx((row.value, row.low, row.high), abs=1e-9)


def test_resampled_sums_are_sums_over_drawn_clusters() -> None:
    drawn = bootstrap_sums(np.stack([np.ones(7), np.arange(7.0)], axis=1), 500, 1)
    assert (drawn[:, 0] == 7).all()  # each resample draws seven clusters
    assert drawn[:, 1].mean() == pytest.approx(21, abs=1)  # 7 × mean of 0 … 6
    assert drawn[:, 1].var() == pytest.approx(7 * 4, rel=0.25)  # 7 × variance of 0 … 6
