"""A table of scores: read from a scores file, ours or anyone's with numeric columns, or made from records.

A `ScoreTable` holds the columns as arrays. Metrics are known from `<file>.meta.json` where it lies
beside the file, else from the `<metric>.unscored` columns, else every numeric column is one.
"""

from __future__ import annotations

import json
import logging
import math
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from medassay.columns import CARRIED
from medassay.engine.scores_file import REASONS, STATISTICS, corpus_level, meta_path
from medassay.errors import InputError, MedassayError, UnknownName, nearest
from medassay.files import guard
from medassay.metrics.base import Metric
from medassay.metrics.registry import load_metric, metric_class, names
from medassay.metrics.trust import LABELS
from medassay.records import read_records

_LOG = logging.getLogger(__name__)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

UNSCORED = ".unscored"
_IDENTITY = frozenset({"id", "system", "reference_key"})
_ODD = 4
"""Numbers for each cell that is none, from which a column is one of scores with odd cells in it."""
_MISSING = frozenset({"", "na", "nan", "n/a", "null", "none"})
"""How other programs write 'no number'; each is read as unscored."""


@dataclass(frozen=True)
class Labels:
    """A column of names: `codes` point into `names`; −1 where the cell is empty."""

    codes: Ints
    names: tuple[str, ...]


@dataclass(frozen=True)
class ScoreTable:
    """Scores in memory, a row per case.

    name: the file, for messages; rows: each record's number in it.
    metrics: the columns that are scores, in file order. guessed: whether that is known from their numbers alone.
    higher_is_better, signatures: by metric, where the file says.
    statistics: by corpus-level metric [rows, k], what its aggregate is made of; NaN where a row is unscored.
    """

    name: str
    rows: Ints
    columns: Mapping[str, Floats | Labels]
    metrics: tuple[str, ...]
    higher_is_better: Mapping[str, bool] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)
    guessed: bool = False
    statistics: Mapping[str, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def labels(self, column: str) -> Labels:
        """A column as names, in order of appearance."""
        values = self._column(column)
        if isinstance(values, Labels):
            return values
        return _labelled("" if math.isnan(value) else repr(value) for value in values.tolist())

    def numbers(self, column: str) -> Floats:
        """A column as numbers, NaN where the cell is empty; an error where a cell holds anything else."""
        labels = self._column(column)
        if not isinstance(labels, Labels):
            return labels
        values = np.full(len(labels.names) + 1, np.nan)
        for code, name in enumerate(labels.names):
            try:
                values[code] = _number(name)
            except ValueError:
                row = self.rows[np.flatnonzero(labels.codes == code)[0]]
                raise InputError(_not_a_number(self.name, int(row), column, name)) from None
        out: Floats = values[labels.codes]
        return out

    def scored_columns(self, besides: Collection[str | None] = ()) -> tuple[str, ...]:
        """The metrics, but for columns that serve as something else.

        Raises InputError where a column that nobody declared holds numbers, and something else in a few cells: it
        would be left out in silence.
        """
        if self.guessed:
            for column, values in self.columns.items():
                if isinstance(values, Labels) and column not in {*besides, *_IDENTITY, *self.metrics}:
                    self._check_odd_cells(column, values)
        return tuple(metric for metric in self.metrics if metric not in besides)

    def _check_odd_cells(self, column: str, values: Labels) -> None:
        odd = [code for code, name in enumerate(values.names) if not _is_number(name)]
        cells = np.bincount(values.codes[values.codes >= 0], minlength=len(values.names))
        others = int(cells[odd].sum())
        if 0 < others <= (cells.sum() - others) / _ODD:
            at = int(np.flatnonzero(np.isin(values.codes, odd))[0])
            message = _not_a_number(self.name, int(self.rows[at]), column, values.names[values.codes[at]])
            raise InputError(f"{message}, or name the columns that are scores with --metrics")

    def _column(self, column: str) -> Floats | Labels:
        if column not in self.columns:
            shown = [name for name in self.columns if not name.endswith(REASONS)]
            listed = ", ".join(shown[:20]) + (" …" if len(shown) > 20 else "")
            raise UnknownName(f"{self.name}: no column '{column}'{nearest(column, shown)}. Columns found: {listed}")
        return self.columns[column]

    def direction(self, metric: str) -> bool | None:
        """Whether higher is better: from the file, else from the registry; None where neither knows."""
        whole = metric.rpartition(".")[0]
        for name in (metric, whole):
            if name in self.higher_is_better:
                return self.higher_is_better[name]
        registered = _registered(metric) or _registered(whole)
        return registered.higher_is_better if registered else None

    def corpus_level(self, metric: str) -> bool:
        """Whether the metric's aggregate is not the mean of its per-case scores, as with corpus BLEU."""
        registered = _registered(metric)
        return registered is not None and corpus_level(registered)

    def corpus_metric(self, metric: str) -> Metric | None:
        """The metric that combines this column's statistics; None where it is a mean, or there are no statistics."""
        if metric not in self.statistics or not self.corpus_level(metric):
            return None
        try:
            return load_metric(metric)
        except MedassayError:  # made with settings that this version does not know
            return None


def _registered(name: str) -> type[Metric] | None:
    """The metric class behind a column's name, settings in brackets aside; None where there is none."""
    plain = name.partition("(")[0]
    if plain not in names():
        return None
    try:
        return metric_class(plain)
    except MedassayError:  # registered by a package that is not there
        return None


def read_scores(path: str | Path, *, format: str | None = None) -> ScoreTable:
    """Read a scores file (.csv, .tsv, .jsonl or .parquet) whole."""
    meta = _read_meta(Path(path))
    # Our CSV puts a quote before cells that a spreadsheet would run; undo it only where we know it is ours.
    ours = bool(meta) and (format or Path(path).suffix.lower().lstrip(".")) in ("csv", "tsv")

    def records() -> Iterator[tuple[int, Mapping[str, Any]]]:
        for number, record in read_records(path, format=format):
            if isinstance(record, str):
                raise InputError(f"{path}, row {number}: {record}")
            yield number, {column: _unguarded(cell) for column, cell in record.items()} if ours else record

    table = make_table(str(path), records(), meta.get("higher_is_better", {}), meta.get("signatures", {}))
    _LOG.info("read %s: %d rows, metrics %s", path, len(table), ", ".join(table.metrics))
    for signature in table.signatures.values():
        _LOG.info("made by %s", signature)
    return table


def make_table(
    name: str,
    records: Iterable[tuple[int, Mapping[str, Any]]],
    higher_is_better: Mapping[str, bool] | None = None,
    signatures: Mapping[str, str] | None = None,
) -> ScoreTable:
    """A table from flat records, each with its row number.

    Args:
        name: what the records are of, for messages.
        records: row number and cells by column; a record may lack columns that others have.
        higher_is_better: direction by metric; its keys, like those of `signatures`, are metrics for certain.
        signatures: what made the numbers, by metric.
    """
    declared = {*(higher_is_better or ()), *(signatures or ())}
    builders: dict[str, _ColumnBuilder] = {}
    rows: array[int] = array("q")
    for number, record in records:
        for column, cell in record.items():
            if column not in builders:
                builders[column] = _ColumnBuilder(_is_score(column, record, declared), len(rows))
            try:
                builders[column].add(cell)
            except ValueError:
                raise InputError(_not_a_number(name, number, column, cell)) from None
        rows.append(number)
        if len(builders) > len(record):
            for column in builders.keys() - record.keys():
                builders[column].add(None)
    if not rows:
        raise InputError(f"{name}: no rows; it needs a header and at least one row of scores")
    columns = {column: builder.finish() for column, builder in builders.items()}
    known = _declared(columns, declared)
    numbers = np.array(rows, dtype=np.int64)
    statistics = {
        metric: _statistics(name, numbers, metric + STATISTICS, columns.pop(metric + STATISTICS))
        for metric in known
        if metric + STATISTICS in columns
    }
    return ScoreTable(
        name=name,
        rows=numbers,
        columns=columns,
        metrics=known or _numeric_columns(columns),
        guessed=not known,
        higher_is_better=higher_is_better or {},
        signatures=signatures or {},
        statistics=statistics,
    )


def _statistics(name: str, rows: Ints, column: str, cells: Floats | Labels) -> Floats:
    """A column of statistics as [rows, k], every cell with as many numbers; NaN where the cell is empty."""
    assert isinstance(cells, Labels)
    width = len(cells.names[0].split()) if cells.names else 0
    values = np.full((len(cells.names) + 1, width), np.nan)
    for code, text in enumerate(cells.names):
        try:
            values[code] = [_number(word) for word in text.split()]
        except ValueError:
            row = int(rows[np.flatnonzero(cells.codes == code)[0]])
            raise InputError(
                f"{name}, row {row}, column '{column}': expected {width} numbers separated by spaces, found "
                f"'{text[:40]}'; score the cases again, or remove the column"
            ) from None
    out: Floats = values[cells.codes]
    return out


class _ColumnBuilder:
    """A column while it is read: numbers, or names each kept once."""

    def __init__(self, numeric: bool, missing: int) -> None:
        self.numeric = numeric
        self.values: array[float] = array("d", [math.nan] * missing if numeric else [])
        self.codes: array[int] = array("q", [] if numeric else [-1] * missing)
        self.names: dict[str, int] = {}

    def add(self, cell: Any) -> None:
        """Append one cell; ValueError where a number is due and it is none."""
        if self.numeric:
            self.values.append(_number(cell))
        else:
            text = "" if cell is None else cell if isinstance(cell, str) else _text(cell)
            self.codes.append(self.names.setdefault(text, len(self.names)) if text else -1)

    def finish(self) -> Floats | Labels:
        if self.numeric:
            return np.array(self.values, dtype=np.float64)
        return Labels(np.array(self.codes, dtype=np.int64), tuple(self.names))


def _labelled(cells: Iterable[str]) -> Labels:
    column = _ColumnBuilder(False, 0)
    for cell in cells:
        column.add(cell)
    labels = column.finish()
    assert isinstance(labels, Labels)
    return labels


def _text(cell: Any) -> str:
    if isinstance(cell, float) and math.isnan(cell):
        return ""
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | dict) else str(cell)


def _number(cell: Any) -> float:
    """A cell as a finite number, NaN where it says that there is none; else ValueError."""
    if cell is None or (isinstance(cell, str) and cell.strip().lower() in _MISSING):
        return math.nan
    if isinstance(cell, list | dict):
        raise ValueError
    value = float(cell)
    if math.isinf(value):
        raise ValueError
    return value


def _is_number(cell: str) -> bool:
    try:
        _number(cell)
    except ValueError:
        return False
    return True


def _not_a_number(name: str, row: int, column: str, cell: Any) -> str:
    text = str(cell) if len(str(cell)) <= 40 else str(cell)[:39] + "…"
    return (
        f"{name}, row {row}, column '{column}': expected a finite number, found '{text}'; "
        "leave the cell empty where there is no score"
    )


def _unguarded(cell: Any) -> Any:
    return cell[1:] if isinstance(cell, str) and cell.startswith("'") and guard(cell[1:]) == cell else cell


def _is_score(column: str, record: Mapping[str, Any], declared: Set[str]) -> bool:
    """Whether a column is a metric's value or part, by the meta file or by the columns beside it."""
    if column.endswith((*REASONS, STATISTICS)) or column in LABELS or column.startswith(CARRIED):
        return False
    if column in declared or column + UNSCORED in record:
        return True
    whole = column.rpartition(".")[0]
    return bool(whole) and (whole in declared or whole + UNSCORED in record)


def _declared(columns: Mapping[str, Floats | Labels], declared: Set[str]) -> tuple[str, ...]:
    return tuple(
        column
        for column in columns
        if column in declared or (column + UNSCORED in columns and not column.startswith(CARRIED))
        if column not in LABELS
    )


def _numeric_columns(columns: Mapping[str, Floats | Labels]) -> tuple[str, ...]:
    return tuple(name for name, values in columns.items() if name not in _IDENTITY and _numeric(values))


def _numeric(column: Floats | Labels) -> bool:
    """Whether every cell that is not empty holds a number, and there is one."""
    if not isinstance(column, Labels):
        return True
    try:
        values = [_number(name) for name in column.names]
    except ValueError:
        return False
    return any(not math.isnan(value) for value in values)


def _read_meta(path: Path) -> dict[str, Any]:
    """The sidecar of a scores file; empty where there is none."""
    sidecar = meta_path(path)
    try:
        text = sidecar.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise MedassayError(f"{sidecar}: cannot be read ({error}); remove it to read the scores without") from error
    try:
        meta = json.loads(text)
        better, signatures = meta["higher_is_better"], meta["signatures"]
        if not all(isinstance(way, bool) for way in better.values()) or not isinstance(signatures, dict):
            raise TypeError("unexpected types")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{sidecar}: not a meta file of medassay ({error}); remove it to read the scores without"
        ) from error
    return {"higher_is_better": better, "signatures": {str(k): str(v) for k, v in signatures.items()}}
