"""What runs on the workers of a cluster, without a cluster."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medassay.cases import Case, Row
from medassay.engine.ray_parts import Parts
from medassay.engine.ray_tasks import END, Measurer, read_slices, table
from medassay.metrics.registry import load_metrics


def cases(path: Path, texts: list[str]) -> str:
    path.write_text("\n".join(["id,candidate,reference", *(f"c{i},{t},a b {t}" for i, t in enumerate(texts))]) + "\n")
    return str(path)


def told(tables: Iterator[Any]) -> list[tuple[int, int]]:
    return [(row["slice"], row["total"]) for table in tables for row in table.to_pylist()]


def test_a_reader_gives_the_same_slices_whatever_is_finished_meanwhile(tmp_path: Path) -> None:
    source = cases(tmp_path / "cases.csv", [f"text {i}" for i in range(10)])
    parts = Parts(tmp_path / "parts")
    parts.begin({})
    parts.write(0, 1, [], [])
    files = pytest.importorskip("pyarrow").table({"file": [0], "path": [source]})
    given: dict[str, Any] = {"columns": {}, "format": None, "folder": False, "size": 3, "kept": parts.kept()}
    first = read_slices(files, **given)
    slices = [next(first)]
    parts.write(0, 0, [], [])
    parts.write(0, 2, [], [])
    assert told(iter([*slices, *first])) == [(0, 0), (2, 0), (3, 0), (END, 4)]
    assert told(read_slices(files, **given)) == [(0, 0), (2, 0), (3, 0), (END, 4)]
    assert parts.kept() == {0: {0, 1, 2}}


def test_a_folder_that_is_not_shared_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Parts.check, "__defaults__", (0.0,))
    pytest.importorskip("pyarrow")
    rows = pickle.dumps(([Row(2, Case("a", "text", ("text",)))], {}))
    worker = Measurer(pickle.dumps(load_metrics("rouge1")), [0], True, str(tmp_path / "absent"), [], False)
    (answer,) = next(worker(table(0, 0, load=rows))).to_pylist()
    assert answer["error"].startswith(f"on the worker {socket.gethostname()}: {tmp_path / 'absent'}: cannot be seen")
    assert "a folder that all machines of the cluster share" in answer["error"] and "full" not in answer["error"]
