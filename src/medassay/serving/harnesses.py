"""Metrics inside evaluation harnesses: lm-evaluation-harness and inspect_ai.

A harness generates the texts, hands them over case by case, and averages the values itself. So the mean of BLEU or chrF
there is a mean over cases, not the corpus value that `medassay.score` gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from medassay.errors import InputError, MedassayError, nearest
from medassay.metrics.base import Metric
from medassay.serving.scorer import Scorer

ProcessResults = Callable[[Mapping[str, Any], Sequence[Any]], dict[str, float]]


def lm_eval_results(
    metrics: str | Metric | Sequence[str | Metric],
    *,
    reference: str | None = "reference",
    source: str | None = None,
    models: str | None = None,
) -> ProcessResults:
    """The `process_results` of a task of lm-evaluation-harness whose output is text (`generate_until`).

    reference, source: the columns of the documents with what a text is judged against, and what it was written from;
    None where the metrics read none. A text without a score has no value, and the harness leaves it out of the mean.

    >>> process_results = lm_eval_results("rouge1", reference="report")
    >>> process_results({"report": "no tumor"}, ["no tumor seen"])
    {'rouge1': 0.8}
    """
    scorer = Scorer(metrics, models=models)

    def process_results(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, float]:
        text = results[0] if isinstance(results[0], str) else results[0][0]  # repeats: the first counts
        references = None if reference is None else [_field(doc, reference)]
        sources = None if source is None else [_field(doc, source)]
        scores = scorer.score_batch([text], references, sources=sources)
        return {name: values[0].value for name, values in scores.scores.items() if values[0].value is not None}

    return process_results


def _field(doc: Mapping[str, Any], name: str) -> Any:
    if name not in doc:
        raise InputError(
            f"the documents have no column '{name}'{nearest(name, doc)}; name yours. Columns: {', '.join(doc)}"
        )
    return doc[name]


def inspect_scorer(
    metrics: str | Sequence[str], *, source: str | None = None, models: str | None = None, workers: int = 0
) -> Any:
    """A scorer for inspect_ai, which must be installed: `Task(…, scorer=inspect_scorer("rouge1,facts"))`.

    The targets of a sample are its references. source: what texts were written from, `input` for the sample's input,
    or else a key of its metadata. Each metric has its mean and standard error; a text without a score is unscored there
    too, and its explanation says why.
    """
    try:
        import anyio.to_thread
        from inspect_ai.scorer import Score, mean, scorer, stderr
    except ImportError as error:
        raise MedassayError("inspect_scorer needs inspect_ai: pip install inspect-ai") from error
    ready = Scorer(metrics, models=models, workers=workers)
    names = ",".join(metric.name for metric in ready.metrics)

    async def score(state: Any, target: Any) -> Any:
        text = state.output.completion
        references = [[text for text in target if text.strip()]]
        sources = None
        if source is not None:
            sources = [state.input_text if source == "input" else _field(state.metadata, source)]
        told = await anyio.to_thread.run_sync(lambda: ready.score_batch([text], references, sources=sources))
        scores = {name: values[0] for name, values in told.scores.items()}
        reasons = {name: score.unscored or score.failed for name, score in scores.items() if score.value is None}
        return Score(
            value={name: math.nan if score.value is None else score.value for name, score in scores.items()},
            answer=text,
            explanation="; ".join(f"{name}: {reason}" for name, reason in reasons.items()) or None,
            metadata={
                "signatures": dict(told.signatures),
                "parts": {name: dict(s.parts) for name, s in scores.items()},
            },
        )

    def medassay(metrics: str) -> Any:
        return score

    return scorer(metrics={"*": [mean(), stderr()]}, name="medassay")(medassay)(metrics=names)
