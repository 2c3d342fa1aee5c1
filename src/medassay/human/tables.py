"""The published tables: agreement (raw counts beside derived scores) and means by system and evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from medassay.human.ratings import Ratings, mean
from medassay.study import (
    Estimate,
    alpha_interval,
    cohen_kappa,
    count_f1,
    fleiss_kappa,
    krippendorff_alpha,
    mean_over_pairs,
    rater_correlation,
)

Pair = tuple[str, str]


@dataclass(frozen=True)
class AgreementRow:
    """Agreement on one column. `alpha` over all annotators, `pairs` for each two of them.

    `kappa`, `f1` (tolerance 0, 1, 2) and `pearson` are averages over pairs; kappa is given for raw
    answers only, where equal values mean equal judgements, and F1 for counts and scales. NaN: not
    assessable; None: not asked.
    """

    column: str
    raw: bool
    alpha: Estimate
    pairs: dict[Pair, float]
    pearson: float
    kappa: float | None = None
    fleiss: float | None = None
    f1: tuple[float, float, float] | None = None


def agreement(ratings: Ratings, *, resamples: int = 1000, seed: int = 1) -> list[AgreementRow]:
    """Every raw answer, then every derived score: the two groups whose gap the fact-counting paper shows
    (its table 2). Intervals resample whole cases."""
    raw = {question.name: question.level for question in ratings.protocol.questions}
    rows = []
    for column in ratings.protocol.columns:
        level = raw.get(column, "interval")
        table = ratings.table(column)
        clusters = [case_id for case_id, _ in ratings.items(column)]
        names = list(enumerate(ratings.annotators))
        is_raw = column in raw
        question = ratings.protocol.question(column)
        # A tolerance of 1 or 2 means something where values are whole steps, not for coherence (0, .5, 1).
        steps = question is not None and (question.is_count or max(question.choices) > 1)
        rows.append(
            AgreementRow(
                column=column,
                raw=is_raw,
                alpha=alpha_interval(table, level, clusters=clusters, resamples=resamples, seed=seed),
                pairs={(a, b): krippendorff_alpha(table[[i, j]], level) for (i, a), (j, b) in combinations(names, 2)},
                pearson=mean_over_pairs(table, rater_correlation),
                kappa=mean_over_pairs(table, cohen_kappa) if is_raw else None,
                fleiss=fleiss_kappa(table) if is_raw else None,
                f1=_tolerant(table) if steps else None,
            )
        )
    return rows


def _tolerant(table: object) -> tuple[float, float, float]:
    zero, one, two = (
        mean_over_pairs(table, lambda a, b, t=tolerance: count_f1(a, b, t))  # type: ignore[misc, arg-type]
        for tolerance in (0, 1, 2)
    )
    return zero, one, two


@dataclass(frozen=True)
class SystemRow:
    """One system and one score: the mean over tasks for each evaluator, and the mean of those means."""

    system: str
    column: str
    by_annotator: dict[str, float | None]
    average: float | None


def system_table(ratings: Ratings, columns: Sequence[str] | None = None) -> list[SystemRow]:
    """Per-system means as the paper prints them (its table 1): per evaluator, then averaged."""
    shown = columns if columns is not None else default_columns(ratings)
    rows = []
    for system in ratings.systems:
        for column in shown:
            means = {
                name: mean(
                    row.values.get(column) for row in ratings.rows if row.system == system and row.annotator == name
                )
                for name in ratings.annotators
            }
            rows.append(SystemRow(system, column, means, mean(means.values())))
    return rows


def default_columns(ratings: Ratings) -> list[str]:
    """Derived scores, then the choices (coherence); raw counts are not comparable between evaluators."""
    choices = [question.name for question in ratings.protocol.questions if question.choices]
    return [*ratings.protocol.derived, *choices]
