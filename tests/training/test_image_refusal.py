"""The refusal is trained from a folder with images of other stains."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("PIL")
from medassay.training.histology import read_samples
from medassay.training.image import SIDE

pytestmark = pytest.mark.hf


def test_the_refusal_learns_from_other_stains(image_sets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from PIL import Image

    from medassay.training import image_refusal
    from medassay.training.image import features
    from medassay.training.tower import Tower

    torch.manual_seed(0)
    tower = Tower().eval()
    samples = read_samples(image_sets)
    seen = features(samples, tower, views=1)[0]
    assert image_refusal.train_refusal(image_sets, tower, samples, seen) == (None, {})
    (image_sets / "other").mkdir()
    random = np.random.default_rng(3)
    for i in range(4):
        pixels = np.clip(random.integers(-30, 30, (SIDE, SIDE, 3)) + np.array((60, 160, 90)), 0, 255)
        Image.fromarray(pixels.astype(np.uint8)).save(image_sets / "other" / f"{i}.png")
    lines = ["image,source", *(f"{i}.png,green" for i in range(4))]
    (image_sets / "other" / "labels.csv").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(image_refusal, "PAINTED_EACH", 1)
    refusal, figures = image_refusal.train_refusal(image_sets, tower, samples, seen)
    assert refusal is not None and set(figures) == {"sections_refused", "others_refused", "real_others_refused"}
    assert refusal.deep.shape == (1488,) and np.isfinite(refusal.deep).all()
