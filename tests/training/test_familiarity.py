"""The distance from known sources, and the curve that never rises."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
from medassay.training.familiarity import falling_curve, fit_familiarity

pytestmark = pytest.mark.hf


def test_a_stranger_is_farther_than_known_sources() -> None:
    random = np.random.default_rng(0)
    features = random.normal(size=(90, 12)).astype(np.float32)
    sources = ["a"] * 30 + ["b"] * 30 + ["c"] * 30
    features[30:60, 0] += 6
    features[60:, 1] += 6
    known = fit_familiarity(features, sources)
    assert np.median(known.distances(features)) == pytest.approx(1, abs=1e-4)
    strange = random.normal(size=(20, 12)).astype(np.float32) + 20
    assert known.distances(strange).min() > known.distances(features).max()
    without = fit_familiarity(features[:60], sources[:60])
    assert without.distances(features[60:]).mean() > 1.5 * known.distances(features[60:]).mean()


def test_the_curve_never_rises() -> None:
    random = np.random.default_rng(0)
    distances = random.uniform(0, 4, 500).astype(np.float32)
    right = random.random(500) < np.clip(1 - distances / 5, 0, 1)
    curve = falling_curve(distances, right.astype(float).tolist())
    heights = [height for _, height in curve]
    assert len(curve) <= 8 and heights == sorted(heights, reverse=True) and heights[0] > 0.7 > 0.5 > heights[-1]
