"""Rows of a scores file as items and systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from medassay.engine.score_table import Labels, ScoreTable, make_table
from medassay.errors import MedassayError
from medassay.study.pairing import joined_labels, pair_items


def table(rows: Sequence[Mapping[str, Any]]) -> ScoreTable:
    return make_table("t.csv", enumerate(rows, 1), {"m": True})


def systems(**scores: Sequence[float | None]) -> list[dict[str, Any]]:
    return [{"id": str(i), "system": name, "m": value} for name, many in scores.items() for i, value in enumerate(many)]


def test_rows_become_items_by_systems() -> None:
    scores = table(systems(a=[1.0, None, 3.0], b=[4.0, 5.0]))
    paired = pair_items(scores, ["system"], None, "none", 1)
    assert paired.systems == ("a", "b") and paired.item == "id"
    matrix = paired.matrix(scores.numbers("m"))
    assert np.array_equal(matrix, [[1.0, 4.0], [np.nan, 5.0], [3.0, np.nan]], equal_nan=True)
    assert paired.present.tolist() == [[True, True], [True, True], [True, False]]
    assert paired.headline == "2 of 3 items have a row from both systems, paired by column 'id'."


def test_several_rows_of_a_system_on_one_item_count_as_their_mean() -> None:
    scores = table([*systems(a=[1.0], b=[2.0]), {"id": "0", "system": "a", "m": 3.0}])
    paired = pair_items(scores, ["system"], None, "none", 1)
    assert paired.matrix(scores.numbers("m")).tolist() == [[2.0, 2.0]]
    assert "3 rows become 2" in paired.headline


def test_items_of_one_reference_are_one_cluster() -> None:
    rows = systems(a=[1.0, 2.0, 3.0], b=[1.0, 2.0, 3.0])
    for row in rows:
        row["reference_key"] = "one" if row["id"] == "2" else "two"
    paired = pair_items(table(rows), ["system"], "id", "reference", 1)
    assert paired.cluster_count == 2 and paired.clusters[0] == paired.clusters[1] != paired.clusters[2]


def test_nothing_that_pairs_is_an_error() -> None:
    rows = [{"id": str(i), "system": name, "m": 1.0} for i, name in enumerate("aabb")]
    with pytest.raises(MedassayError, match="nothing pairs their rows"):
        pair_items(table(rows), ["system"], None, "none", 1)
    with pytest.raises(MedassayError, match="no column 'system'"):
        pair_items(table([{"id": "1", "m": 1.0}]), ["system"], None, "none", 1)


def test_several_columns_are_joined_in_order_of_appearance() -> None:
    first = Labels(np.array([1, 0, 1, -1]), ("x", "y"))
    second = Labels(np.array([0, 0, 1, 0]), ("u", "v"))
    joined = joined_labels([first, second])
    assert joined.names == ("y / u", "x / u", "y / v") and joined.codes.tolist() == [0, 1, 2, -1]
