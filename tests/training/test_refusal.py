"""The refusal of what is not H&E: a planted difference is found, and painted images are what they claim to be."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("PIL")

from medassay.models.stains import SIDE, SIZE, stain_colours
from medassay.training.refusal import fit_refusal, held_out, refusal_settings


def planted(gap: float) -> tuple[np.ndarray, np.ndarray, list[str], list[bool]]:
    random = np.random.default_rng(1)
    sources = [f"lab {i % 8}" for i in range(200)] + [f"!stain {i % 2}" for i in range(60)]
    foreign = [source.startswith("!") for source in sources]
    features = random.normal(size=(260, 300)).astype(np.float32)
    colours = random.normal(size=(260, SIZE)).astype(np.float32)
    colours[:, 0] += gap * np.array(foreign)
    return features, colours, sources, foreign


def test_a_planted_difference_is_found_on_unseen_sources() -> None:
    features, colours, sources, foreign = planted(6.0)
    odds = held_out(features, colours, sources, foreign)
    assert odds[:200].mean() < odds[200:].mean() - 1
    nothing = held_out(*planted(0.0))
    assert abs(nothing[:200].mean() - nothing[200:].mean()) < 1


def test_the_model_is_linear_in_raw_features_and_colours() -> None:
    features, colours, sources, foreign = planted(6.0)
    model = fit_refusal(features, colours, sources, foreign)
    odds = model.odds(features, colours)
    assert odds[200:].min() > np.quantile(odds[:200], 0.9)
    assert len(refusal_settings(model)["stains"]) == SIZE  # type: ignore[arg-type]


def test_colours_of_a_blank_image_are_numbers() -> None:
    blank = stain_colours(np.full((SIDE, SIDE, 3), 255, np.uint8))
    assert blank.shape == (SIZE,) and np.isfinite(blank).all() and blank[-5] == 1
