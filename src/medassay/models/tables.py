"""Weights read out of an ONNX file: the embedding tables that the trunk holds and other graphs share.

The pair model starts from the same word table as the trunk and has nothing else in common with it. So that
the table is stored once, it is read from the trunk's file here, looked up and normalised with NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from medassay.errors import ModelError
from medassay.models.base import Matrix

_GRAPH, _INITIALISER = 7, 5
_DIMS, _TYPE, _NAME, _RAW = 1, 2, 8, 9
_TYPES: dict[int, Any] = {1: np.float32, 3: np.int8}
"""Field numbers and type codes of the ONNX format (onnx.proto: ModelProto, GraphProto, TensorProto)."""

_EPSILON = 1e-12


class Tables:
    """The embedding layer of a trunk: word, place and side tables, summed and normalised."""

    def __init__(self, path: Path) -> None:
        tensors = initialisers(path)
        try:
            # The word table is large: it stays int8 and only the rows that are looked up become float.
            self.words, self.scales = _rows(tensors, "embeddings.word.weight")
            self.places = _table(tensors, "embeddings.place.weight")
            self.sides = _table(tensors, "embeddings.side.weight")
            self.gain, self.shift = tensors["embeddings.norm.weight"], tensors["embeddings.norm.bias"]
        except KeyError as error:
            raise ModelError(f"{path}: no table {error} in it; it is not a trunk of this version") from error

    @property
    def size(self) -> int:
        """Numbers per token."""
        return int(self.words.shape[1])

    def word_vectors(self, ids: Sequence[int]) -> Matrix:
        """The word table's rows alone, without place, side and norm."""
        rows = np.asarray(ids, np.int64)
        vectors: Matrix = self.words[rows].astype(np.float32) * self.scales[rows][..., None]
        return vectors

    def embed(self, ids: Sequence[int], sides: Sequence[int]) -> Matrix:
        """Hidden states [length, size] of one row where the first layer begins."""
        summed = self.word_vectors(ids) + self.places[: len(ids)] + self.sides[np.asarray(sides, np.int64)]
        summed -= summed.mean(-1, keepdims=True)
        summed /= np.sqrt(np.square(summed).mean(-1, keepdims=True) + _EPSILON)
        states: Matrix = summed * self.gain + self.shift
        return states


def _rows(tensors: dict[str, npt.NDArray[Any]], name: str) -> tuple[npt.NDArray[Any], Matrix]:
    """A table as stored and the scale of each of its rows."""
    if name in tensors:
        return tensors[name], np.ones(len(tensors[name]), np.float32)
    return tensors[f"{name}.int8"], tensors[f"{name}.scale"]


def _table(tensors: dict[str, npt.NDArray[Any]], name: str) -> Matrix:
    """A whole table as float32."""
    codes, scale = _rows(tensors, name)
    table: Matrix = codes.astype(np.float32) * scale[:, None]
    return table


def initialisers(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The float32 and int8 tensors that an ONNX file stores, by name."""
    content = memoryview(path.read_bytes())
    tensors = {}
    try:
        for field, graph in _fields(content):
            if field != _GRAPH:
                continue
            for part, tensor in _fields(graph):
                if part == _INITIALISER:
                    name, values = _tensor(tensor)
                    if values is not None:
                        tensors[name] = values
    except (IndexError, ValueError, TypeError) as error:
        raise ModelError(f"{path}: not an ONNX file ({error})") from error
    return tensors


def _tensor(content: memoryview) -> tuple[str, npt.NDArray[Any] | None]:
    shape: list[int] = []
    kind, name, raw = 0, "", memoryview(b"")
    for field, value in _fields(content):
        if field == _DIMS:
            shape += [value] if isinstance(value, int) else _packed(value)
        elif field == _TYPE:
            kind = value
        elif field == _NAME:
            name = bytes(value).decode()
        elif field == _RAW:
            raw = value
    if kind not in _TYPES:
        return name, None
    return name, np.frombuffer(raw, _TYPES[kind]).reshape(shape)


def _fields(content: memoryview) -> Iterator[tuple[int, Any]]:
    """(field number, value) of a protocol-buffer message: whole numbers, or the bytes of anything else."""
    position = 0
    while position < len(content):
        key, position = _number(content, position)
        wire = key & 7
        if wire == 0:
            value, position = _number(content, position)
            yield key >> 3, value
            continue
        if wire == 2:
            length, position = _number(content, position)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire}")
        if position + length > len(content):
            raise ValueError("it ends early")
        yield key >> 3, content[position : position + length]
        position += length


def _packed(content: memoryview) -> list[int]:
    values, position = [], 0
    while position < len(content):
        value, position = _number(content, position)
        values.append(value)
    return values


def _number(content: memoryview, position: int) -> tuple[int, int]:
    """A whole number, seven bits per byte, and where it ends."""
    value = shift = 0
    while True:
        byte = content[position]
        position += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, position
