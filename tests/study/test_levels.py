"""Agreement over all cases, inside items and between systems, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from medassay.study.levels import between_systems, item_level, least_squares, line_rmse, scale_ends, within_items


def test_over_all_cases_by_hand() -> None:
    x, y = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([1.0, 3.0, 2.0, 5.0, 4.0])
    estimates, drawn = item_level(x, y, np.arange(5), 5, 5, 100, 1)
    # d² = 0, 1, 1, 1, 1: Spearman = 1 − 6·4 / (5·24); 8 of 10 pairs concordant.
    assert estimates["spearman"].value == pytest.approx(0.8) and estimates["kendall"].value == pytest.approx(0.6)
    assert len(drawn) == 100


def test_the_mean_inside_items_leaves_out_items_without_variation() -> None:
    # Item 0 keeps the order, item 1 reverses it, item 2 does not vary, item 3 has one case, the last case has no item.
    x = np.array([1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 9.0])
    y = np.array([1.0, 2.0, 2.0, 1.0, 5.0, 5.0, 1.0, 9.0])
    items = np.array([0, 0, 1, 1, 2, 2, 3, -1])
    estimates, used, idle = within_items(x, y, items, items, 50, 1)
    assert (used, idle) == (2, 2) and estimates["pearson"].value == pytest.approx(0.0)
    assert within_items(x, y, np.full(8, -1), items, 50, 1) == ({}, 0, 0)


def test_between_systems_p_counts_all_orders() -> None:
    systems = np.repeat(np.arange(4), 5)
    estimates, count = between_systems(systems + 0.1, 2.0 * systems, systems, np.tile(np.arange(5), 4), 50, 1)
    assert count == 4 and estimates["spearman"].value == pytest.approx(1.0)
    assert estimates["spearman"].p == pytest.approx(2 / 24)  # the same order and the reverse
    assert between_systems(np.ones(2), np.ones(2), np.array([0, 1]), np.arange(2), 50, 1) == ({}, 2)


def test_the_scale_is_0_to_1_unless_values_lie_outside() -> None:
    assert scale_ends(np.array([0.2, 0.9]), None) == (0.0, 1.0)
    assert scale_ends(np.array([1.0, np.nan, 4.0]), None) == (1.0, 4.0)
    assert scale_ends(np.array([1.0, 4.0]), (0.0, 5.0)) == (0.0, 5.0)
    assert line_rmse(np.array([0.0, 5.0]), 0.6, (0.0, 5.0)) == pytest.approx(0.5 * math.sqrt(1 - 0.36))


def test_a_line_through_points_on_a_line() -> None:
    x = np.array([0.0, 1.0, 2.0, 3.0, np.nan])
    line = least_squares(x, 1.0 + 2.0 * x, np.arange(5), 3, 100)
    assert line.x.tolist() == [0.0, 1.5, 3.0] and line.y.tolist() == pytest.approx([1.0, 4.0, 7.0])
    assert line.low is not None and line.low.tolist() == pytest.approx([1.0, 4.0, 7.0])
    assert least_squares(x, x, np.zeros(5, int), 3, 100).low is None
