"""Tables of a study: columns in order, estimates as three cells."""

from __future__ import annotations

from medassay.study.resampling import Estimate
from medassay.study.tables import Table


def test_columns_come_in_order_of_appearance() -> None:
    table = Table("t", "T", [{"a": 1, "b": "x"}, {"c": None, "a": 2}])
    assert table.columns == ["a", "b", "c"]


def test_an_estimate_becomes_three_columns_and_a_missing_cell_is_empty() -> None:
    table = Table("t", "T", [{"r": Estimate(0.5, 0.25, 0.75), "n": 3}, {"r": Estimate(float("nan"))}])
    assert table.flat() == [
        {"r": 0.5, "r.low": 0.25, "r.high": 0.75, "n": 3},
        {"r": None, "r.low": None, "r.high": None, "n": None},
    ]
