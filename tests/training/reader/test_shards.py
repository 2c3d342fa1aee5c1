"""Shards of weights: what is written comes back, within the step of its levels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.hf
torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
from medassay.training.reader.shards import read_shards, write_shards  # noqa: E402


def test_shards_give_back_what_was_written(tmp_path: Path) -> None:
    weights = {
        "large": np.linspace(-1, 1, 200_000, dtype=np.float32).reshape(400, 500),
        "small": np.ones(3, np.float32),
    }
    write_shards(weights, tmp_path, "w")
    again = read_shards(tmp_path, "w")
    assert np.abs(again["large"] - weights["large"]).max() <= 1 / 254 + 1e-6
    assert np.array_equal(again["small"], weights["small"])


def test_fewer_levels_take_fewer_bytes_and_keep_outliers(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(400, 500)).astype(np.float32)
    values[0, 0] = 20.0
    sizes = []
    for levels in (32.0, 4.0):
        paths = write_shards({"large": values}, tmp_path, "w", levels)
        sizes.append(sum(path.stat().st_size for path in paths))
        error = np.abs(read_shards(tmp_path, "w")["large"] - values).max(1)
        # Half a step: the row's root mean square over the levels, but never less than its largest number over 127.
        rms, largest = np.sqrt(np.square(values).mean(1)), np.abs(values).max(1)
        assert (error <= 0.5001 * np.maximum(rms / levels, largest / 127)).all()
    # About 4 bits for a number instead of 7.
    assert sizes[1] < 0.65 * sizes[0]
