"""Batches of like length, the schedule, and the training loop."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytestmark = pytest.mark.hf
from medassay.training.loop import buckets  # noqa: E402


def test_buckets_hold_every_item_once() -> None:
    groups = buckets([5, 1, 9, 3, 7, 2, 8], 3, seed=1)
    assert sorted(i for g in groups for i in g) == list(range(7))
    assert max(map(len, groups)) <= 3
