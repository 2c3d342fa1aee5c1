"""A trust policy from labelled data: weights by grid search, thresholds to a chosen risk.

Weights and thresholds never see the same reports: half of the clusters choose the weights (where there are
enough), the other half the thresholds. A threshold that no bound supports is left out, and the policy then deploys,
or rejects, nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from medassay.errors import InputError
from medassay.metrics.policy import DIMENSIONS, PUBLISHED, Policy
from medassay.study.calibration import (
    Bin,
    Point,
    auc,
    aurc,
    curve,
    deploy_threshold,
    ece,
    least_data,
    reject_threshold,
    reliability,
)
from medassay.study.correlation import spearman
from medassay.study.resampling import Floats, Ints, Mask

ENOUGH_REPORTS = 80
"""Labelled reports from which on weights are searched for; with fewer the published ones stay."""
STEP = 0.05


@dataclass(frozen=True)
class Labelled:
    """Reports with their dimensions and people's judgements.

    dimensions: [n, 3], NaN where not assessed. human: people's score. bad: 1 where people call the report
    unacceptable. clusters: which reports belong together (one slide, several models). barred: reports that do not
    deploy whatever their trust, since logic found a contradiction in them.
    """

    dimensions: Floats
    human: Floats
    bad: Floats
    clusters: Ints
    barred: Mask

    def __len__(self) -> int:
        return len(self.bad)

    def of(self, keep: Mask) -> Labelled:
        """The reports where `keep` holds."""
        columns = (self.dimensions[keep], self.human[keep], self.bad[keep], self.clusters[keep], self.barred[keep])
        return Labelled(*columns)

    def complete(self, weights: Sequence[float]) -> Labelled:
        """The reports of which every dimension of weight was assessed."""
        used = np.array(weights) > 0
        return self.of(np.asarray(np.isfinite(self.dimensions[:, used]).all(axis=1)))


@dataclass(frozen=True)
class Fit:
    """A policy and what it was made of. figures: agreement, calibration and area under the curve."""

    policy: Policy
    points: tuple[Point, ...]
    bins: tuple[Bin, ...]
    figures: dict[str, float]
    notes: tuple[str, ...]


def trust_of(dimensions: Floats, weights: Sequence[float]) -> Floats:
    """Trust of each row; NaN where a dimension of weight was not assessed. Weights are scaled to sum 1.

    >>> trust_of(np.array([[1.0, 0.5, np.nan]] * 2), [0.5, 0.5, 0]).tolist()
    [0.75, 0.75]
    >>> trust_of(np.array([[1.0, 0.5, np.nan]]), [0.4, 0.3, 0.3]).tolist()
    [nan]
    """
    share = np.array(weights, float)
    used = share > 0
    return np.asarray(dimensions[:, used] @ (share[used] / share[used].sum()), np.float64)


def grid(step: float = STEP) -> list[tuple[float, ...]]:
    """All weights of three dimensions in steps that sum to 1."""
    parts = round(1 / step)
    return [
        (round(a * step, 6), round(b * step, 6), round((parts - a - b) * step, 6))
        for a, b in product(range(parts + 1), repeat=2)
        if a + b <= parts
    ]


def agreement(data: Labelled, weights: Sequence[float]) -> float:
    """Spearman of trust with people's score, −1…1; −2 where it is undefined."""
    values = trust_of(data.dimensions, weights)
    assessed = np.isfinite(values)
    correlation = spearman(values[assessed], data.human[assessed]) if assessed.sum() > 1 else math.nan
    return correlation if math.isfinite(correlation) else -2.0


def search(data: Labelled) -> tuple[float, ...]:
    """The weights that agree best; of equals those nearest to the published ones.

    A dimension that was never assessed has weight 0. All weights are compared on the same reports: those of which
    every other dimension was assessed.
    """
    published_weights = np.array(published(data))
    assessed = published_weights > 0
    complete = data.complete(published_weights.tolist())
    ranked = [
        (round(agreement(complete, w), 9), -float(abs(np.array(w) - published_weights).sum()), w)
        for w in grid()
        if not np.array(w)[~assessed].any()
    ]
    return max(ranked)[2]


def published(data: Labelled) -> tuple[float, ...]:
    """The published weights of the dimensions that were assessed at all, scaled to 1; of all where none was."""
    weights = np.array([PUBLISHED[name] for name in DIMENSIONS])
    known = np.isfinite(data.dimensions).any(axis=0)
    if known.any():
        weights = np.where(known, weights, 0.0) / weights[known].sum()
    return tuple(weights.round(6).tolist())


def half(clusters: Ints, seed: int) -> Mask:
    """True for the half of the clusters that choose the weights; a hash of the cluster decides."""
    marks = {c: hashlib.blake2b(f"{seed}|{c}".encode(), digest_size=8).digest() for c in np.unique(clusters).tolist()}
    first = set(sorted(marks, key=lambda c: marks[c])[: len(marks) // 2])
    return np.array([c in first for c in clusters.tolist()])


def fit(
    data: Labelled,
    *,
    name: str,
    label: str,
    weights: Sequence[float] | None = None,
    risk: float = 0.05,
    precision: float = 0.8,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 1,
) -> Fit:
    """The policy that the labels support, for a risk of at most `risk` among what deploys.

    weights: fixed ones; None: searched for where there are enough reports. precision: the share of bad reports
    that what is rejected must reach. label: how a report was called bad, in words, for the file.
    """
    for what, value in (("risk", risk), ("reject precision", precision), ("confidence", confidence)):
        if not 0 < value < 1:
            raise InputError(f"{what} {value:g} must lie between 0 and 1")
    assessed = data.of(np.isfinite(data.human) & np.isfinite(data.dimensions).any(axis=1))
    if not len(assessed):
        raise InputError(f"{name}: no report has both a label and an assessed dimension; nothing to calibrate on")
    notes: list[str] = []
    figures: dict[str, float] = {}
    chosen, rest, weights_from = _weights(assessed, weights, seed, notes, figures)
    used = _complete_reports(rest, chosen, name, notes)
    values = trust_of(used.dimensions, chosen)
    bins = reliability(values, used.bad)
    figures |= {"auc": auc(values, used.bad), "aurc": aurc(values, used.bad), "ece": ece(bins)}
    figures["spearman"] = agreement(used, chosen)
    points = curve(values, used.bad, used.clusters, resamples=resamples, seed=seed)
    independent = one_per_cluster(used.clusters, seed)
    may_deploy = independent & ~used.barred
    deploy = deploy_threshold(values[may_deploy], used.bad[may_deploy], risk, confidence)
    reject = reject_threshold(values[independent], used.bad[independent], precision, confidence)
    _note_missing_thresholds(notes, int(independent.sum()), deploy is None, reject is None, risk, precision, confidence)
    basis: dict[str, Any] = {"data": name, "label": label, "n": len(used), "errors": int(used.bad.sum())}
    basis["independent"] = int(independent.sum())
    basis |= {"risk": risk, "confidence": confidence, "weights_from": weights_from}
    basis |= {name: round(value, 4) for name, value in figures.items() if math.isfinite(value)}
    deploy_from = reject_below = None
    if deploy is not None:
        deploy_from = deploy.point.threshold
        deployed = (values >= deploy_from) & ~used.barred
        observed = {"coverage": float(deployed.mean()), "observed": float(used.bad[deployed].mean())}
        basis |= {**observed, "bound": round(deploy.bound, 5)}
    if reject is not None:
        reject_below = reject.point.threshold if deploy_from is None else min(reject.point.threshold, deploy_from)
        basis["reject"] = {"n": reject.point.n, "bad": reject.point.errors, "at_least": round(reject.bound, 5)}
    basis |= {"curve": [_row(point) for point in points], "notes": notes}
    digest = hashlib.sha256(json.dumps(basis).encode()).hexdigest()[:6]
    weights_by_name = dict(zip(DIMENSIONS, chosen))
    policy = Policy(
        f"calibrated-{digest}", weights_by_name, deploy=deploy_from, reject=reject_below, floors={}, calibration=basis
    )
    return Fit(policy, tuple(points), tuple(bins), figures, tuple(notes))


def one_per_cluster(clusters: Ints, seed: int) -> Mask:
    """One report of each cluster, drawn by the seed: exact bounds hold for independent reports only."""
    order = np.random.default_rng(seed).permutation(len(clusters))
    _, first = np.unique(clusters[order], return_index=True)
    chosen = np.zeros(len(clusters), bool)
    chosen[order[first]] = True
    return chosen


def _row(point: Point) -> list[float | None]:
    """A point as the policy file holds it: coverage, risk and its interval."""
    return [None if x is None else round(x, 5) for x in (point.coverage, point.risk, point.low, point.high)]


def _complete_reports(data: Labelled, weights: Sequence[float], name: str, notes: list[str]) -> Labelled:
    """The reports that thresholds are set on; what is left out, and why, goes into the notes."""
    used = data.complete(weights)
    if not len(used):
        ever = [bool(np.isfinite(data.dimensions[:, k]).any()) for k in range(len(DIMENSIONS))]
        never = [d for d, weight, known in zip(DIMENSIONS, weights, ever) if weight > 0 and not known]
        raise InputError(
            f"{name}: no report has all dimensions assessed (never: {', '.join(never) or 'all at once'}); leave a "
            "dimension out with a weight of 0, as in 0.6,0.4,0"
        )
    if len(used) < len(data):
        notes.append(
            f"{len(data) - len(used):,} of {len(data):,} reports have partial trust; thresholds are set on whole "
            "scores alone, because partial ones do not deploy."
        )
    if len(np.unique(used.clusters)) < len(used):
        notes.append("Several reports share a cluster; thresholds rest on one of each, drawn by the seed.")
    return used


def _weights(
    data: Labelled, given: Sequence[float] | None, seed: int, notes: list[str], figures: dict[str, float]
) -> tuple[tuple[float, ...], Labelled, str]:
    """The weights, the reports that are left for the thresholds, and where the weights come from."""
    if given is not None:
        return tuple(given), data, "given"
    chosen = half(data.clusters, seed)
    first, second = data.of(chosen), data.of(~chosen)
    if min(len(first), len(second)) < ENOUGH_REPORTS // 2:
        notes.append(
            f"{len(data):,} labelled reports are too few to search for weights ({ENOUGH_REPORTS} are needed): the "
            "published 0.4 / 0.3 / 0.3 stay."
        )
        return tuple(PUBLISHED[name] for name in DIMENSIONS), data, "published"
    searched = search(first)
    compared = second.complete(published(data))
    figures["spearman of searched weights, held out"] = agreement(compared, searched)
    figures["spearman of published weights, held out"] = agreement(compared, published(data))
    return searched, second, f"grid search on {len(first)} other reports of the same data"


def _note_missing_thresholds(
    notes: list[str], n: int, no_deploy: bool, no_reject: bool, risk: float, precision: float, confidence: float
) -> None:
    needed = least_data(risk, confidence)
    if no_deploy and n < needed:
        notes.append(
            f"Too little data to deploy anything: {n:,} independent reports; a risk of {100 * risk:g} % at "
            f"{100 * confidence:g} % confidence needs at least {needed:,} without a single error."
        )
    elif no_deploy:
        notes.append(
            f"No threshold keeps the risk at {100 * risk:g} % with {100 * confidence:g} % confidence: nothing deploys. "
            "Trust does not separate these reports well enough, or they are too few."
        )
    if no_reject:
        notes.append(
            f"No threshold rejects with {100 * precision:g} % of the rejected being bad: nothing is rejected, poor "
            "reports go to review."
        )
