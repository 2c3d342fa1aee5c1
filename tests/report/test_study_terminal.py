"""Studies in the terminal: agreement with people, sensitivity cards."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from tests.report.studies import stress, validation

from medassay.report.study_terminal import print_cross_data, print_preferences, print_stress, print_validation
from medassay.report.terminal import plain_console
from medassay.study import CrossData, Estimate, Pairwise, PreferenceStudy


def lines_of(print_study: Callable[..., None], study: Any) -> list[str]:
    stream = io.StringIO()
    print_study(plain_console(stream, 200), study)
    return [" ".join(line.split()) for line in stream.getvalue().splitlines() if line.strip()]


def test_metrics_are_ranked_and_what_is_not_assessed_is_named() -> None:
    lines = lines_of(print_validation, validation())
    assert lines[0] == "h ↑"
    assert lines[3].startswith("1 ") and lines[4].startswith("2 ")
    assert any(line.startswith("flat: not assessed") for line in lines)


def test_averages_over_data_sets_say_how_many_there_are() -> None:
    study = CrossData(
        data=("one", "two"),
        metrics=("low", "high"),
        humans=("f1",),
        higher={"low": True, "high": False, "f1": True},
        averages={("low", "f1"): 0.25, ("high", "f1"): -0.5},
        counts={("low", "f1"): 2, ("high", "f1"): 1},
        aggregates={},
        aggregate_of=(),
        coefficient="pearson",
    )
    lines = lines_of(print_cross_data, study)
    assert lines[:2] == ["Average over 2 data sets, pearson", "metric f1 ↑ (2)"]
    assert {"low ↑ 0.250", "high ↓ -0.500"} <= set(lines)


def test_preferences_list_the_best_metric_first() -> None:
    def pairs(accuracy: float) -> Pairwise:
        return Pairwise(Estimate(accuracy), Estimate(accuracy), 0.1, 0.25, 40)

    study = PreferenceStudy(
        metrics=("a", "b", "c"),
        judged=40,
        pairwise={"a": pairs(0.5), "b": pairs(0.75), "c": None},
        missing={"c": 40},
        systems={"a": Estimate(0.5), "b": Estimate(1.0)},
        system_pairs=3,
    )
    lines = lines_of(print_preferences, study)
    assert lines[0] == "Preferences of people: 40 judged pairs"
    assert [line.split()[0] for line in lines[3:5]] == ["b", "a"]
    assert "c: not assessed, no judged pair has both scores." in lines
    assert any("people call 25% a tie" in line for line in lines)


def test_the_ladder_comes_before_the_card_of_each_metric() -> None:
    lines = lines_of(print_stress, stress())
    assert lines[0].startswith("The ladder") and lines.count("rouge1 ↑") == 1
    assert any(line.startswith("change kind drop %") for line in lines)
