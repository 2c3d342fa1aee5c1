"""The Python door: `medassay.score(...)`, `medassay.trust(...)` and `medassay.load_metric(...)`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from medassay.cases import Case, make_cases
from medassay.engine.local import score_cases
from medassay.errors import InputError
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
    workers: int = 0,
) -> Result:
    """Score texts (or ready-made cases) with the named metrics.

    workers: processes that measure; 0: this one does.
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
    return score_cases(cases, list(loaded.values()), workers=workers)


def trust(
    candidates: Sequence[str] | Sequence[Case],
    images: Sequence[str | Path | None] | None = None,
    *,
    stained: Sequence[str | None] | None = None,
    attacked: Sequence[str | None] | None = None,
    ids: Sequence[str] | None = None,
    systems: Sequence[str] | None = None,
    weights: str | None = None,
    policy: str | Path | None = None,
    models: str | None = None,
    evidence: bool | None = None,
    **settings: Any,
) -> Result:
    """Grounding, logic, stability and trust of reports (or ready-made cases), with a route each; no reference.

    images: an image or slide file a report. stained, attacked: the reports that the same model wrote about the
    image with perturbed stains and under a false clinical history; an empty text is a failed generation.
    settings: go to the dimensions that know them (mpp, budget, distance …). The route of a case stands in
    `result["trust"][i].labels["route"]` and in `result.rows()`. For research and quality assurance.
    """
    from medassay.metrics.trust import load_trust

    ready = [case for case in candidates if isinstance(case, Case)]
    if ready and len(ready) == len(candidates):
        cases = ready
    else:
        cases = make_cases(cast("Sequence[str]", candidates), ids=ids, systems=systems)
    given = {"images": images, "stained": stained, "attacked": attacked}
    for what, values in given.items():
        if values is not None and (isinstance(values, str) or len(values) != len(cases)):
            raise InputError(f"{len(cases)} candidates but {what} is not a list of as many")
    for i, case in enumerate(cases):
        extra = dict(case.extra)
        for column, texts in (("candidate_stain", stained), ("candidate_attack", attacked)):
            if texts is not None and texts[i] is not None:
                extra[column] = texts[i]
        image = images[i] if images is not None else None
        cases[i] = replace(case, extra=extra, image=case.image if image is None else str(image))
    made = load_trust(weights, policy, models, **settings)
    listed: list[Metric] = [*made.members, made]
    for metric in listed:
        metric.with_evidence = evidence if evidence is not None else len(cases) <= 2000
    return score_cases(cases, listed)


def load_metric(name: str, **settings: Any) -> Metric:
    """One metric by name, with its settings as keywords: `load_metric("rouge1", stem=True)`."""
    return _load_metric(name, **settings)
