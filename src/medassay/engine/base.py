"""The one interface of the engines: rows in, the same rows with their scores out, in order.

An engine is told what to read and what to measure, never how a metric works. Whichever engine runs, the
same cases give the same bytes: every metric sees complete slices, and what is made of several metrics
(ensembles) is put together in one place, by the engine's caller process.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Protocol

from medassay.cases import Case, Row, read_cases
from medassay.engine.store import Store
from medassay.metrics.base import Metric
from medassay.scores import Score

BATCH = 1024
"""Rows a batch where there is no metric to say."""

DIED = "the worker process died while scoring this case"
"""Why a case is unscored that ends the process it is measured in, each time it is tried."""

Source = Callable[[], Iterable[Row]]
"""Opens the stream of rows, from the start with each call."""


@dataclass(frozen=True)
class CaseFiles:
    """A source that other machines can open too: a case file or a folder of them, and how it is read."""

    path: str
    columns: Mapping[str, str] = field(default_factory=dict)
    format: str | None = None
    strict: bool = False

    def __call__(self) -> Iterator[Row]:
        return read_cases(self.path, self.columns, format=self.format, strict=self.strict)


@dataclass(frozen=True, slots=True)
class Scored:
    """A row that has been through all metrics: its case and their scores, or what was wrong with it."""

    row: Row
    scores: dict[str, Score]


class Engine(Protocol):
    """Scores a stream of rows with metrics, in bounded memory.

    What is kept in the store is not measured again, so that an interrupted run continues. A case that kills the
    process it is measured in is unscored (`DIED`) and the rest is done. Close the iterator to stop early.
    """

    name: str

    def score(
        self, source: Source, metrics: Sequence[Metric], store: Store | None, *, batch: int | None = None
    ) -> Generator[list[Scored], None, None]: ...


def leaves(metrics: Iterable[Metric]) -> list[Metric]:
    """The metrics that are measured, each once: an ensemble's members in place of itself."""
    found: dict[int, Metric] = {}
    for metric in metrics:
        for leaf in leaves(metric.members) if metric.members else [metric]:
            found.setdefault(id(leaf), leaf)
    return list(found.values())


def place(metric: Metric) -> str:
    """Where a metric is measured: `cores`, `device` or `network`. Models that run on torch are a device's work."""
    if metric.runs_on != "cores":
        return metric.runs_on
    return "device" if any(_on_torch(source) for source in _sources(metric)) else "cores"


def _sources(metric: Metric) -> Iterator[str]:
    """Where the models of a metric come from: those it holds, those of metrics it holds, and those it names."""
    whole = getattr(metric, "whole", metric)
    spec = getattr(whole, "models", None)
    if isinstance(spec, str) and spec != "embedded":
        from medassay.models.loading import ROLES, resolve

        yield from {resolve(role, spec) for role in ROLES}
    for held in vars(whole).values():
        for one in held if isinstance(held, list | tuple) else (held,):
            if isinstance(one, Metric):
                yield from _sources(one)
            elif hasattr(one, "loaded_from"):
                yield one.loaded_from[1]


def _on_torch(source: str) -> bool:
    """Whether a model's source is anything but a set of ONNX graphs."""
    return source != "embedded" and not (Path(source) / "manifest.json").is_file()


def measure(metric: Metric, cases: Sequence[Case]) -> list[Score]:
    """The scores of a slice; a metric over the set has seen the set before."""
    return metric.score_slice(cases) if metric.over_set else metric.score(cases)


def batch_size(metrics: Iterable[Metric]) -> int:
    """Rows a batch: as many as the slowest metric likes between two writes to the store."""
    return min((metric.keep_every for metric in leaves(metrics)), default=BATCH)


def chunks(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """The stream in lists of `size` rows; the last may be shorter."""
    stream = iter(rows)
    while chunk := list(islice(stream, size)):
        yield chunk
