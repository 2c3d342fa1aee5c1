"""A scorer that stays warm: metrics and models loaded once, for many small calls.

For rewards while a model is being trained, and for the score server. The numbers are those of `medassay.score`,
to the last bit, whatever is scored together or at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal

from medassay.cases import Case, make_cases
from medassay.engine.base import leaves
from medassay.engine.local import Here, Machine
from medassay.engine.slices import Measured
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.metrics.registry import DEFAULT, load_metrics
from medassay.scores import Result, Score

_WARM = Case("warm", "Adenocarcinoma, grade 2.", ("Adenocarcinoma, moderately differentiated.",), source="Biopsy.")


class Scorer:
    """Metrics ready to score batch after batch, from any number of threads.

    metrics: requests as in `medassay.score`, or metric objects. Metrics whose number depends on the whole set
    (z-scores over the set, idf) have no meaning for a batch and are refused.
    workers: processes that measure; 0: this one does, one batch at a time. With workers, a case that kills the
    process it is measured in is unscored and the others have their scores.

    >>> with Scorer("rouge1") as scorer:
    ...     result = scorer.score_batch(["No tumor seen."], ["No tumour is seen."])
    >>> round(result["rouge1"][0].value, 3)
    0.571
    """

    def __init__(
        self,
        metrics: str | Metric | Iterable[str | Metric] = DEFAULT,
        *,
        models: str | None = None,
        references: Literal["best", "mean"] = "best",
        workers: int = 0,
        evidence: bool = False,
    ) -> None:
        wanted = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
        loaded: dict[str, Metric] = {}
        for one in wanted:
            asked = [one] if isinstance(one, Metric) else load_metrics(one, models=models, references=references)
            for metric in asked:
                loaded.setdefault(metric.name, metric)
        self.metrics = tuple(loaded.values())
        for metric in self.metrics:
            if metric.depends_on_set:
                raise MedassayError(
                    f"metric '{metric.name}' depends on the whole set scored, and a batch is none; "
                    "for z-scores give a stored distribution: z(…,reference=FILE)"
                )
            metric.with_evidence = evidence
        self.leaves = leaves(self.metrics)
        self.workers = workers
        self.pool: Here | Machine = Machine(self.leaves, workers) if workers else Here()
        self.closed = False

    def score_batch(
        self,
        candidates: Sequence[str],
        references: Sequence[str | Sequence[str]] | None = None,
        *,
        sources: Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
        systems: Sequence[str] | None = None,
    ) -> Result:
        """Scores of a batch of texts; equal ones are measured once."""
        return self.score_cases(make_cases(candidates, references, sources=sources, ids=ids, systems=systems))

    async def ascore_batch(
        self,
        candidates: Sequence[str],
        references: Sequence[str | Sequence[str]] | None = None,
        *,
        sources: Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
        systems: Sequence[str] | None = None,
    ) -> Result:
        """As `score_batch`, while the event loop goes on."""
        import asyncio

        cases = make_cases(candidates, references, sources=sources, ids=ids, systems=systems)
        return await asyncio.to_thread(self.score_cases, cases)

    def score_cases(self, cases: Sequence[Case]) -> Result:
        """Scores of ready-made cases."""
        if self.closed:
            raise MedassayError("this scorer is closed; make another")
        columns = self._begin(cases)
        scores = {id(leaf): column.scores() for leaf, column in zip(self.leaves, columns)}
        return Result(
            tuple(cases), self.metrics, {metric.name: self._composed(metric, scores) for metric in self.metrics}
        )

    def _begin(self, cases: Sequence[Case]) -> list[_Column]:
        """Hand each distinct content to the pool, in at least as many slices as there are workers."""
        shared: dict[frozenset[str], tuple[list[Case], list[int]]] = {}
        columns = []
        for leaf in self.leaves:
            fields = leaf.needs | leaf.reads
            if fields not in shared:
                shared[fields] = _distinct(cases, sorted(fields))
            columns.append(_Column(leaf, *shared[fields]))
        most = max((len(column.distinct) for column in columns), default=0)
        size = min([-(-most // max(1, self.workers)), *(leaf.keep_every for leaf in self.leaves)])
        for start in range(0, most, max(1, size)):
            share = [column for column in columns if start < len(column.distinct)]
            units = [(column.metric, column.distinct[start : start + size]) for column in share]
            for column, future in zip(share, self.pool.submit(units, texts=False)):
                column.slices.append(future)
        return columns

    def _composed(self, metric: Metric, scores: Mapping[int, list[Score]]) -> list[Score]:
        if metric.members:
            return metric.compose([self._composed(member, scores) for member in metric.members])
        return scores[id(metric)]

    def warm(self) -> None:
        """Start the workers and open the models now, not with the first batch."""
        pool = self.pool
        if isinstance(pool, Here):
            self.score_cases([_WARM])
            return
        pool.workers.warm()
        waiting = [pool.submit([(leaf, [_WARM]) for leaf in self.leaves], texts=False) for _ in range(self.workers)]
        for one in (future for some in waiting for future in some):
            one.result()

    def close(self) -> None:
        """End the workers; what they are measuring is dropped."""
        self.closed = True
        if isinstance(self.pool, Machine):
            self.pool.close()

    def __enter__(self) -> Scorer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass
class _Column:
    """One metric's distinct cases, for each case which of them it is, and the slices that measure them."""

    metric: Metric
    distinct: list[Case]
    places: list[int]
    slices: list[Future[Measured]] = field(default_factory=list)

    def scores(self) -> list[Score]:
        made = [score for one in self.slices for score in one.result().scores]
        return [made[place] for place in self.places]


def _distinct(cases: Sequence[Case], fields: Sequence[str]) -> tuple[list[Case], list[int]]:
    """The cases that differ in these fields, and for each case which of them it equals."""
    firsts: dict[tuple[object, ...], int] = {}
    distinct: list[Case] = []
    places = []
    for case in cases:
        content = tuple(
            case.references if name == "reference" else getattr(case, name, case.extra.get(name)) for name in fields
        )
        if content not in firsts:
            firsts[content] = len(distinct)
            distinct.append(case)
        places.append(firsts[content])
    return distinct, places
