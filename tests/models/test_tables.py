"""Embedding tables read from an ONNX file: against the graph itself, and files that are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from medassay.errors import ModelError
from medassay.models.tables import Tables, initialisers


def _field(number: int, content: bytes) -> bytes:
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def _tensor(name: str, kind: int, shape: list[int], raw: bytes) -> bytes:
    dims = b"".join(bytes([1 << 3, n]) for n in shape)
    return dims + bytes([2 << 3, kind]) + _field(8, name.encode()) + _field(9, raw)


def test_tensors_come_back_by_name(tmp_path: Path) -> None:
    values = np.array([[1.5, -2.0], [0.25, 3.0]], np.float32)
    whole = np.array([1, -7, 127], np.int8)
    graph = _field(5, _tensor("a", 1, [2, 2], values.tobytes())) + _field(5, _tensor("b", 3, [3], whole.tobytes()))
    graph += _field(5, _tensor("other", 7, [1], b"\0" * 8))
    path = tmp_path / "graph.onnx"
    path.write_bytes(bytes([1 << 3, 8]) + _field(7, graph))
    found = initialisers(path)
    assert set(found) == {"a", "b"}, "other types of tensor are passed over"
    assert np.array_equal(found["a"], values) and np.array_equal(found["b"], whole)


@pytest.mark.parametrize("content", [b"not an ONNX file", b"\x3a\x7fshort"])
def test_a_file_that_is_no_graph_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "trunk.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"trunk\.onnx"):
        Tables(path)


def test_the_trunk_of_the_embedded_set_has_the_tables(embedded: Path) -> None:
    tables = Tables(embedded / "trunk.onnx")
    states = tables.embed([101, 2053, 13656, 102], [0, 0, 0, 1])
    assert states.shape == (4, tables.size)
    plain = (states - tables.shift) / tables.gain
    assert plain.mean(1) == pytest.approx(0.0, abs=1e-4), "a layer norm leaves mean 0 and variance 1"
    assert plain.var(1) == pytest.approx(1.0, abs=1e-3)
    again = tables.embed([2053, 13656], [0, 0])
    assert not np.allclose(again[0], states[1]), "the place of a token counts"
