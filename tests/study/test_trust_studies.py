"""Sensitivity, repeat runs, ablation, benchmark, gap: arithmetic by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from medassay.errors import InputError
from medassay.study import Estimate, Table, TrustScores, ablation, benchmark, gap, repeat_runs, sensitivity
from medassay.study.material import CONTROL, LOGIC, PARAPHRASE


def value(cell: object) -> float:
    assert isinstance(cell, Estimate) and cell.known
    return cell.value


def table_of(kinds: Sequence[Sequence[str]], values: Sequence[Sequence[float]]) -> Table:
    return sensitivity(kinds, {"length": [np.array(row) for row in values]}, {"length": True})


def test_the_drop_by_hand() -> None:
    values = [[8.0, 6.0], [6.0, 6.0], [np.nan, 9.0]]  # the last control is unscored
    [row] = table_of([[CONTROL, LOGIC]] * 3, values).rows
    assert (row["control"], row["changed"], row["n"], row["unscored"]) == (7.0, 6.0, 2, 1)
    assert value(row["drop %"]) == pytest.approx(100 / 7)
    assert row["AUC"] == pytest.approx((1 + 1 + 0.5 + 0.5 + 0 + 0) / 6)  # {8, 6} above {6, 6, 9}


def test_paraphrases_are_the_control_of_errors() -> None:
    rows = table_of([[CONTROL, PARAPHRASE, LOGIC]], [[9.0, 7.0, 6.0]]).rows
    assert [row["variant"] for row in rows] == [LOGIC, PARAPHRASE]
    assert rows[0]["AUC"] == 1.0


def test_a_score_of_which_less_is_better_is_turned() -> None:
    [row] = sensitivity([[CONTROL, LOGIC]], {"errors": [np.array([1.0, 2.0])]}, {"errors": False}).rows
    assert row["AUC"] == 1.0 and value(row["drop %"]) == -100.0


def scores(rows: Sequence[tuple[str, str, str, float, float, float]]) -> TrustScores:
    """system, data set, level, then the three dimensions; trust by the published weights."""
    dimensions = np.array([row[3:] for row in rows], float)
    values = dict(zip(("grounding", "logic", "stability"), dimensions.T))
    values["trust"] = dimensions @ np.array([0.4, 0.3, 0.3])
    system, dataset, level = ([row[k] for row in rows] for k in range(3))
    return TrustScores(values, system, dataset, level, np.arange(len(rows)), np.zeros(len(rows), bool))


def test_the_benchmark_by_hand() -> None:
    made = scores(
        [
            ("a", "pub", "patch", 1.0, 0.5, 0.5),
            ("a", "pub", "patch", 0.5, 0.5, np.nan),
            ("b", "pub", "slide", 0.2, 0.2, 0.2),
        ]
    )
    rows = benchmark(made).rows
    assert [(row["data set"], row["level"], row["model"], row["n"], row["whole"]) for row in rows] == [
        ("pub", "patch", "a", 2, 1),
        ("pub", "slide", "b", 1, 1),
    ]
    assert value(rows[0]["grounding"]) == 0.75
    assert value(rows[1]["trust"]) == pytest.approx(0.2)


def test_the_gap_by_hand_and_its_interval() -> None:
    random = np.random.default_rng(0)
    rows = [("a", name, "patch", float(base + random.normal(0, 0.02)), 0.5, 0.5) for name, base in
            [("pub", 0.8)] * 40 + [("priv", 0.6)] * 40]  # fmt: skip
    found = {row["score"]: row for row in gap(scores(rows), "pub", "priv").rows}
    cell = found["grounding"]["gap"]
    assert isinstance(cell, Estimate) and cell.low is not None and cell.high is not None
    assert 0.17 < cell.low < 0.2 < cell.high < 0.23 or abs(value(cell) - 0.2) < 0.02
    assert value(found["logic"]["gap"]) == 0.0
    with pytest.raises(InputError, match="no data set 'other'"):
        gap(scores(rows), "pub", "other")


def test_ablation_sees_what_carries_the_agreement() -> None:
    random = np.random.default_rng(1)
    quality = random.random(120)
    rows = [("a", "d", "patch", random.random(), q, random.random()) for q in quality.tolist()]
    found = {row["trust"]: row for row in ablation(scores(rows), quality, [0.4, 0.3, 0.3]).rows}
    assert value(found["logic alone"]["Spearman"]) == pytest.approx(1.0)
    assert value(found["without logic"]["change %"]) < -50
    assert value(found["without grounding"]["change %"]) > 0
    with pytest.raises(InputError, match="three or more"):
        ablation(scores(rows[:2]), quality[:2], [0.4, 0.3, 0.3])


def test_repeat_runs_are_told_apart_when_they_differ() -> None:
    same = [np.array([0.1, 0.2, np.nan])] * 3
    reasons = [[None, None, "no image"]] * 3
    [row] = repeat_runs({"trust": same}, {"trust": reasons}).rows
    assert (row["mean sd"], row["largest sd"], row["bit for bit"], row["n"]) == (0.0, 0.0, 2, 2)
    moody = [np.array([float(run), 1.0]) for run in (1, 2, 3)]  # deviations 1 and 0
    [row] = repeat_runs({"m": moody}, {"m": [[None, None], [None, "no"], [None, None]]}).rows
    assert (row["mean sd"], row["largest sd"]) == (0.5, 1.0)
    assert (row["bit for bit"], row["other reason"], row["runs"]) == (1, 1, 3)
