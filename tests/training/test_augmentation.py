"""Augmented images are seeded and show the same tissue."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("PIL")
pytestmark = pytest.mark.hf


def test_another_look_is_seeded_and_shows_the_same_tissue() -> None:
    import torch

    from medassay.training.augmentation import augment

    plain = torch.zeros(6, 64, 64, 3, dtype=torch.uint8) + torch.tensor((150, 60, 140), dtype=torch.uint8)
    plain[3:] = torch.tensor((225, 200, 215), dtype=torch.uint8)
    one, two, other = (augment(plain, torch.Generator().manual_seed(seed)) for seed in (5, 5, 6))
    assert torch.equal(one, two) and one.shape == plain.shape and one.dtype == torch.uint8
    assert not torch.equal(one, other)
    means = one.float().mean((1, 2, 3))
    assert means[:3].max() < means[3:].min()  # dark stays darker than pale
    assert (means - plain.float().mean((1, 2, 3))).abs().min() > 0.5
