"""Aggregates by system, as a summary prints them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from medassay.engine.score_table import ScoreTable, make_table
from medassay.study.aggregates import Series, aggregates, series_of
from medassay.study.pairing import pair_items


def table(rows: Sequence[Mapping[str, Any]]) -> ScoreTable:
    return make_table("t.csv", enumerate(rows, 1), {"m": True})


def systems(**scores: Sequence[float | None]) -> list[dict[str, Any]]:
    return [{"id": str(i), "system": name, "m": value} for name, many in scores.items() for i, value in enumerate(many)]


def test_means_are_over_the_scored_rows_of_a_system() -> None:
    scores = table(systems(a=[1.0, 2.0, 6.0], b=[None, 4.0, 5.0], c=[None, None, None]))
    paired = pair_items(scores, ["system"], None, "none", 1)
    values = aggregates({"m": series_of(scores, "m")}, paired, 200, 1)["m"]
    assert (values["a"].value, values["a"].n) == (pytest.approx(3.0), 3)
    assert (values["b"].value, values["b"].n) == (pytest.approx(4.5), 2)
    assert math.isnan(values["c"].value) and values["c"].low is None


def test_a_column_without_statistics_is_a_mean() -> None:
    series = series_of(table(systems(a=[1.0, 2.0], b=[3.0, 4.0])), "m")
    assert not series.corpus and series.statistics.tolist() == [[1.0], [2.0], [3.0], [4.0]]
    assert float(series.combine(np.array([6.0, 3.0]))) == 2.0


def test_terms_are_summed_by_cluster() -> None:
    sums = Series.cluster_sums(np.array([[1.0, 1.0], [2.0, 1.0], [4.0, 1.0]]), np.array([0, 2, 0]), 4)
    assert sums.tolist() == [[5.0, 2.0], [0.0, 0.0], [2.0, 1.0], [0.0, 0.0]]
