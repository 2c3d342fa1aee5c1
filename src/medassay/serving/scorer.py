"""A scorer that stays warm: metrics and models loaded once, for many small calls.

For rewards while a model is being trained, and for the score server. The numbers are those of `medassay.score`,
to the last bit, whatever is scored together or at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Literal

from medassay.cases import Case, Row, make_cases
from medassay.engine.local import InProcessPool, LocalPool, columns_of, process_count
from medassay.engine.placement import batch_size
from medassay.engine.slices import SliceRunner, WorkUnit
from medassay.engine.worker import WARM_UP_CASE
from medassay.errors import MedassayError
from medassay.metrics.base import Metric, depends_on_set
from medassay.metrics.registry import DEFAULT, load_metrics
from medassay.metrics.scoring import leaves
from medassay.result import Result


class Scorer:
    """Metrics ready to score batch after batch, from any number of threads.

    metrics: requests as in `medassay.score`, or metric objects. Metrics whose number depends on the whole set
    (z-scores over the set, idf) have no meaning for a batch and are refused.
    workers: processes that measure; 0: this one does, one batch at a time. With workers, a case that kills the
    process it is measured in has failed and the others have their scores.
    case_timeout: seconds that a metric may take for one case; a case that takes longer has failed. Cases are then
    measured by at least one process of their own.

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
        case_timeout: float | None = None,
    ) -> None:
        self.metrics = tuple(load_metrics(metrics, models=models, references=references))
        for metric in self.metrics:
            if depends_on_set(metric):
                raise MedassayError(
                    f"metric '{metric.name}' depends on the whole set scored, and a batch is none; "
                    "for z-scores give a stored distribution: z(…,reference=FILE)"
                )
        self.evidence = evidence
        self.workers = process_count(workers, case_timeout)
        self.pool: InProcessPool | LocalPool = InProcessPool()
        if self.workers:
            self.pool = LocalPool(leaves(self.metrics), self.workers, case_timeout)
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
        # At least as many slices as there are workers.
        size = min(batch_size(self.metrics), max(1, -(-len(cases) // max(1, self.workers))))
        rows = [Row(case.row, case) for case in cases]
        batches = SliceRunner(self.pool, None).run(rows, self.metrics, size, len(rows) if self.evidence else 0)
        return Result(tuple(cases), self.metrics, columns_of(batches, self.metrics))

    def warm(self) -> None:
        """Start the workers and open the models now, not with the first batch."""
        if isinstance(self.pool, LocalPool):
            self.pool.cores.warm()
        units = [WorkUnit(leaf, [WARM_UP_CASE], self.evidence) for leaf in leaves(self.metrics)]
        waiting = [self.pool.submit(units, texts=False) for _ in range(max(1, self.workers))]
        for future in (future for futures in waiting for future in futures):
            future.result()

    def close(self) -> None:
        """End the workers; what they are measuring is dropped."""
        self.closed = True
        self.pool.close()

    def __enter__(self) -> Scorer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
