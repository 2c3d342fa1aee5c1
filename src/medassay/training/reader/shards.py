"""Weights as files of a bounded size: matrices in 8 bits with a scale per row, everything else in 32.

A reader in this form is as exact as its exported graph, whose weights are rounded in the same way, and small enough
to be carried between machines a few files at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

LARGEST = 15_000_000
"""Bytes of a file, about; a single matrix is never divided."""

_LEAST = 100_000
"""Numbers from which a matrix is stored in 8 bits."""


def write_shards(weights: Mapping[str, Any], folder: Path, name: str) -> list[Path]:
    """Write arrays as `name-00.npz`, `name-01.npz`, …"""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{name}-*.npz"):
        old.unlink()
    groups: list[dict[str, Any]] = [{}]
    size = 0
    for key, value in weights.items():
        stored = _stored(key, np.asarray(value, np.float32))
        needed = sum(array.nbytes for array in stored.values())
        if size and size + needed > LARGEST:
            groups.append({})
            size = 0
        groups[-1].update(stored)
        size += needed
    paths = []
    for number, group in enumerate(groups):
        paths.append(folder / f"{name}-{number:02d}.npz")
        np.savez(paths[-1], **group)
    return paths


def _stored(key: str, value: Any) -> dict[str, Any]:
    if value.ndim != 2 or value.size < _LEAST:
        return {key: value}
    scale = np.abs(value).max(1, keepdims=True) / 127 + 1e-12
    return {f"{key}|int8": np.round(value / scale).astype(np.int8), f"{key}|scale": scale.astype(np.float32)}


def read_shards(folder: Path, name: str) -> dict[str, Any]:
    """The arrays that `write_shards` wrote, as float32."""
    stored: dict[str, Any] = {}
    paths = sorted(folder.glob(f"{name}-*.npz"))
    if not paths:
        raise FileNotFoundError(f"{folder}: no {name}-00.npz in it")
    for path in paths:
        with np.load(path, allow_pickle=False) as file:
            stored.update({key: file[key] for key in file.files})
    weights: dict[str, Any] = {}
    for key, value in stored.items():
        if key.endswith("|int8"):
            plain = key.removesuffix("|int8")
            weights[plain] = value.astype(np.float32) * stored[f"{plain}|scale"]
        elif not key.endswith("|scale"):
            weights[key] = value
    return weights
