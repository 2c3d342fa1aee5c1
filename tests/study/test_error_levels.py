"""Agreement with an error hierarchy: ranks by hand, ablation on the same reports, what is missing is told."""

from __future__ import annotations

import numpy as np
import pytest

from medassay.errors import InputError
from medassay.study import Estimate, Graded, Table, hierarchy

NAN = np.nan


def rows(table: Table) -> dict[tuple[str, str], dict[str, object]]:
    return {(str(row["mode"]), str(row["score"])): dict(row) for row in table.rows}


def value(row: dict[str, object]) -> float:
    estimate = row["Spearman"]
    assert isinstance(estimate, Estimate)
    return estimate.value


def graded(**changes: object) -> Graded:
    levels = np.array([0.0, 1, 2, 3, 4] * 6)
    random = np.random.default_rng(1)
    logic = np.where(levels == 2, 0.0, 1.0)
    clinical = np.stack([1 - levels / 4, logic, np.full(30, NAN)], axis=1)
    paper = np.stack([random.random(30), logic, np.full(30, NAN)], axis=1)
    given = {
        "levels": levels,
        "clusters": np.repeat(np.arange(6), 5),
        "dimensions": {"clinical": clinical, "paper": paper},
        **changes,
    }
    return Graded(**given)  # type: ignore[arg-type]


def test_a_score_that_falls_with_the_level_agrees_fully() -> None:
    found = rows(hierarchy(graded(), [0.4, 0.3, 0.3], resamples=200))
    alone = found["clinical", "grounding alone"]
    assert value(alone) == pytest.approx(1.0)
    assert alone["level 0"] == 1.0 and alone["level 4"] == 0.0 and alone["n"] == 30
    assert alone["p"] == pytest.approx(1 / 201)
    # Logic falls at level 2 alone, the middle: ranks 4.5 and 0 symmetric about it.
    assert value(found["clinical", "logic alone"]) == pytest.approx(0.0)
    assert abs(value(found["paper", "grounding alone"])) < 0.6


def test_the_ablation_is_relative_to_the_whole() -> None:
    found = rows(hierarchy(graded(), [0.4, 0.3, 0.3], resamples=0))
    whole, without = value(found["clinical", "trust"]), value(found["clinical", "without logic"])
    assert without == pytest.approx(1.0) and whole < 1
    assert found["clinical", "without logic"]["change %"] == pytest.approx(100 * (without - whole) / whole)
    assert ("clinical", "without stability") not in found


def test_a_dimension_that_was_never_assessed_is_told() -> None:
    table = hierarchy(graded(), [0.4, 0.3, 0.3], resamples=0)
    assert "clinical: stability was never assessed; trust is the mean of the others by their weights." in table.notes


def test_partial_reports_are_no_part_of_trust_and_its_ablation() -> None:
    given = graded()
    clinical = given.dimensions["clinical"].copy()
    clinical[:5, 0] = NAN
    found = rows(hierarchy(graded(dimensions={"clinical": clinical}), [0.5, 0.5, 0], resamples=0))
    assert found["clinical", "trust"]["n"] == found["clinical", "without grounding"]["n"] == 25
    assert found["clinical", "logic alone"]["n"] == 30


def test_other_metrics_stand_beside_it_with_their_variance() -> None:
    given = graded(others={"judge": -np.array([0.0, 1, 2, 3, 4] * 6)}, variances={"judge": 0.02})
    row = rows(hierarchy(given, [1, 0, 0], resamples=0))["–", "judge"]
    assert value(row) == pytest.approx(1.0) and row["variance"] == 0.02


def test_one_level_is_no_hierarchy() -> None:
    with pytest.raises(InputError, match="two different levels"):
        hierarchy(graded(levels=np.zeros(30)), [1, 0, 0])
