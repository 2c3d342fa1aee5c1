"""The scores file: one row per case, in input order, written as the run goes.

Columns: `id`, `system` where given, the carried columns, `reference_key` (same references, same key),
then for each metric `<metric>`, `<metric>.<part>`, `<metric>.unscored`, `<metric>.failed` and its labels. A metric
whose aggregate is not the mean of its values (BLEU, chrF) has `<metric>.statistics` too: the counts that the aggregate
is made of, separated by spaces. Signatures and problems go to `<out>.meta.json`. The file appears under its name only
when it is whole.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from medassay import __version__
from medassay.cases import Case
from medassay.columns import carried_columns
from medassay.engine.sinks import Sink
from medassay.errors import InputError
from medassay.files import OutputFile, guard, json_text, table_kind, unwritable
from medassay.metrics.base import Metric
from medassay.scores import Score

FORMATS = (".csv", ".tsv", ".jsonl", ".parquet")
REASONS = (".unscored", ".failed")
"""Endings of the columns that say why there is no number."""
STATISTICS = ".statistics"
"""Ending of the column that holds what a corpus-level value is made of."""
_PARQUET_ROWS = 20_000
_MOST_COLUMNS = 2_000


def corpus_level(metric: type[Metric]) -> bool:
    """Whether a metric's aggregate is not the mean of its values, as with corpus BLEU."""
    return metric.combine is not Metric.combine


class FlatRecords:
    """One case as one flat record, for given metrics."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.columns = [(m.name, m.parts, m.labels, corpus_level(type(m))) for m in metrics]
        self.names = [
            name
            for metric, parts, labels, corpus in self.columns
            for name in (
                metric,
                *(f"{metric}.{part}" for part in (*parts, "unscored", "failed")),
                *([metric + STATISTICS] if corpus else []),
                *labels,
            )
        ]
        self.taken = {"id", "system", "reference_key", *self.names}

    def shape(self, case: Case) -> tuple[object, ...]:
        """What decides the columns of a case's record."""
        return (case.system is None, not case.references, *case.extra)

    def values(self, case: Case, scores: Mapping[str, Score]) -> list[Any]:
        """The values of the record: identity, carried columns, then each metric's value, parts, reasons and labels."""
        row: list[Any] = [case.id] if case.system is None else [case.id, case.system]
        row += case.extra.values()
        if case.references:
            row.append(case.reference_key.hex()[:12])
        for name, parts, labels, corpus in self.columns:
            score = scores[name]
            row.append(score.value)
            if parts:
                given = score.parts
                row += [given.get(part) for part in parts]
            row += (score.unscored, score.failed)
            if corpus:
                row.append(" ".join(f"{number:.17g}" for number in score.statistics) or None)
            row += [score.labels.get(label) for label in labels]
        return row

    def __call__(self, case: Case, scores: Mapping[str, Score]) -> dict[str, Any]:
        """The record: its columns and values, in order."""
        names = ["id"] if case.system is None else ["id", "system"]
        names += carried_columns(case.extra, self.taken)
        if case.references:
            names.append("reference_key")
        return dict(zip([*names, *self.names], self.values(case, scores), strict=True))


def cells(values: Iterable[Any]) -> Iterator[Any]:
    """Values as cells of a CSV row. A number that stands in it twice (a value and the part it is) is spelled once.

    >>> list(cells(["=1+1", 0.25, None, 0.25]))
    ["'=1+1", '0.25', None, '0.25']
    """
    spelled: dict[float, str] = {}
    for value in values:
        if type(value) is float and value:  # 0.0 and -0.0 are equal, but not spelled alike
            if value not in spelled:
                spelled[value] = repr(value)
            yield spelled[value]
        else:
            yield guard(value) if type(value) is str else value


class ScoresFile(Sink):
    """Writes records to `path` as they come; the finished file replaces the old one in one step.

    settings: listed in the meta file beside the signatures.
    """

    def __init__(self, path: Path, metrics: Sequence[Metric], settings: Mapping[str, Any] | None = None) -> None:
        self.path = path
        self.metrics = metrics
        self.settings = dict(settings or {})
        self.problems: list[str] = []
        self.warnings: list[str] = []
        self.flat = FlatRecords(metrics)
        self.suffix = table_kind(path, FORMATS)
        self.columns: list[str] | None = None
        self.shape: tuple[object, ...] | None = None
        """Of the cases whose record has exactly the columns of the file, in their order."""

    def __enter__(self) -> ScoresFile:
        try:
            self.file = OutputFile(self.path)
            self._open()
        except OSError as error:
            raise unwritable(self.path, error) from error
        return self

    def _open(self) -> None:
        self.stream: IO[str] = self.file.temporary.open("w", encoding="utf-8", newline="")
        self.delimiter = "\t" if self.suffix == ".tsv" else ","
        self.csv = csv.writer(self.stream, delimiter=self.delimiter, lineterminator="\n")

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        try:
            self.stream.close()
        finally:  # what was not yet written may not fit either
            self.file.discard()

    def add(self, case: Case, scores: Mapping[str, Score]) -> None:
        """Append one case."""
        shape = self.flat.shape(case)
        if shape == self.shape:
            self._row(self.flat.values(case, scores))
            return
        record = self.flat(case, scores)
        if self.suffix in (".jsonl", ".parquet"):
            self.stream.write(json_text(record) + "\n")
            return
        if self.columns is None:
            self.columns = list(record)
            self.csv.writerow([guard(column) for column in self.columns])
        if list(record) != self.columns:
            known = set(self.columns)
            unknown = [column for column in record if column not in known]
            if unknown:
                self._widen(unknown, case)
            record = {column: record.get(column) for column in self.columns}
        else:
            self.shape = shape
        self._row(record.values())

    def problem(self, text: str) -> None:
        """Note a problem for the meta file."""
        self.problems.append(text)

    def remark(self, text: str) -> None:
        """Note a remark for the meta file."""
        self.warnings.append(text)

    def _row(self, values: Iterable[Any]) -> None:
        self.csv.writerow(cells(values))

    def _widen(self, unknown: Sequence[str], case: Case) -> None:
        """A later row brought new columns: write what there is again, with room for them before the scores."""
        assert self.columns is not None
        if len(self.columns) + len(unknown) > _MOST_COLUMNS:
            raise InputError(
                f"{self.path}: row {case.row} brings the columns to more than {_MOST_COLUMNS:,} "
                f"('{unknown[0]}' is new); write .jsonl, or give every row the same columns"
            )
        self.shape = None
        ours = {"reference_key", *(metric.name for metric in self.metrics)}
        at = next((i for i, column in enumerate(self.columns) if column in ours), len(self.columns))
        self.stream.close()
        narrow = self.file.temporary.with_name(self.file.temporary.name + ".narrow")
        self.file.temporary.replace(narrow)
        self._open()
        self.columns[at:at] = unknown
        csv.field_size_limit(sys.maxsize)
        with narrow.open(encoding="utf-8", newline="") as old:
            rows = csv.reader(old, delimiter=self.delimiter)
            next(rows)
            self.csv.writerow([guard(column) for column in self.columns])
            self.csv.writerows([*row[:at], *("" for _ in unknown), *row[at:]] for row in rows)
        narrow.unlink()

    def finish(self) -> None:
        """Put the file in its place, and the signatures and problems beside it.

        Both are complete before either is moved: a disk that is full leaves the old pair as it was.
        """
        try:
            self.stream.close()
            if self.suffix == ".parquet":
                _parquet(self.file.temporary, {label for metric in self.metrics for label in metric.labels})
            if self.file.special:  # has nothing beside it
                self.file.commit()
                return
            with OutputFile(meta_path(self.path)) as meta:
                meta.temporary.write_text(self._meta(), encoding="utf-8", newline="\n")
                self.file.commit()
                meta.commit()
        except OSError as error:
            raise unwritable(self.path, error) from error

    def _meta(self) -> str:
        meta = {
            "medassay": __version__,
            "signatures": {metric.name: str(metric.signature) for metric in self.metrics},
            "higher_is_better": {metric.name: metric.higher_is_better for metric in self.metrics},
            "settings": self.settings,
            "problems": self.problems,
            "warnings": self.warnings,
        }
        return json_text(meta, indent=1) + "\n"


def meta_path(path: Path) -> Path:
    """The file beside a scores file that says what made its numbers."""
    return path.with_name(path.name + ".meta.json")


def _parquet(jsonl: Path, texts: Set[str]) -> None:
    """Turn the JSON lines at `jsonl` into Parquet, in place: one pass for the types, one to write.

    texts: columns that hold text even where every row is empty.
    """
    from arro3.core import Array, DataType, Field, RecordBatch, RecordBatchReader, Schema

    kinds: dict[str, set[type]] = {}
    for record in _json_lines(jsonl):
        for column, value in record.items():
            kinds.setdefault(column, set()).update(() if value is None else (_kind(value),))
    types = {c: _arrow_type(c.endswith(REASONS) or c in texts, seen, DataType) for c, seen in kinds.items()}
    as_text = {column for column, kind in types.items() if kind == DataType.utf8()}
    schema = Schema([Field(column, kind, nullable=True) for column, kind in types.items()])

    def batches() -> Iterator[Any]:
        block: list[dict[str, Any]] = []
        for record in _json_lines(jsonl):
            block.append(record)
            if len(block) == _PARQUET_ROWS:
                yield arrays(block)
                block = []
        yield arrays(block)

    def arrays(block: list[dict[str, Any]]) -> Any:
        columns = []
        for column, kind in types.items():
            values = [record.get(column) for record in block]
            if column in as_text:
                values = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
            columns.append(Array(values, type=kind))
        return RecordBatch.from_arrays(columns, schema=schema)

    target = jsonl.with_name(jsonl.name + ".parquet")
    write_table(RecordBatchReader.from_batches(schema, batches()), target)
    target.replace(jsonl)


def write_table(batches: Any, path: Path) -> None:
    """Write a reader of record batches as a Parquet file; where that fails, by an OSError as a rule, nothing stays."""
    from arro3.io import write_parquet

    stream = path.open("wb")
    try:
        with stream:
            sink = _Sink(stream)
            write_parquet(batches, sink)
            sink.end()
    except BaseException:
        path.unlink(missing_ok=True)
        raise


class _Sink:
    """Where arro3 writes to. An error of the disk waits here until arro3 is done: inside, it would be a panic."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.error: OSError | None = None

    def write(self, data: bytes) -> int:
        try:
            if self.error is None:
                self.stream.write(data)
        except OSError as error:
            self.error = error
        return len(data)

    def flush(self) -> None:
        """Left to `end`."""

    def seek(self, offset: int, whence: int = 0) -> int:
        """Asked for by arro3, never used."""
        return self.stream.seek(offset, whence)

    def end(self) -> None:
        """All is on the disk; or raises what went wrong."""
        if self.error is not None:
            raise self.error
        self.stream.flush()


def _kind(value: Any) -> type:
    """The type of a cell; a whole number that 64 bits do not hold stays exact as text."""
    return str if type(value) is int and not -(1 << 63) <= value < 1 << 63 else type(value)


def _arrow_type(words: bool, seen: set[type], data_type: Any) -> Any:
    """Numbers stay numbers; a column of mixed types is text, and so is an empty one that holds words."""
    if seen == {bool}:
        return data_type.bool()
    if seen == {int}:
        return data_type.int64()
    if seen and seen <= {int, float}:
        return data_type.float64()
    return data_type.utf8() if seen or words else data_type.float64()


def _json_lines(path: Path) -> Iterable[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)
