"""Finished slices as Parquet files in one folder, from which a run on a cluster continues and writes its output.

A part is named after its file and its index there, and appears under its name only when it is complete. `plan.json`
records the inputs and settings of the parts; parts of another plan are removed.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medassay.cases import Case, Row
from medassay.engine.base import case_fields
from medassay.engine.scores_file import write_table
from medassay.errors import MedassayError
from medassay.scores import Score

_TRIES = "tries"
_SHARED = "--out must be given, and stand in a folder that all machines of the cluster share"


@dataclass(frozen=True)
class Part:
    """A finished slice: its rows, and for each metric that was measured the scores of those that are cases."""

    rows: list[Row]
    scores: list[list[Score]]


class Parts:
    """The folder of a run's parts, as seen from any process that shares it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, file: int, index: int) -> Path:
        """The path of the part of a file's slice."""
        return self.folder / f"part-{file:05}-{index:07}.parquet"

    def kept(self) -> dict[int, frozenset[int]]:
        """The slices of each file that have a part now."""
        slices_by_file: dict[int, set[int]] = {}
        for path in self.folder.glob("part-*.parquet"):
            _, file, index = path.stem.split("-")
            slices_by_file.setdefault(int(file), set()).add(int(index))
        return {file: frozenset(slices) for file, slices in slices_by_file.items()}

    def check(self, patience: float = 10.0) -> None:
        """Raises where this machine does not see the folder; a shared one may show a moment after it was made."""
        deadline = time.monotonic() + patience
        while not (self.folder / _TRIES).is_dir():
            if time.monotonic() >= deadline:
                raise MedassayError(f"{self.folder}: cannot be seen from here; {_SHARED}")
            time.sleep(0.1)

    def begin(self, plan: Mapping[str, Any]) -> None:
        """Take over what an earlier run with the same plan has left; clear what another has."""
        plan_path = self.folder / "plan.json"
        text = json.dumps(plan, ensure_ascii=False, indent=1, sort_keys=True)
        try:
            if self.folder.exists() and (not plan_path.exists() or plan_path.read_text(encoding="utf-8") != text):
                shutil.rmtree(self.folder)
            for mark in self.folder.glob("failed-*"):  # a metric that broke is tried again
                file, index = map(int, mark.name.split("-")[1:])
                self.path(file, index).unlink(missing_ok=True)
                mark.unlink()
            # Deaths count within one run: an interruption by the user is none.
            shutil.rmtree(self.folder / _TRIES, ignore_errors=True)
            (self.folder / _TRIES).mkdir(parents=True)
            plan_path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise MedassayError(f"{self.folder}: results cannot be kept here ({error.strerror or error})") from error

    def write(self, file: int, index: int, rows: Sequence[Row], columns: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Keep a finished slice. columns: each metric's name and the scores of the cases, as JSON."""
        from arro3.core import Array, DataType, Field, RecordBatch, RecordBatchReader, Schema

        cells: dict[str, tuple[Any, list[Any]]] = {
            "row": (DataType.int64(), [row.number for row in rows]),
            "file": (DataType.utf8(), [row.file for row in rows]),
            "case": (DataType.utf8(), [None if row.case is None else _case_text(row.case) for row in rows]),
            "problem": (DataType.utf8(), [row.problem for row in rows]),
        }
        for k, (name, texts) in enumerate(columns):
            each = iter(texts)
            spread = [None if row.case is None else next(each) for row in rows]
            values = [None if text is None else json.loads(text).get("v") for text in spread]
            cells[f"{k}:{name}"] = (DataType.float64(), values)
            cells[f"{k}:{name}:score"] = (DataType.utf8(), spread)
        schema = Schema([Field(name, kind, nullable=True) for name, (kind, _) in cells.items()])
        block = RecordBatch.from_arrays([Array(values, type=kind) for kind, values in cells.values()], schema=schema)
        if any(text.startswith('{"f":') for _, texts in columns for text in texts):
            (self.folder / f"failed-{file}-{index}").touch()
        target = self.path(file, index)
        partial = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        write_table(RecordBatchReader.from_batches(schema, [block]), partial)
        partial.replace(target)

    def read(self, file: int, index: int, patience: float = 30.0) -> Part:
        """A finished slice; a shared folder may show it a moment after it was written."""
        from arro3.io import read_parquet

        path = self.path(file, index)
        deadline = time.monotonic() + patience
        while not path.exists():
            if time.monotonic() > deadline:
                raise MedassayError(f"{path}: was written by a worker and cannot be seen from here; {_SHARED}")
            time.sleep(0.1)
        table = read_parquet(str(path)).read_all()
        columns = {name: table.column(name).to_pylist() for name in table.schema.names}
        rows = [
            Row(number, None if text is None else _case(text), problem, file_name)
            for number, file_name, text, problem in zip(
                columns["row"], columns["file"], columns["case"], columns["problem"]
            )
        ]
        kept = [name for name in columns if name.endswith(":score")]
        return Part(rows, [[Score.from_json(text) for text in columns[name] if text is not None] for name in kept])

    def attempts(self, file: int, index: int) -> AttemptLog:
        """The log of what was begun on a slice."""
        return AttemptLog(self.folder / _TRIES / f"{file}-{index}")

    def remove(self) -> None:
        """The run is complete."""
        shutil.rmtree(self.folder, ignore_errors=True)


class AttemptLog:
    """What was begun and finished on a slice, on disk, so that it is known after the process has died."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path.read_text().split("\n") if path.exists() else []

    def deaths(self, metric: int, start: int, stop: int) -> int:
        """How often these cases were begun by a process that did not live to finish them."""
        mark = f"{metric} {start} {stop}"
        return self.log.count(mark) - self.log.count(f"+{mark}")

    def begin(self, metric: int, start: int, stop: int) -> None:
        """Record that cases [start, stop) are about to be measured."""
        self._write(f"{metric} {start} {stop}")

    def finish(self, metric: int, start: int, stop: int) -> None:
        """Record that cases [start, stop) have been measured."""
        self._write(f"+{metric} {start} {stop}")

    def _write(self, line: str) -> None:
        with self.path.open("a") as stream:
            stream.write(line + "\n")
        self.log.append(line)

    def remove(self) -> None:
        """Delete the log: the slice is finished."""
        self.path.unlink(missing_ok=True)


def _case_text(case: Case) -> str:
    return json.dumps(case_fields(case), ensure_ascii=False)


def _case(text: str) -> Case:
    identity, candidate, references, *rest = json.loads(text)
    return Case(identity, candidate, tuple(references), *rest)


def identity_of(path: str) -> list[Any]:
    """What tells a case file from another of its name: its size and when it was written."""
    stat = os.stat(path)  # noqa: PTH116
    return [str(Path(path).resolve()), stat.st_size, stat.st_mtime_ns]
