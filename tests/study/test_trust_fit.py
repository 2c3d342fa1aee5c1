"""A policy from labels: weights found again, thresholds on other reports, little data told."""

from __future__ import annotations

import math

import numpy as np
import pytest

from medassay.errors import InputError
from medassay.metrics.policy import Policy
from medassay.study.trust_fit import Labelled, fit, grid, half, one_per_cluster, search, trust_of


def world(n: int, seed: int = 0, per_cluster: int = 1) -> Labelled:
    """Logic says nearly all, grounding a little, stability nothing."""
    random = np.random.default_rng(seed)
    quality = random.random(n)
    logic = np.clip(quality + random.normal(0, 0.05, n), 0, 1)
    grounding = np.clip(0.5 * quality + 0.5 * random.random(n), 0, 1)
    dimensions = np.stack([grounding, logic, random.random(n)], axis=1)
    human = np.round(5 * quality)
    return Labelled(dimensions, human, (human < 1).astype(float), np.arange(n) // per_cluster, np.zeros(n, bool))


def test_the_grid_sums_to_one() -> None:
    points = grid(0.1)
    assert len(points) == 66  # 12 over 2
    assert all(math.isclose(sum(point), 1) for point in points)


def test_trust_is_the_metrics_trust() -> None:
    values = trust_of(np.array([[0.9, 0.8, 0.5], [0.9, 0.8, np.nan], [np.nan] * 3]), [0.4, 0.3, 0.3])
    assert values[0] == pytest.approx(0.75) and np.isnan(values[1])
    assert trust_of(np.array([[0.9, 0.8, np.nan]]), [0.4, 0.3, 0]) == pytest.approx([0.6 / 0.7])
    assert np.isnan(values[2])


def test_the_search_finds_what_matters() -> None:
    weights = search(world(400))
    assert weights[1] > weights[0] > weights[2] or weights[1] > 0.8


def test_weights_and_thresholds_see_different_reports() -> None:
    data = world(600, per_cluster=3)
    first = half(data.clusters, 1)
    assert set(data.clusters[first]) & set(data.clusters[~first]) == set()
    assert abs(first.mean() - 0.5) < 0.02
    found = fit(data, name="made", label="below 1", risk=0.2)
    assert found.policy.calibration["n"] == int((~first).sum())
    held_out = found.figures
    assert held_out["spearman of searched weights, held out"] > held_out["spearman of published weights, held out"]


def test_the_policy_keeps_its_risk_on_new_reports() -> None:
    found = fit(world(800), name="made", label="below 1", risk=0.05)
    policy = found.policy
    assert policy.deploy is not None and policy.calibration["bound"] <= 0.05
    new = world(4000, seed=9)
    values = trust_of(new.dimensions, list(policy.weights.values()))
    through = values >= policy.deploy
    assert through.mean() > 0.5
    assert new.bad[through].mean() <= 0.05
    assert policy.calibration["coverage"] == pytest.approx(through.mean(), abs=0.1)


def test_too_little_data_is_said_and_nothing_deploys() -> None:
    found = fit(world(40), name="made", label="below 1")
    assert found.policy.deploy is None
    assert any("Too little data" in note and "59" in note for note in found.notes)
    assert any("published" in note for note in found.notes)
    assert found.policy.route(0.99, {}, "")[0] == "review"


def test_partial_scores_set_no_threshold() -> None:
    data = world(300)
    data.dimensions[::2, 2] = np.nan
    found = fit(data, name="made", label="below 1", weights=[0.4, 0.3, 0.3], risk=0.2)
    assert found.policy.calibration["n"] == 150
    assert any("150 of 300 reports have partial trust" in note for note in found.notes)
    data.dimensions[:, 2] = np.nan
    with pytest.raises(InputError, match="stability"):
        fit(data, name="made", label="below 1", weights=[0.4, 0.3, 0.3])
    assert fit(data, name="made", label="x", weights=[0.5, 0.5, 0.0], risk=0.2).policy.used == ("grounding", "logic")


def test_exact_bounds_count_one_report_a_cluster() -> None:
    clusters = np.array([0, 0, 1, 1, 1, 2])
    chosen = one_per_cluster(clusters, 1)
    assert clusters[chosen].tolist() == [0, 1, 2]
    found = fit(world(300, per_cluster=3), name="made", label="x", weights=[0.4, 0.3, 0.3], risk=0.2)
    assert found.policy.calibration["independent"] == 100


def test_a_fit_is_the_same_every_time_and_comes_back_from_its_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    from medassay.metrics.policy import read_policy

    one, two = (fit(world(300), name="made", label="x", risk=0.2).policy for _ in range(2))
    assert one.to_json() == two.to_json()
    path = tmp_path / "policy.json"
    path.write_text(one.to_json())
    assert isinstance(read_policy(path), Policy) and read_policy(path).digest == one.digest


def test_wrong_settings_are_told() -> None:
    with pytest.raises(InputError, match="risk"):
        fit(world(100), name="made", label="x", risk=0.0)
    with pytest.raises(InputError, match="nothing to calibrate on"):
        fit(
            Labelled(np.full((3, 3), np.nan), np.ones(3), np.zeros(3), np.arange(3), np.zeros(3, bool)),
            name="made",
            label="x",
        )


def test_reports_that_contradict_themselves_set_no_threshold() -> None:
    data = world(400)
    data.barred[:] = data.bad > 0.5
    found = fit(data, name="made", label="x", weights=[0.4, 0.3, 0.3], risk=0.05)
    assert found.policy.calibration["observed"] == 0.0
    assert found.policy.calibration["coverage"] == pytest.approx(1 - data.bad.mean())
