"""Does trust fall as errors get worse? Agreement with a graded hierarchy of errors (PathGLS, expert hierarchy).

Levels are numbers, 0 for a correct report, the higher the worse. Cases without a number are left out; intervals are
95 % bootstrap intervals over clusters (reports about one image), p-values come from permutations of clusters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from medassay.errors import InputError
from medassay.metrics.policy import DIMENSIONS
from medassay.study.correlation import bootstrap, permutation_p, spearman
from medassay.study.resampling import Estimate, Floats, Ints, interval
from medassay.study.studentised import FEWEST_CLUSTERS
from medassay.study.tables import Cell, Table
from medassay.study.trust_fit import trust_of

FEWEST_REPORTS = 3
"""Reports with a number and a level that a correlation needs."""
MOST_LEVELS = 8
"""The most levels whose means are shown; a column with more is a scale, not a hierarchy."""
_RANK = "spearman"


@dataclass(frozen=True)
class Graded:
    """Graded reports and what was measured on them.

    levels: how wrong each report is. clusters: which reports belong together. dimensions: by mode (`clinical`,
    `paper`), [n, 3] with NaN where not assessed. others: further metrics, the higher the better, by name.
    variances: mean variance of one case's repeated answers, for metrics that tell it (`judge`).
    """

    levels: Floats
    clusters: Ints
    dimensions: Mapping[str, Floats]
    others: Mapping[str, Floats] = field(default_factory=dict)
    variances: Mapping[str, float] = field(default_factory=dict)


def hierarchy(graded: Graded, weights: Sequence[float], *, resamples: int = 1000, seed: int = 1) -> Table:
    """Spearman of trust, of trust without each dimension, of each dimension and of other metrics with correctness.

    Correctness is the level with its sign turned: 1 means that a worse report always scores lower. All rows of one
    mode with `trust` are over the reports of which every dimension of weight was assessed; `change %` is
    relative to the whole trust on the same reports, and left out where that does not agree with the levels at all
    (its interval reaches 0).
    """
    if not np.isfinite(graded.levels).any() or len(np.unique(graded.levels[np.isfinite(graded.levels)])) < 2:
        raise InputError("hierarchy: fewer than two different levels; name the column of levels with --level")
    rows: list[dict[str, Cell]] = []
    notes: list[str] = []
    for mode, dimensions in graded.dimensions.items():
        used = used_weights(dimensions, weights, mode, notes)
        rows += _mode_rows(graded, mode, dimensions, used, resamples, seed)
    for name, values in graded.others.items():
        rows.append({"mode": "–", "score": name, **_row(graded, values, resamples, seed)})
        if name in graded.variances:
            rows[-1]["variance"] = graded.variances[name]
    notes += [
        "Spearman with correctness (the level, sign turned); 95 % intervals and permutation p over clusters.",
        "Variance: of one report's repeated answers, mean over reports; grounding, logic and stability have none.",
        "Published (PathGLS, its own data and graders): 0.71 with all three, a language model as judge 0.39; −20.1 % "
        "without logic, −13.6 % without grounding, −5.5 % without stability.",
    ]
    return Table("hierarchy", "Agreement with an error hierarchy", rows, notes, frozenset({"change %"}))


def used_weights(dimensions: Floats, weights: Sequence[float], mode: str, notes: list[str]) -> tuple[float, ...]:
    """The weights of the dimensions that were assessed at all; the notes name those that never were."""
    known = [bool(np.isfinite(column).any()) for column in dimensions.T]
    for name, weight, assessed in zip(DIMENSIONS, weights, known):
        if weight > 0 and not assessed:
            notes.append(f"{mode}: {name} was never assessed; trust is the mean of the others by their weights.")
    return tuple(weight if assessed else 0.0 for weight, assessed in zip(weights, known))


def _mode_rows(
    graded: Graded, mode: str, dimensions: Floats, weights: Sequence[float], resamples: int, seed: int
) -> list[dict[str, Cell]]:
    used = [k for k, weight in enumerate(weights) if weight > 0]
    rows: list[dict[str, Cell]] = []
    if len(used) > 1:
        trust = trust_of(dimensions, weights)
        rows.append({"mode": mode, "score": "trust", **_row(graded, trust, resamples, seed)})
        base = rows[0]["Spearman"]
        for k in used:
            values = trust_of(dimensions, [0.0 if i == k else weight for i, weight in enumerate(weights)])
            # On the same reports as the whole.
            row = _row(graded, np.where(np.isfinite(trust), values, np.nan), resamples, seed)
            remaining = row["Spearman"]
            if isinstance(base, Estimate) and isinstance(remaining, Estimate) and remaining.known and _above_zero(base):
                row["change %"] = 100 * (remaining.value - base.value) / base.value
            rows.append({"mode": mode, "score": f"without {DIMENSIONS[k]}", **row})
    for k, name in enumerate(DIMENSIONS):
        if np.isfinite(dimensions[:, k]).any():
            rows.append({"mode": mode, "score": f"{name} alone", **_row(graded, dimensions[:, k], resamples, seed)})
    return rows


def _above_zero(estimate: Estimate) -> bool:
    """Whether the agreement is above 0, so that a relative change of it has a meaning."""
    return estimate.known and estimate.value > 0 and (estimate.low is None or estimate.low > 0)


def _row(graded: Graded, values: Floats, resamples: int, seed: int) -> dict[str, Cell]:
    """Spearman of a score with correctness, its p, the mean of the score by level, and the reports."""
    usable = np.isfinite(values) & np.isfinite(graded.levels)
    score, levels = values[usable], graded.levels[usable]
    row: dict[str, Cell] = {"Spearman": Estimate(np.nan), "p": None}
    if usable.sum() >= FEWEST_REPORTS:
        _, clusters = np.unique(graded.clusters[usable], return_inverse=True)
        clusters = clusters.astype(np.int64)
        count = int(clusters.max()) + 1
        estimate = Estimate(spearman(score, -levels))
        if resamples and count >= FEWEST_CLUSTERS:
            drawn = bootstrap(score, -levels, clusters, count, resamples, seed, [_RANK])[_RANK]
            estimate = Estimate(estimate.value, *interval(drawn))
        row["Spearman"] = estimate
        if resamples and estimate.known:
            row["p"] = permutation_p(score, -levels, clusters, resamples, seed, [_RANK])[_RANK]
    known = np.unique(graded.levels[np.isfinite(graded.levels)])
    if len(known) <= MOST_LEVELS:
        for level in known.tolist():
            of_level = score[levels == level]
            row[f"level {level:g}"] = float(of_level.mean()) if len(of_level) else None
    return row | {"n": int(usable.sum())}
