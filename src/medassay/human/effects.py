"""What the machine's draft does: tasks drawn by lot to show it, against tasks drawn not to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from medassay.human.ratings import Rating, Ratings
from medassay.study import Estimate, difference_interval


@dataclass(frozen=True)
class Effect:
    """One column with and without the draft: means, and the difference with − without with its 95 % interval.

    For a count or a score the difference is the bias that the draft brings; for `seconds` (a task) what is
    below 0 is time saved. `n`: tasks (for seconds) or texts with and without.
    """

    column: str
    with_draft: float | None
    without: float | None
    difference: Estimate
    n: tuple[int, int]


def effects(ratings: Ratings, *, resamples: int = 1000, seed: int = 1) -> list[Effect]:
    """What the draft does to time, answers and scores; empty where no finished task took part in the draw."""
    drawn = [row for row in ratings.rows if row.draft is not None]
    if not drawn:
        return []
    tasks = {(row.case_id, row.annotator): row for row in drawn}
    listed = [_effect("seconds", [(row, row.seconds) for row in tasks.values()], resamples, seed)]
    for column in ratings.protocol.columns:
        listed.append(_effect(column, [(row, row.values.get(column)) for row in drawn], resamples, seed))
    return listed


def _effect(column: str, given: Sequence[tuple[Rating, float | None]], resamples: int, seed: int) -> Effect:
    known = [(row, value) for row, value in given if value is not None]
    values = np.array([value for _, value in known], dtype=np.float64)
    treated = np.array([bool(row.draft) for row, _ in known], dtype=bool)
    clusters = [row.case_id for row, _ in known]
    means = [float(values[side].mean()) if side.any() else None for side in (treated, ~treated)]
    estimate = difference_interval(values, treated, clusters, resamples=resamples, seed=seed)
    return Effect(column, means[0], means[1], estimate, (int(treated.sum()), int((~treated).sum())))
