from __future__ import annotations

import re

import numpy as np

from medassay.report.charts import COLOURS, Axis, histograms, limits, marker, whisker, window


def test_axis_places_values_in_proportion_and_holds_them_inside() -> None:
    axis = Axis(0.0, 2.0, left=10, right=110)
    assert [axis.x(value) for value in (-1.0, 0.0, 0.5, 2.0, 9.0)] == [10, 10, 35, 110, 110]


def test_limits_without_bounds_are_round_numbers_about_the_values() -> None:
    assert limits((None, None), [-0.31, 0.42]) == (-0.4, 0.5)
    assert limits((0.0, None), []) == (0.0, 1.0)
    low, high = limits((None, None), [3.0, 3.0])
    assert low < 3.0 < high


def test_window_always_holds_every_value() -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        values = random.uniform(0, 1, 3) ** random.integers(1, 6)
        low, high = window((0.0, 1.0), values.tolist())
        assert low <= values.min() and values.max() <= high and 0.0 <= low < high <= 1.0


def test_whisker_draws_no_interval_where_there_is_none() -> None:
    assert "whisk" in whisker(0.5, 0.4, 0.6, (0.0, 1.0), 0).replace('class="whisker"', "")
    assert "whisk" not in whisker(0.5, None, None, (0.0, 1.0), 0).replace('class="whisker"', "")
    assert "mark" not in whisker(float("nan"), None, None, (0.0, 1.0), 0)


def test_neighbouring_systems_differ_in_colour_and_in_shape() -> None:
    drawn = [re.sub(r"[\d.,]+", "", marker(0, 0, system).split("class")[0]) for system in range(2)]
    assert drawn[0] != drawn[1]
    looks = {
        re.sub(r"-?[\d.]+", "#", marker(0, 0, i).replace(f"s{i % COLOURS}", chr(97 + i % COLOURS))) for i in range(16)
    }
    assert len(looks) == 16


def test_histogram_bars_are_in_proportion_to_their_counts() -> None:
    values = np.array([0.1] * 4 + [0.9] * 2)
    picture = histograms([("a <b>", 0, values), ("", 1, np.array([]))], (0.0, 1.0), 1.0, "m")
    heights = [float(height) for height in re.findall(r'<rect[^>]* height="([\d.]+)"', picture)]
    assert heights == [42.0, 21.0]
    assert "a &lt;b&gt;" in picture and "no scored case" in picture and "n 6" in picture
