"""The warning about images that do not look like histology."""

from __future__ import annotations

import numpy as np
import pytest
from tests.slides.made import on_glass, tissue

from medassay.slides import (
    looks_like_histology,
    open_image,
    why_not_histology,
)
from medassay.slides.plain import PlainImage


def test_what_is_not_histology():
    random = np.random.default_rng(0)
    y, x = np.mgrid[0:200, 0:200]
    meadow = np.stack([90 + 30 * np.sin(x / 3), 140 + 40 * np.sin(y / 2), 40 + 0 * x], axis=2).astype(np.uint8)
    grey = np.repeat(random.integers(0, 256, (200, 200, 1), np.uint8), 3, axis=2)
    for pixels, reason in (
        (np.full((200, 200, 3), 255, np.uint8), "hardly any colour"),
        (grey, "hardly any colour"),
        (meadow, "photograph"),
        (np.full((200, 200, 3), (230, 150, 190), np.uint8), "too smooth"),
    ):
        assert reason in (why_not_histology(pixels) or "")
    assert looks_like_histology(tissue(200, 200))
    assert looks_like_histology(PlainImage("made", on_glass(300, 300, (40, 40, 150, 150))))


@pytest.mark.data
def test_real_histology_raises_few_alarms(data):
    folders = ["histology/lc25000/lung_n", "histology/oral/oral_scc", "histology/pathvqa"]
    files = [f for folder in folders for f in sorted((data / folder).glob("*.jp*g"))[::60]]
    alarms = [f.name for f in files if not looks_like_histology(open_image(f))]
    assert len(files) > 25
    assert len(alarms) <= 2
