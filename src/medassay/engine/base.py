"""The one interface of the engines: rows in, the same rows with their scores out, in order.

An engine is told what to read and what to measure, never how a metric works. Whichever engine runs, the
same cases give the same bytes: every metric sees complete slices, and what is made of several metrics
(ensembles) is put together in one place, by the engine's caller process.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from medassay.cases import Case, Row, read_cases
from medassay.engine.store import Store
from medassay.metrics.base import Metric
from medassay.scores import Score

BATCH = 1024
"""Rows per batch where there is no metric to say."""

DIED = "the worker process died while scoring this case"
"""Why a case has failed that ends the process it is measured in, each time it is tried."""


def too_long(limit: float) -> str:
    """Why a case has failed that takes longer than the time limit."""
    return f"took longer than {limit:g} s, the time limit per case"


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
    process it is measured in has failed (`DIED`) and the rest is done. Close the iterator to stop early.
    """

    name: str

    def score(
        self,
        source: Source,
        metrics: Sequence[Metric],
        store: Store | None,
        *,
        batch: int | None = None,
        evidence: float = 0,
    ) -> Generator[list[Scored], None, None]:
        """The rows with their scores, batch by batch, in order.

        Args:
            source: opens the rows; more than once where a metric must see the whole set first.
            store: where finished scores are kept and looked for.
            batch: rows per batch; by default as many as the slowest metric takes between two writes to the store.
            evidence: so many rows, from the start, have evidence with their scores (`math.inf`: all).
        """


class Batches:
    """The cases of a source in slices, from the start with each loop."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __iter__(self) -> Iterator[list[Case]]:
        for rows in chunks(self.source(), BATCH):
            if cases := [row.case for row in rows if row.case is not None]:
                yield cases


def chunks(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """The stream in lists of `size` rows; the last may be shorter."""
    stream = iter(rows)
    while chunk := list(islice(stream, size)):
        yield chunk


def case_fields(case: Case) -> tuple[Any, ...]:
    """The fields of a case as plain data, in the order that `Case` takes them."""
    extra = dict(case.extra)
    return case.id, case.candidate, case.references, case.source, case.image, case.system, extra, case.row
