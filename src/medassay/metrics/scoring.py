"""From cases to scores with one metric: the rules that hold for every metric.

Every engine, the Python interface and `Metric.score` use this module. A case that lacks a field is unscored, one with
several references is measured against each, and a case on which the metric raises has failed without affecting others.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from medassay.cases import Case
from medassay.columns import clean
from medassay.metrics.base import Ensemble, Metric, ScoreSlice, SetMetric, depends_on_set, members_of
from medassay.scores import Score


def survey_all(metrics: Sequence[Metric], batches: Iterable[Sequence[Case]], scored: ScoreSlice) -> None:
    """Show the whole set to every metric that depends on it, members before their ensembles.

    `batches` is iterated once for each such metric, so it must be a list, or an object that starts anew with each loop.
    """
    for metric in metrics:
        if depends_on_set(metric):
            survey_all(members_of(metric), batches, scored)
            if isinstance(metric, SetMetric) and metric.over_set:
                metric.survey(batches, scored)


def score_slice(metric: Metric, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
    """The scores of a slice of the set, which has been surveyed: one per case, in order, always."""
    return composed(metric, lambda leaf: _score_leaf(leaf, cases, evidence), evidence)


def composed(metric: Metric, measured: Callable[[Metric], list[Score] | None], evidence: bool = False) -> list[Score]:
    """A metric's scores: those that have been measured, or what an ensemble composes of its members'.

    A case on which a member has failed has failed, and so has one on which composing breaks.

    Args:
        measured: the scores of a metric that is measured itself; None for an ensemble.
    """
    scores = measured(metric)
    if scores is not None or not isinstance(metric, Ensemble):
        return scores or []
    columns = [composed(member, measured, evidence) for member in metric.members]
    failures = [_member_failure(metric.members, scores) for scores in zip(*columns)]
    complete_columns = [[s for s, failed in zip(column, failures) if failed is None] for column in columns]
    composed_scores = iter(_compose_isolated(metric, complete_columns, evidence))
    return [next(composed_scores) if failed is None else failed for failed in failures]


def _compose_isolated(metric: Ensemble, columns: Sequence[Sequence[Score]], evidence: bool) -> list[Score]:
    """Compose all cases at once; where that breaks, one by one."""
    number = len(columns[0])
    if not number:
        return []
    try:
        return _checked(metric.compose(columns, evidence), number, metric)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit, too, is how a metric breaks, and no way to end a run
        if number == 1:
            return [Score.failure(error, _origin(error))]
    return [score for i in range(number) for score in _compose_isolated(metric, [[c[i]] for c in columns], evidence)]


def _member_failure(members: Sequence[Metric], scores: Sequence[Score]) -> Score | None:
    for member, score in zip(members, scores):
        if score.failed is not None:
            name = f"{member.name}: " if len(members) > 1 else ""
            return Score.failure(name + score.failed, score.evidence)
    return None


def leaves(metrics: Iterable[Metric]) -> list[Metric]:
    """The metrics that are measured, each once: an ensemble's members in place of itself."""
    distinct: dict[int, Metric] = {}
    for metric in metrics:
        for leaf in leaves(members_of(metric)) if members_of(metric) else [metric]:
            distinct.setdefault(id(leaf), leaf)
    return list(distinct.values())


def lacking(case: Case, needs: Iterable[str]) -> str | None:
    """Why the case cannot be scored: the first of these needs that it lacks; None where it lacks none."""
    for need in needs:
        if not case.has(need):
            return "empty candidate" if need == "candidate" else f"no {need}"
    return None


def _score_leaf(metric: Metric, cases: Sequence[Case], evidence: bool) -> list[Score] | None:
    if isinstance(metric, Ensemble):
        return None
    needs = sorted(metric.needs)
    reasons = [lacking(case, needs) for case in cases]
    complete = [case for case, reason in zip(cases, reasons) if reason is None]
    several_references = "reference" in metric.needs and any(len(case.references) != 1 for case in complete)
    measure = _each_reference if several_references else _measure_isolated
    scores = iter(measure(metric, complete, evidence))
    return [next(scores) if reason is None else Score.none(reason) for reason in reasons]


def _each_reference(metric: Metric, cases: Sequence[Case], evidence: bool) -> list[Score]:
    """Measure every case against each of its references alone, then combine the scores of each case."""
    single = [
        case if len(case.references) == 1 else replace(case, references=(reference,))
        for case in cases
        for reference in case.references
    ]
    scores = iter(_measure_isolated(metric, single, evidence))
    by_case = [[next(scores) for _ in case.references] for case in cases]
    return [of_case[0] if len(of_case) == 1 else over_references(metric, of_case) for of_case in by_case]


def _measure_isolated(metric: Metric, cases: Sequence[Case], evidence: bool) -> list[Score]:
    """Measure all at once; where that breaks, one by one, so that one row never loses the others."""
    if not cases:
        return []
    try:
        return _checked(metric.measure(list(cases), evidence), len(cases), metric)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit, too, is how a metric breaks, and no way to end a run
        if len(cases) == 1:
            return [Score.failure(error, _origin(error))]
    return [score for case in cases for score in _measure_isolated(metric, [case], evidence)]


def _checked(scores: object, number: int, metric: Metric) -> list[Score]:
    """What a metric returned, checked: a list of `number` scores; raises where it is anything else."""
    if not isinstance(scores, list | tuple):
        raise TypeError(f"returned {type(scores).__name__}, not a list of scores")
    if len(scores) != number:
        raise ValueError(f"returned {len(scores)} scores for {number} case{'s' * (number != 1)}")
    ours = type(metric).__module__.partition(".")[0] == "medassay"
    return [
        (score if ours or not score.evidence else _with_plain_evidence(score))
        if isinstance(score, Score)
        else Score.failure(f"TypeError: returned {type(score).__name__} for a case, not a Score")
        for score in scores
    ]


def _with_plain_evidence(score: Score) -> Score:
    """The score with its evidence as plain JSON: NumPy's numbers and arrays, tuples and sets become numbers and lists.

    A score whose evidence holds anything else has failed.
    """
    try:
        text = json.dumps(score.evidence, default=_plain, ensure_ascii=False)
        return replace(score, evidence=json.loads(clean(text)))
    except (TypeError, ValueError, RecursionError) as error:
        return Score.failure(f"{type(error).__name__}: evidence is not plain JSON ({error})")


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _origin(error: BaseException) -> dict[str, str]:
    """The line of code that raised, for the message of a metric that fails on every case."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    return {} if last is None else {"raised": f"{Path(last.filename).name}, line {last.lineno}, in {last.name}"}


def over_references(metric: Metric, scores: Sequence[Score]) -> Score:
    """The best reference's score, or the mean over references (evidence from the best); failed where one has."""
    failed = next((score for score in scores if score.failed is not None), None)
    scored = [score for score in scores if score.value is not None]
    if failed is not None or not scored:
        return failed or scores[0]
    best = (max if metric.higher_is_better else min)(scored, key=lambda score: score.value or 0.0)
    if best.evidence:
        # Offsets speak of one reference; the evidence says which (counted from 0).
        which = next(i for i, score in enumerate(scores) if score is best)
        best = replace(best, evidence={**best.evidence, "reference": which})
    if metric.references == "best":
        return best
    return Score(
        float(np.mean([score.value for score in scored])),
        parts={p: float(np.mean([s.parts[p] for s in scored if p in s.parts])) for p in best.parts},
        evidence=best.evidence,
        statistics=tuple(np.mean([score.statistics for score in scored], axis=0).tolist()),
    )
