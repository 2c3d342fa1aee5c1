"""The vision tower and its weights."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("PIL")
from medassay.errors import ModelError

pytestmark = pytest.mark.hf


def test_the_tower_wants_its_own_weights(tmp_path: Path) -> None:
    import torch

    from medassay.training.tower import Tower, load_tower

    with pytest.raises(ModelError, match="no such file"):
        load_tower(tmp_path / "missing.pth")
    torch.save({"other": torch.zeros(1)}, tmp_path / "other.pth")
    with pytest.raises(ModelError, match="not the weights"):
        load_tower(tmp_path / "other.pth")
    torch.manual_seed(0)
    tower = Tower().eval()
    torch.save(tower.state_dict(), tmp_path / "right.pth")
    pixels = torch.randn(1, 3, 64, 64)
    assert torch.equal(load_tower(tmp_path / "right.pth")(pixels), tower(pixels))
    assert tower(pixels).shape == (1, 320)


def test_a_trained_tower_keeps_its_size(tmp_path: Path) -> None:
    import torch

    from medassay.training.tower import Tower, load_tower, save_tower

    torch.manual_seed(0)
    for size in ("lite0", "lite2"):
        tower = Tower(size).eval()
        save_tower(tower, tmp_path / f"{size}.npz")
        again = load_tower(tmp_path / f"{size}.npz")
        pixels = torch.randn(1, 3, 64, 64)
        assert again.ends == tower.ends
        assert torch.allclose(again(pixels), tower(pixels), atol=0.02)
