"""The Python door: `medassay.score(...)` and `medassay.load_metric(...)`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from medassay.cases import Case, make_cases
from medassay.engine.local import score_cases
from medassay.metrics.base import Metric
from medassay.metrics.registry import DEFAULT, load_metrics
from medassay.metrics.registry import load_metric as _load_metric
from medassay.scores import Result


def score(
    candidates: Sequence[str] | Sequence[Case],
    references: Sequence[str | Sequence[str]] | None = None,
    *,
    metrics: str | Iterable[str | Metric] = DEFAULT,
    sources: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
    systems: Sequence[str] | None = None,
    models: str | None = None,
    evidence: bool | None = None,
) -> Result:
    """Score texts (or ready-made cases) with the named metrics.

    evidence: keep what each number rests on, for the report page; by default where the page would carry
        every case (up to 2,000).
    """
    ready = [case for case in candidates if isinstance(case, Case)]
    if ready and len(ready) == len(candidates):
        cases = ready
    else:
        cases = make_cases(cast("Sequence[str]", candidates), references, sources=sources, ids=ids, systems=systems)
    wanted = [metrics] if isinstance(metrics, str) else list(metrics)
    loaded: dict[str, Metric] = {}
    for one in wanted:
        for metric in [one] if isinstance(one, Metric) else load_metrics(one, models=models):
            loaded.setdefault(metric.name, metric)
            metric.with_evidence = metric.with_evidence or (evidence if evidence is not None else len(cases) <= 2000)
    return score_cases(cases, list(loaded.values()))


def load_metric(name: str, **settings: Any) -> Metric:
    """One metric by name, with its settings as keywords: `load_metric("rouge1", stem=True)`."""
    return _load_metric(name, **settings)
