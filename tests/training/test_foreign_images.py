"""Painted and drawn images that are not H&E."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("PIL")
from medassay.models.stains import SIDE, stain_colours
from medassay.training.foreign_images import KINDS, make_foreign_image, separate_stains


def section(seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    nuclei, rest = random.uniform(0, 1.2, (SIDE, SIDE, 1)), random.uniform(0.1, 0.6, (SIDE, SIDE, 1))
    density = nuclei * np.array([0.65, 0.70, 0.29]) + rest * np.array([0.07, 0.99, 0.11])
    return np.asarray(np.clip(np.exp(-density) * 256 - 1, 0, 255), np.uint8)


@pytest.mark.parametrize("kind", KINDS)
def test_painted_images_are_seeded_and_unlike_the_section(kind: str) -> None:
    one, two = (make_foreign_image(kind, section(), np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(one, two) and one.shape == (SIDE, SIDE, 3) and one.dtype == np.uint8
    assert np.abs(stain_colours(one) - stain_colours(section())).max() > 0.2


def test_stains_are_taken_apart() -> None:
    nuclei, rest = separate_stains(section())
    assert 0.4 < nuclei.mean() < 0.8 and 0.2 < rest.mean() < 0.5
