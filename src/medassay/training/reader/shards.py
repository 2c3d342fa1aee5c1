"""Weights as few bytes in files of a bounded size, so that they can be carried between machines.

A matrix is rounded to multiples of a step that is a fraction of each row's root mean square, and the multiples, −127 to
127, are Huffman-coded: `levels` steps to a root mean square take about 2 + log2(levels) bits for a number.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

LARGEST = 15_000_000
"""Bytes of a file, about; a single matrix is never divided."""

_LEAST = 100_000
"""Numbers from which a matrix is rounded and coded."""


def write_shards(weights: Mapping[str, Any], folder: Path, name: str, levels: float = 32.0) -> list[Path]:
    """Write arrays as `name-00.npz`, `name-01.npz`, …

    Args:
        weights: arrays by name.
        levels: steps to a row's root mean square, at most.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{name}-*.npz"):
        old.unlink()
    with ThreadPoolExecutor() as pool:
        coded = list(pool.map(lambda item: _coded(item[0], np.asarray(item[1], np.float32), levels), weights.items()))
    groups: list[dict[str, Any]] = [{}]
    size = 0
    for stored in coded:
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


def _coded(key: str, value: Any, levels: float) -> dict[str, Any]:
    if value.ndim != 2 or value.size < _LEAST:
        return {key: value}
    mean_square = np.square(value).mean(1, keepdims=True)
    step = np.maximum(np.sqrt(mean_square) / levels, np.abs(value).max(1, keepdims=True) / 127) + 1e-12
    multiples = np.round(value / step).astype(np.int8)
    coder = zlib.compressobj(level=1, strategy=zlib.Z_HUFFMAN_ONLY)
    coded = coder.compress(multiples.tobytes()) + coder.flush()
    return {f"{key}|coded": np.frombuffer(coded, np.uint8), f"{key}|step": step.astype(np.float32)}


def read_shards(folder: Path, name: str) -> dict[str, Any]:
    """The arrays that `write_shards` wrote, as float32."""
    paths = sorted(folder.glob(f"{name}-*.npz"))
    if not paths:
        raise FileNotFoundError(f"{folder}: no {name}-00.npz in it")
    stored: dict[str, Any] = {}
    for path in paths:
        with np.load(path, allow_pickle=False) as file:
            stored.update({key: file[key] for key in file.files})

    def decoded(key: str) -> Any:
        step = stored[f"{key}|step"]
        multiples = np.frombuffer(zlib.decompress(stored[f"{key}|coded"].tobytes()), np.int8)
        return multiples.reshape(len(step), -1).astype(np.float32) * step

    coded = [key.removesuffix("|coded") for key in stored if key.endswith("|coded")]
    with ThreadPoolExecutor() as pool:
        weights = dict(zip(coded, pool.map(decoded, coded)))
    return weights | {key: value for key, value in stored.items() if not key.endswith(("|coded", "|step"))}
