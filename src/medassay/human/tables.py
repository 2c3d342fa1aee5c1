"""Tables of a study: agreement on answers, scores and highlights, means by system, and the effect of the draft.

The coefficients are pure functions of `medassay.study`; the tables follow those of the fact-counting paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from medassay.human.protocols.base import CASE
from medassay.human.ratings import Key, Rating, Ratings, mean
from medassay.human.store import Store
from medassay.study import (
    Estimate,
    Level,
    alpha_interval,
    cohen_kappa,
    count_f1,
    difference_interval,
    fleiss_kappa,
    intraclass_correlation,
    krippendorff_alpha,
    mean_over_pairs,
    rater_correlation,
    span_f1,
)

Pair = tuple[str, str]


@dataclass(frozen=True)
class AgreementRow:
    """Agreement on one column. `alpha` over all annotators, `pairs` for each two of them; `icc`, the
    intra-class correlation ICC(2,1), over the texts that all of them judged.

    unit: what alpha is over: each `text`, or each `case` for a count that is made once per case (facts of the
    reference). per_text: for such a count, alpha with the count repeated for every text of the case, as a table of one
    row per text gives it; None otherwise.

    `kappa`, `f1` (tolerance 0, 1, 2) and `pearson` are averages over pairs; kappa is given for raw
    answers only, where equal values mean equal judgements, and F1 for counts and scales. NaN: not
    assessable; None: not asked.
    """

    column: str
    raw: bool
    alpha: Estimate
    pairs: dict[Pair, float]
    pearson: float
    icc: float = float("nan")
    kappa: float | None = None
    fleiss: float | None = None
    f1: tuple[float, float, float] | None = None
    unit: Literal["case", "text"] = "text"
    per_text: Estimate | None = None


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
                icc=intraclass_correlation(table),
                kappa=mean_over_pairs(table, cohen_kappa) if is_raw else None,
                fleiss=fleiss_kappa(table) if is_raw else None,
                f1=_tolerant(table) if steps else None,
                unit="case" if question is not None and question.per == "case" else "text",
                per_text=_per_text(ratings, column, level, resamples, seed),
            )
        )
    return rows


def _per_text(ratings: Ratings, column: str, level: Level, resamples: int, seed: int) -> Estimate | None:
    """Alpha over texts of a count that is made once per case; None for any other column."""
    question = ratings.protocol.question(column)
    if question is None or question.per != "case":
        return None
    clusters = [case_id for case_id, _ in ratings.keys]
    return alpha_interval(
        ratings.table(column, per_text=True), level, clusters=clusters, resamples=resamples, seed=seed
    )


@dataclass(frozen=True)
class ChoiceRow:
    """One answer of a question with choices (coherence: 1 coherent, 0.5 minor errors, 0 major errors).

    share: of all ratings. unanimous: share of the texts that all annotators rated to which all gave this answer.
    texts: how many those are. A strong imbalance of answers makes alpha low although people nearly always agree; these
    shares tell the two apart (the fact-counting paper, section 6.1).
    """

    column: str
    value: float
    share: float
    unanimous: float | None
    texts: int


def choice_shares(ratings: Ratings) -> list[ChoiceRow]:
    """The shares of every answer of every question with choices, in the order of the choices."""
    rows = []
    for question in ratings.protocol.questions:
        if not question.choices:
            continue
        table = ratings.table(question.name)
        given = table[~np.isnan(table)]
        if not len(given):
            continue
        complete = table[:, ~np.isnan(table).any(axis=0)]
        several = len(table) > 1 and complete.shape[1] > 0
        for choice in question.choices:
            unanimous = float((complete == choice).all(axis=0).mean()) if several else None
            share = float((given == choice).mean())
            rows.append(ChoiceRow(question.name, choice, share, unanimous, complete.shape[1]))
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


Marked = dict[str, dict[Key, list[tuple[int, int]]]]
"""By annotator and text, the spans that were highlighted; a text without any has an empty list."""


@dataclass(frozen=True)
class SpanRow:
    """One kind of highlight: F1 between annotators, averaged over pairs that share a text with a highlight.

    relaxed: a highlight matches where it overlaps one of the other annotator. exact: where it has the same ends.
    highlights, texts: how many there are in all.
    """

    kind: str
    relaxed: float
    exact: float
    highlights: int
    texts: int


def span_agreement(store: Store) -> list[SpanRow]:
    """Every kind of highlight of a study's protocol that was used, over finished tasks without practice."""
    rows = []
    for kind in store.protocol.marks:
        marked = _marked(store, kind.name, per_case=kind.per == "case")
        count = sum(len(spans) for texts in marked.values() for spans in texts.values())
        if not count:
            continue
        relaxed, exact = (_over_pairs(marked, exact=exact) for exact in (False, True))
        texts = {key for given in marked.values() for key in given}
        rows.append(SpanRow(kind.name, relaxed, exact, count, len(texts)))
    return rows


def _marked(store: Store, kind: str, *, per_case: bool) -> Marked:
    marked: Marked = {}
    for task in store.tasks():
        if task.training or not task.state["done"]:
            continue
        texts = marked.setdefault(task.annotator, {})
        slots = {CASE: (task.unit.case_id, "")} if per_case else {}
        if not per_case:
            slots = {str(i): (task.unit.case_id, item.system) for i, item in enumerate(task.candidates, 1)}
        for slot, key in slots.items():
            texts[key] = [
                (mark["start"], mark["end"])
                for mark in task.state["marks"]
                if mark["kind"] == kind and mark["slot"] == slot and mark["start"] < mark["end"]
            ]
    return marked


def _over_pairs(marked: Marked, *, exact: bool) -> float:
    """The mean over pairs of annotators; NaN where no pair can be assessed."""
    values = []
    for a, b in combinations(marked.values(), 2):
        shared = [key for key in a if key in b]
        value = span_f1([a[key] for key in shared], [b[key] for key in shared], exact=exact)
        if value == value:
            values.append(value)
    return sum(values) / len(values) if values else float("nan")


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
