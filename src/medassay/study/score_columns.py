"""The numbers of a run in memory: one float per case and metric, and hashes of ids and references.

The distributions and the comparison of systems are computed from them, over every case of the run.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from medassay.cases import Case
from medassay.engine.score_table import Labels, ScoreTable
from medassay.engine.scores_file import corpus_level
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.scores import Score
from medassay.study.resampling import Floats
from medassay.study.significance import Comparison, compare


class ScoreColumns:
    """The scores of a run, added case by case."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.metrics = metrics
        self.systems: dict[str, int] = {}
        self._system: array[int] = array("q")
        self._id: array[int] = array("Q")
        self._reference: array[int] = array("Q")
        self._value: dict[str, array[float]] = {metric.name: array("d") for metric in metrics}
        self._statistics: dict[str, list[tuple[float, ...]]] = {m.name: [] for m in metrics if corpus_level(type(m))}

    def add(self, case: Case, scores: Mapping[str, Score]) -> None:
        """Take in one case; an unscored one is NaN here and is never counted."""
        self._system.append(self.systems.setdefault(case.system or "", len(self.systems)))
        self._id.append(_hash(case.id.encode("utf-8", "surrogatepass")))
        self._reference.append(_hash(case.reference_key) if case.references else 0)
        for name, column in self._value.items():
            value = scores[name].value
            column.append(math.nan if value is None else value)
        for name, rows in self._statistics.items():
            rows.append(scores[name].statistics)

    def values(self) -> dict[tuple[str, str], Floats]:
        """Scored values by metric and system, in input order."""
        codes = np.array(self._system, dtype=np.int64)
        split: dict[tuple[str, str], Floats] = {}
        for name, column in self._value.items():
            values = np.array(column, dtype=np.float64)
            scored = ~np.isnan(values)
            for system, code in self.systems.items():
                split[name, system] = values[scored & (codes == code)]
        return split

    def compare(self) -> Comparison | str:
        """The systems compared pair by pair, or why they cannot be."""
        names = tuple(self.systems)
        codes = np.array(self._system, dtype=np.int64)
        # A case without a system belongs to none: it is left out of the comparison, not made a system.
        if "" in self.systems:
            nameless = self.systems[""]
            names = tuple(name for name in names if name)
            codes = np.where(codes == nameless, -1, codes - (codes > nameless))
        columns: dict[str, Floats | Labels] = {
            "id": _labels(self._id),
            "system": Labels(codes, names),
            **{name: np.array(column, dtype=np.float64) for name, column in self._value.items()},
        }
        if any(self._reference):
            columns["reference_key"] = _labels(self._reference)
        table = ScoreTable(
            name="this run",
            rows=np.arange(1, len(codes) + 1, dtype=np.int64),
            columns=columns,
            metrics=tuple(self._value),
            higher_is_better={metric.name: metric.higher_is_better for metric in self.metrics},
            signatures={metric.name: str(metric.signature) for metric in self.metrics},
            statistics={name: _stacked(rows) for name, rows in self._statistics.items()},
        )
        try:
            return compare(table)
        except MedassayError as error:
            return str(error)


def _hash(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big") | 1


def _stacked(rows: Sequence[tuple[float, ...]]) -> Floats:
    """Statistics as [rows, k]; NaN where a row has none."""
    width = max(map(len, rows), default=0)
    return np.array([row or (math.nan,) * width for row in rows], dtype=np.float64).reshape(len(rows), width)


def _labels(hashes: array[int]) -> Labels:
    """Hashes as codes; a hash of 0 is an empty cell."""
    marks: npt.NDArray[np.uint64] = np.array(hashes, dtype=np.uint64)
    distinct, first, codes = np.unique(marks, return_index=True, return_inverse=True)
    # Numbered by first appearance, as a scores file is read: both give the same resamples.
    order = np.argsort(np.where(distinct == 0, -1, first), kind="stable")
    rank = np.empty(len(distinct), dtype=np.int64)
    rank[order] = np.arange(len(distinct))
    empty = int(len(distinct) > 0 and distinct[0] == 0)
    return Labels(rank[codes] - empty, tuple(str(mark) for mark in distinct[order][empty:]))
