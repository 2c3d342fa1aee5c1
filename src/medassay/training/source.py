"""The recipe of `hallucination` and `omission`: logistic regressions over facts, fitted to counted rates of texts.

Only the rate of a whole text is known, not which fact was counted. So the mean risk of a text's facts is fitted to its
rate by least squares, with a penalty on the standardised weights. Real system outputs count fully, candidates
written for the purpose less: their inventions are of another kind.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from medassay.cases import Case
from medassay.metrics.source import Hallucination, Omission, Weights
from medassay.training.quality import FactPair

Floats = npt.NDArray[np.float64]

WRITTEN = 0.3
"""What a written candidate counts beside a real system's."""

STEPS = 400


@dataclass(frozen=True, slots=True)
class Plan:
    """How one rate is fitted: see `metrics.source.Weights`; penalty on the squared standardised weights."""

    prior: float
    power: float
    penalty: float


PLANS = {"hallucination": Plan(3.0, 2.0, 1.0), "omission": Plan(0.0, 1.0, 0.1)}
_SHARE = {"hallucination": 2, "omission": 3}


@dataclass(frozen=True, slots=True)
class FactTable:
    """All facts of all texts: what is looked at [facts, features], and the text that each belongs to."""

    names: tuple[str, ...]
    rows: Floats
    text: npt.NDArray[np.int64]


def fact_table(pairs: Sequence[FactPair], metric: str, given: str) -> FactTable:
    """The facts that a metric checks in each pair, when it is given `both`, `reference` or `source`."""
    checker = Hallucination() if metric == "hallucination" else Omission()
    names: tuple[str, ...] = ()
    rows, owners = [], []
    for index, pair in enumerate(pairs):
        references = (pair.reference,) if given != "source" else ()
        case = Case(pair.id, pair.candidate, references, source=pair.source if given != "reference" else None)
        for one in checker.check(case)[1]:
            names = names or tuple(one.row)
            rows.append([one.row[name] for name in names])
            owners.append(index)
    table = np.array(rows, np.float64)
    # With one side alone, what it has and what either has is the same; a column that never varies says nothing.
    double = {"words"} if metric == "hallucination" and given != "both" else set()
    kept = [i for i, name in enumerate(names) if name not in double and table[:, i].std() > 0]
    return FactTable(tuple(names[i] for i in kept), table[:, kept], np.array(owners, np.int64))


def fit_rate(table: FactTable, rates: Floats, weight: Floats, plan: Plan) -> Weights:
    """The regression whose mean risks come nearest to the rates; damped Gauss–Newton, deterministic.

    rates: of each text, 0 to 1. weight: what each text counts, 0 to leave it out.
    """
    mean, spread = table.rows.mean(0), table.rows.std(0)
    inputs = np.column_stack([np.ones(len(table.rows)), (table.rows - mean) / spread])
    count = np.bincount(table.text, minlength=len(rates)).clip(1) + plan.prior
    ridge = np.full(inputs.shape[1], plan.penalty)
    ridge[0] = 0.0
    found = np.zeros(inputs.shape[1])
    found[0] = -1.0
    damping, best = 1.0, np.inf
    slopes, errors = _slopes(inputs, table.text, found, count, rates)
    for _ in range(STEPS):
        gradient = slopes.T @ (weight * errors) + ridge * found
        curvature = slopes.T @ (weight[:, None] * slopes) + np.diag(ridge)
        best = float(weight @ errors**2 + ridge @ found**2)
        step = np.linalg.solve(curvature + damping * np.diag(np.diag(curvature) + 1e-9), gradient)
        if np.abs(step).max() < 1e-9:
            break
        tried = _slopes(inputs, table.text, found - step, count, rates)
        if weight @ tried[1] ** 2 + ridge @ (found - step) ** 2 <= best:
            found, (slopes, errors), damping = found - step, tried, damping / 3
        else:
            damping *= 4
    raw = found[1:] / spread
    constant = float(found[0] - raw @ mean)
    return Weights(table.names, tuple(raw.tolist()), constant, plan.prior, plan.power)


def _slopes(
    inputs: Floats, text: npt.NDArray[np.int64], found: Floats, count: Floats, rates: Floats
) -> tuple[Floats, Floats]:
    """How each text's mean risk moves with each weight, and how far it is from its rate."""
    risk = 1.0 / (1.0 + np.exp(-np.clip(inputs @ found, -50.0, 50.0)))
    moved = inputs * (risk * (1.0 - risk))[:, None]
    slopes = np.stack([np.bincount(text, column, minlength=len(rates)) / count for column in moved.T], 1)
    return slopes, np.bincount(text, risk, minlength=len(rates)) / count - rates


def rates_of(table: FactTable, weights: Weights, texts: int) -> Floats:
    """The rate of each text as the metric would give it."""
    risk = 1.0 / (1.0 + np.exp(-(table.rows @ np.array(weights.weights) + weights.constant)))
    made: Floats = np.bincount(table.text, risk**weights.power, minlength=texts) / (
        np.bincount(table.text, minlength=texts).clip(1) + weights.prior
    )
    return made


def out_of_fold(pairs: Sequence[FactPair], metric: str, given: str, folds: int = 5, seed: int = 0) -> Floats:
    """Rates of the pairs of full weight, each from a fit without its dialogue; NaN for the others."""
    table, rates, weight = _material(pairs, metric, given)
    judged = [i for i, pair in enumerate(pairs) if pair.weight >= 1.0]
    order = np.random.default_rng(seed).permutation(sorted({pairs[i].id for i in judged}))
    fold = {identity: k % folds for k, identity in enumerate(order.tolist())}
    made = np.full(len(pairs), np.nan)
    for k in range(folds):
        out = np.array([pair.weight >= 1.0 and fold[pair.id] == k for pair in pairs])
        made[out] = rates_of(table, fit_rate(table, rates, np.where(out, 0.0, weight), PLANS[metric]), len(pairs))[out]
    return made


def _material(pairs: Sequence[FactPair], metric: str, given: str) -> tuple[FactTable, Floats, Floats]:
    rates = np.array([pair.shares[_SHARE[metric]] for pair in pairs])
    known = ~np.isnan(rates)
    weight = np.array([pair.weight for pair in pairs]) * known
    # A published table has a rate of −1; a share it is not.
    return fact_table(pairs, metric, given), np.clip(np.where(known, rates, 0.0), 0.0, 1.0), weight


def write_weights(pairs: Sequence[FactPair], path: Path, version: str) -> None:
    """Fit all regressions and write them as the metrics read them."""
    record: dict[str, object] = {"version": version}
    for metric, kinds in {
        "hallucination": ("both", "reference", "source"),
        "omission": ("reference", "source"),
    }.items():
        made = {}
        for given in kinds:
            one = fit_rate(*_material(pairs, metric, given), PLANS[metric])
            made[given] = {
                "features": one.features,
                "weights": [round(value, 4) for value in one.weights],
                "constant": round(one.constant, 4),
                "prior": one.prior,
                "power": one.power,
            }
        record[metric] = made
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
