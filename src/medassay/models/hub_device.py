"""Where transformers models run, in which arithmetic, and how rows of tokens reach them.

On CUDA copies in both directions do not wait, and work is asked for before its answers are needed: either all
batches of some texts at once (`Network.launch`), or one after the other, the next ones prepared by a thread while the
device works (`Network.answers`). On the CPU the same steps happen one after the other.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from medassay.errors import MedassayError
from medassay.models.tokens import batches, pad

DTYPES = ("float32", "bfloat16", "float16")
TOLERANCE = {"bfloat16": 0.04, "float16": 0.01}
"""How far a chance or cosine, on a scale of 0–1, may lie from float32's.

Tested on small models with large random weights on the CPU, where the farthest single token of bfloat16 lay 0.025
away; not yet measured on CUDA or on trained models."""

_CPU_BUDGET, _LEAST, _MOST = 4096, 4096, 131_072
_SHARE = 0.25
"""Share of the free memory that the states of one batch may take."""
_AHEAD = 3
"""Batches prepared ahead of the device."""

Row = Sequence[int]
Part = tuple[int, Sequence[Row]]
"""The index of the first row, and rows that follow one another."""


@dataclass(frozen=True, slots=True)
class Device:
    """What a model runs on: `cuda` or `cpu`, its arithmetic, and padded tokens per batch."""

    name: str
    dtype: str
    budget: int

    @property
    def torch_dtype(self) -> Any:
        """The torch type of `dtype`."""
        import torch

        return getattr(torch, self.dtype)


def choose(config: Mapping[str, Any], *, dtype: str = "", over_vocabulary: bool = False) -> Device:
    """The device for a model, by its configuration.

    dtype: float32, bfloat16 or float16; empty: what MEDASSAY_DTYPE says, else float32 on the CPU, and on CUDA
    bfloat16, or float16 where the card has none. over_vocabulary: the model gives a number for every word of its
    vocabulary at every token (a language model), so a token costs far more memory.
    """
    import torch

    requested = dtype or os.environ.get("MEDASSAY_DTYPE", "")
    if requested and requested not in DTYPES:
        raise MedassayError(f"dtype={requested}: not one of {', '.join(DTYPES)} (argument dtype or MEDASSAY_DTYPE)")
    if not torch.cuda.is_available():
        return Device("cpu", requested or "float32", _CPU_BUDGET)
    half = "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
    free, _ = torch.cuda.mem_get_info()
    return Device(
        "cuda",
        requested or half,
        budget_for(config, free, 4 if requested == "float32" else 2, over_vocabulary=over_vocabulary),
    )


def budget_for(config: Mapping[str, Any], free: int, size: int, *, over_vocabulary: bool = False) -> int:
    """Padded tokens per batch: what a share of `free` bytes holds, numbers being of `size` bytes; a power of two.

    An H200 is fastest at 131,072: fewer operations are sent, and what is sent lasts while the host does its part.

    >>> budget_for({"hidden_size": 1024, "intermediate_size": 4096}, 16 * 2**30, 2)
    65536
    """
    wide = int(config.get("hidden_size") or config.get("d_model") or config.get("dim") or 1024)
    inner = int(config.get("intermediate_size") or config.get("encoder_ffn_dim") or 4 * wide)
    bytes_per_token = size * (24 * wide + 2 * inner) + (
        8 * int(config.get("vocab_size") or 0) if over_vocabulary else 0
    )
    fits = int(_SHARE * free) // bytes_per_token
    return min(max(1 << max(fits, 1).bit_length() - 1, _LEAST), _MOST)


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows ready for a model, on the host: their indices and lengths, and its inputs by name."""

    rows: list[int]
    inputs: dict[str, Any]
    lengths: tuple[int, ...] = ()


def prepared(
    parts: Iterable[Part],
    device: Device,
    padding: int,
    sides: Sequence[Row] | None,
    *,
    typed: bool,
    end_to_end: bool = False,
) -> Iterator[Batch]:
    """Batches of bounded size, longest rows of each part first.

    end_to_end: rows in one line (`hub_packed.py`) instead of a padded matrix.
    """
    import torch

    for start, rows in parts:
        for batch in batches([len(row) for row in rows], device.budget):
            batch_rows = [rows[i] for i in batch]
            batch_sides = [sides[start + i] for i in batch] if sides and typed else None
            arrays = (
                _laid_out(batch_rows, batch_sides)
                if end_to_end
                else _matrix(batch_rows, batch_sides, padding, device, typed)
            )
            tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
            if device.name == "cuda":
                tensors = {name: tensor.pin_memory() for name, tensor in tensors.items()}
            yield Batch([start + i for i in batch], tensors, tuple(map(len, batch_rows)))


def _matrix(
    rows: Sequence[Row], sides: Sequence[Row] | None, padding: int, device: Device, typed: bool
) -> dict[str, npt.NDArray[Any]]:
    ids = pad(rows, padding, 8 if device.name == "cuda" else 1)  # widths that tensor cores take
    lengths = np.array([len(row) for row in rows])
    arrays = {"input_ids": ids, "attention_mask": (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64)}
    if typed:
        type_ids = np.zeros_like(ids)
        for k, side in enumerate(sides or ()):
            type_ids[k, : lengths[k]] = side
        arrays["token_type_ids"] = type_ids
    return arrays


def _laid_out(rows: Sequence[Row], sides: Sequence[Row] | None) -> dict[str, npt.NDArray[Any]]:
    """The tokens of all rows one after the other.

    bounds: where each row begins and ends. places: the index of each token in the padded matrix, flattened by rows.
    """
    ids = np.fromiter(chain.from_iterable(rows), np.int64)
    lengths = np.array([len(row) for row in rows])
    bounds = np.concatenate([[0], lengths.cumsum()])
    positions = np.arange(len(ids)) - np.repeat(bounds[:-1], lengths)
    return {
        "input_ids": ids,
        "position_ids": positions,
        "token_type_ids": np.fromiter(chain.from_iterable(sides), np.int64) if sides else np.zeros_like(ids),
        "bounds": bounds.astype(np.int32),
        "places": positions + np.repeat(np.arange(len(rows)) * lengths.max(), lengths),
    }


def ahead(items: Iterator[Batch], most: int = _AHEAD) -> Iterator[Batch]:
    """The same items, produced by a thread up to `most` ahead.

    The thread's errors are raised here, and it ends when the iteration ends.
    """
    ready: queue.Queue[Batch | BaseException | None] = queue.Queue(most)
    over = threading.Event()

    def put(item: Batch | BaseException | None) -> bool:
        while not over.is_set():
            try:
                ready.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for item in items:
                if not put(item):
                    return
            put(None)
        except BaseException as error:  # raised again where the items are read
            put(error)

    thread = threading.Thread(target=work, name="medassay-feed", daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        over.set()
        thread.join()


class Answer:
    """Numbers that are being copied from the device to this process."""

    def __init__(self, rows: list[int], numbers: Any) -> None:
        import torch

        self.rows = rows
        self.arrived: Any = None
        if numbers.is_cuda:
            self.host = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
            self.host.copy_(numbers, non_blocking=True)
            self.arrived = torch.cuda.Event()
            self.arrived.record()
        else:
            self.host = numbers

    def get(self) -> tuple[list[int], Any]:
        """The indices of the rows and their numbers, once the copy is complete."""
        if self.arrived is not None:
            self.arrived.synchronize()
        return self.rows, self.host.numpy()
