"""Graded reports measured in both modes of trust's dimensions, for the study of the error hierarchy."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from medassay.commands.variants import score_groups, values_of
from medassay.errors import InputError

if TYPE_CHECKING:
    from medassay.cases import Case
    from medassay.study import Graded


def grade(
    cases: Sequence[Case], level: str, cluster: str, metrics: str, **settings: Any
) -> tuple[Graded, list[str], Collection[str]]:
    """Graded cases with their dimensions in both modes and further metrics; the problems; metrics that ended."""
    import numpy as np

    from medassay.metrics.policy import DIMENSIONS
    from medassay.metrics.registry import load_metrics
    from medassay.study import Graded

    levels = np.array([_level(case, level) for case in cases])
    names = [
        str(case.image or case.id) if cluster == "image" else str(case.extra.get(cluster, case.id)) for case in cases
    ]
    _, clusters = np.unique(np.array(names), return_inverse=True)
    requests = {mode: [f"{name}(mode={mode})" for name in DIMENSIONS] for mode in ("clinical", "paper")}
    ours = {mode: [load_metrics(name, **settings)[0] for name in listed] for mode, listed in requests.items()}
    further = load_metrics(metrics, **settings) if metrics else []
    scores, failures = score_groups([cases], [*ours["clinical"], *ours["paper"], *further])
    values = {name: of_cases for name, [of_cases] in values_of(scores).items()}
    others = {m.name: values[m.name] * (1.0 if m.higher_is_better else -1.0) for m in further}
    variances = {}
    for metric in further:
        case_variances = [score.parts["variance"] for score in scores[metric.name][0] if "variance" in score.parts]
        if case_variances:
            variances[metric.name] = float(np.mean(case_variances))
    dimensions = {mode: np.stack([values[m.name] for m in loaded], axis=1) for mode, loaded in ours.items()}
    graded = Graded(levels, clusters.astype(np.int64), dimensions, others, variances)
    return graded, failures.problems(), failures.ended


def _level(case: Case, column: str) -> float:
    """The level of a case; NaN where its cell is empty."""
    if column not in case.extra:
        raise InputError(f"row {case.row}: no column '{column}'; name the column of levels with --level")
    cell = case.extra[column]
    if cell is None or cell == "":
        return float("nan")
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise InputError(f"row {case.row}: {column} is '{cell}', which is no number") from None
