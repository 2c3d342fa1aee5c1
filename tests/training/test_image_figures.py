"""Held-out figures find a planted map and nothing where there is none."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("PIL")
from medassay.training import image_figures

from .planted import planted_map

pytestmark = pytest.mark.hf


def test_a_planted_map_is_found_on_unseen_captions() -> None:
    seen, samples, vectors = planted_map()
    figures = image_figures.cross_validate(seen, samples, vectors, "caption")
    assert figures["unseen_caption_auc"] > 0.9
    shuffled = np.random.default_rng(1).permutation(len(samples))
    control = image_figures.cross_validate(seen[:, shuffled], samples, vectors, "caption")
    assert abs(control["unseen_caption_auc"] - 0.5) < 0.1
