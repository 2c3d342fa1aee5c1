"""Scores of texts and their variants, for the commands that change texts and measure the effect."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from medassay import console

if TYPE_CHECKING:
    from medassay.cases import Case
    from medassay.engine.job import Failures
    from medassay.metrics.base import Metric
    from medassay.scores import Score
    from medassay.study import Floats

_LOG = logging.getLogger(__name__)


def score_groups(
    groups: Sequence[Sequence[Case]], metrics: Sequence[Metric]
) -> tuple[dict[str, list[list[Score]]], Failures]:
    """Score cases that come in groups, a text with its variants.

    Returns:
        By metric and group, a score per case; and the cases that metrics failed on.
    """
    from dataclasses import replace

    from medassay.cases import Row
    from medassay.engine.job import Failures
    from medassay.engine.local import run

    owners = [g for g, group in enumerate(groups) for _ in group]
    cases = [case for group in groups for case in group]
    rows = [Row(number, replace(case, row=number)) for number, case in enumerate(cases, 1)]
    scores: dict[str, list[list[Score]]] = {metric.name: [[] for _ in groups] for metric in metrics}
    scored = (row for batch in console.scoring_progress(run(rows, metrics), len(rows)) for row in batch)
    failures = Failures(metrics)
    for metric in metrics:
        _LOG.info("metric %s", metric.signature)
    _LOG.info("scoring %d texts", len(rows))
    for owner, case, row in zip(owners, cases, scored):
        failures.add(f"text '{case.id}'", case, row.scores)
        for name, score in row.scores.items():
            scores[name][owner].append(score)
    return scores, failures


def values_of(scores: Mapping[str, Sequence[Sequence[Score]]]) -> dict[str, list[Floats]]:
    """The numbers of scores in groups; NaN where a case has none."""
    import numpy as np

    return {
        name: [np.array([np.nan if score.value is None else score.value for score in group]) for group in groups]
        for name, groups in scores.items()
    }
