"""PathGLS's other studies: repeat-run variance, ablation by dimension, the benchmark table, the domain gap.

Ablation, benchmark and gap work on scores files of `medassay trust`, so nothing is scored again. Intervals are
95 % bootstrap intervals over clusters (cases that share an id across systems, or a column).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from medassay.cases import Case
from medassay.engine.local import score_cases
from medassay.errors import InputError
from medassay.metrics.base import Metric
from medassay.metrics.policy import DIMENSIONS
from medassay.study.correlation import bootstrap, interval, spearman
from medassay.study.resampling import Floats, Ints, bootstrap_sums
from medassay.study.scorefile import ScoreTable
from medassay.study.trust_fit import Mask, trust_of
from medassay.study.trust_table import Cell, Estimate, Table

SHOWN = (*DIMENSIONS, "trust")
FOUND = "logic.contradictions"
"""The column that counts the contradictions of a report."""


@dataclass(frozen=True)
class Scores:
    """Trust scores of one or several files, row by row.

    values: by metric, NaN where unscored. barred: reports in which logic found a contradiction. system, dataset,
    level: names, `""` where there is none.
    """

    values: dict[str, Floats]
    system: list[str]
    dataset: list[str]
    level: list[str]
    clusters: Ints
    barred: Mask

    def __len__(self) -> int:
        return len(self.system)

    @property
    def dimensions(self) -> Floats:
        """[n, 3], NaN where not assessed."""
        return np.stack([self.values[name] for name in DIMENSIONS], axis=1)


def gather(
    tables: Sequence[tuple[str, ScoreTable]],
    *,
    system: str = "system",
    dataset: str = "dataset",
    level: str = "level",
    cluster: str = "id",
) -> Scores:
    """Rows of scores files; a file without a data set column is a data set of its own, by its name."""
    values: dict[str, list[Floats]] = {name: [] for name in SHOWN}
    names: dict[str, list[str]] = {"system": [], "dataset": [], "level": [], "cluster": []}
    for stem, table in tables:
        for name in SHOWN:
            there = name in table.columns
            values[name].append(table.numbers(name) if there else np.full(len(table), np.nan))
        given = {"system": system, "dataset": dataset, "level": level, "cluster": cluster}
        for what, column in given.items():
            default = stem if what == "dataset" else ""
            found = cells(table, column) if column in table.columns else [default] * len(table)
            if what == "cluster":
                found = [f"{stem}\0{one or i}" for i, one in enumerate(found)]
            names[what] += [one or default for one in found] if what != "cluster" else found
    if all(np.isnan(np.concatenate(values[name])).all() for name in SHOWN):
        listed = ", ".join(stem for stem, _ in tables)
        raise InputError(
            f"{listed}: no column of {', '.join(SHOWN)} holds a number; make one with medassay trust --out"
        )
    _, clusters = np.unique(np.array(names["cluster"]), return_inverse=True)
    joined = {name: np.concatenate(parts) for name, parts in values.items()}
    barred = np.concatenate(
        [
            np.nan_to_num(table.numbers(FOUND)) > 0 if FOUND in table.columns else np.zeros(len(table), bool)
            for _, table in tables
        ]
    )
    return Scores(joined, names["system"], names["dataset"], names["level"], clusters.astype(np.int64), barred)


def cells(table: ScoreTable, column: str) -> list[str]:
    """A column as texts, empty where the cell is."""
    labels = table.labels(column)
    return ["" if code < 0 else labels.names[code] for code in labels.codes.tolist()]


def _mean(values: Floats, clusters: Ints, resamples: int, seed: int) -> Estimate:
    """A mean over scored cases with its interval over clusters."""
    seen = np.isfinite(values)
    if not seen.any():
        return Estimate(None)
    sums = _summed(values[seen], clusters[seen])
    if len(sums) < 2 or not resamples:
        return Estimate(float(values[seen].mean()))
    drawn = bootstrap_sums(sums, resamples, seed)
    return Estimate(float(values[seen].mean()), *interval(drawn[:, 0] / drawn[:, 1]))


def _summed(values: Floats, clusters: Ints) -> Floats:
    _, place = np.unique(clusters, return_inverse=True)
    return np.stack([np.bincount(place, values), np.bincount(place).astype(float)], axis=1)


def benchmark(scores: Scores, *, resamples: int = 1000, seed: int = 1) -> Table:
    """Model × data set, at patch and slide level: the mean of each dimension and of trust, and their cases."""
    keys = list(dict.fromkeys(zip(scores.dataset, scores.level, scores.system)))
    rows: list[dict[str, Cell]] = []
    for key in sorted(keys):
        mine = np.array([one == key for one in zip(scores.dataset, scores.level, scores.system)])
        record: dict[str, Cell] = {"data set": key[0], "level": key[1] or "–", "model": key[2] or "–"}
        for name in SHOWN:
            record[name] = _mean(scores.values[name][mine], scores.clusters[mine], resamples, seed)
        whole = np.isfinite(scores.dimensions[mine]).all(axis=1)
        rows.append(record | {"n": int(mine.sum()), "whole": int(whole.sum())})
    notes = [
        "Means over scored cases, higher is better; 95 % bootstrap intervals over clusters.",
        "Whole: cases with all three dimensions; the trust of the others is partial and not comparable with it.",
    ]
    return Table("benchmark", "Benchmark", rows, notes)


def gap(scores: Scores, public: str, private: str, *, resamples: int = 1000, seed: int = 1) -> Table:
    """Public minus private mean for each model: how much it owes to data it may have seen. Nearer 0 is better."""
    for name in (public, private):
        if name not in scores.dataset:
            known = ", ".join(sorted(set(scores.dataset)))
            raise InputError(f"no data set '{name}' in the scores; there are: {known}")
    datasets, systems = np.array(scores.dataset), np.array(scores.system)
    rows: list[dict[str, Cell]] = []
    for system in dict.fromkeys(scores.system):
        for name in SHOWN:
            sides = []
            for dataset in (public, private):
                mine = (datasets == dataset) & (systems == system) & np.isfinite(scores.values[name])
                sides.append((scores.values[name][mine], scores.clusters[mine]))
            if len(sides[0][0]) and len(sides[1][0]):
                rows.append({"model": system or "–", "score": name, **_difference(sides, resamples, seed)})
    if not rows:
        raise InputError(f"no model has scores on both '{public}' and '{private}'")
    notes = [
        f"Gap: mean on {public} minus mean on {private}; 95 % intervals, each side resampled by itself.",
        "Published (PathGLS, its own models and data): 0.064 and 0.009.",
    ]
    return Table("gap", "Domain gap", rows, notes)


def _difference(sides: Sequence[tuple[Floats, Ints]], resamples: int, seed: int) -> dict[str, Cell]:
    means = [float(values.mean()) for values, _ in sides]
    found = Estimate(means[0] - means[1])
    summed = [_summed(*side) for side in sides]
    if resamples and min(len(one) for one in summed) > 1:
        drawn = [bootstrap_sums(one, resamples, seed + i) for i, one in enumerate(summed)]
        first, second = (one[:, 0] / one[:, 1] for one in drawn)
        found = Estimate(means[0] - means[1], *interval(first - second))
    counts = {"n public": len(sides[0][0]), "n private": len(sides[1][0])}
    return {"public": means[0], "private": means[1], "gap": found, **counts}


def ablation(scores: Scores, human: Floats, weights: Sequence[float], *, resamples: int = 1000, seed: int = 1) -> Table:
    """Spearman of trust with people, whole and without each dimension; a larger loss means it mattered more."""
    whole = np.isfinite(scores.dimensions).all(axis=1) & np.isfinite(human)
    if whole.sum() < 3:
        raise InputError(
            f"ablation: {int(whole.sum())} reports have all three dimensions and a human score; it needs three or more"
        )
    dimensions, people = scores.dimensions[whole], human[whole]
    _, clusters = np.unique(scores.clusters[whole], return_inverse=True)
    ways = {"all three": tuple(weights)}
    for k, name in enumerate(DIMENSIONS):
        left = [0.0 if i == k else weight for i, weight in enumerate(weights)]
        if sum(left) > 0 and weights[k] > 0:
            ways[f"without {name}"] = tuple(left)
        ways[f"{name} alone"] = tuple(float(i == k) for i in range(3))
    drawn: dict[str, Floats] = {}
    rows: list[dict[str, Cell]] = []
    base = spearman(trust_of(dimensions, weights), people)
    for way in sorted(ways, key=lambda way: (way != "all three", "alone" in way)):
        values = trust_of(dimensions, ways[way])
        found = spearman(values, people)
        if resamples:
            count = int(clusters.max()) + 1
            made = bootstrap(values, people, clusters.astype(np.int64), count, resamples, seed, ["spearman"])
            drawn[way] = made["spearman"]
        low, high = interval(drawn[way]) if resamples else (None, None)
        record: dict[str, Cell] = {"trust": way, "Spearman": Estimate(_finite(found), low, high)}
        if way != "all three" and np.isfinite(found) and base:
            change = Estimate(100 * (found - base) / abs(base))
            if resamples:
                with np.errstate(invalid="ignore", divide="ignore"):
                    relative = 100 * (drawn[way] - drawn["all three"]) / abs(drawn["all three"])
                change = Estimate(change.value, *interval(relative))
            record["change %"] = change
        rows.append(record | {"n": len(people)})
    notes = [
        "Spearman of trust with the human column, on reports with all three dimensions; intervals and changes on the "
        "same resamples.",
        "Published (PathGLS): 0.71 with all three; −20.1 % without logic, −13.6 % without grounding, −5.5 % without "
        "stability.",
    ]
    return Table("ablation", "Ablation by dimension", rows, notes, frozenset({"change %"}))


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def repeat(cases: Sequence[Case], load: Callable[[], Sequence[Metric]], *, runs: int = 5, seed: int = 1) -> Table:
    """Score the same cases several times, models loaded anew and rows in another order; the spread should be 0.

    sd: standard deviation of one case's values over the runs (n − 1); its mean and its largest over cases.
    """
    if runs < 2:
        raise InputError(f"repeat: {runs} run shows no variance; ask for two or more")
    found: dict[str, list[Floats]] = {}
    reasons: dict[str, list[list[str | None]]] = {}
    for k in range(runs):
        metrics = load()
        order = np.random.default_rng([seed, k]).permutation(len(cases)) if k else np.arange(len(cases))
        scores = score_cases([cases[i] for i in order], metrics)
        for metric in metrics:
            values = np.full(len(cases), np.nan)
            why: list[str | None] = [None] * len(cases)
            for place, score in zip(order.tolist(), scores[metric.name]):
                values[place] = np.nan if score.value is None else score.value
                why[place] = score.unscored or score.failed
            found.setdefault(metric.name, []).append(values)
            reasons.setdefault(metric.name, []).append(why)
    rows: list[dict[str, Cell]] = []
    for name, columns in found.items():
        stacked = np.stack(columns)
        seen = np.isfinite(stacked).all(axis=0)
        # About the first run: equal numbers have a deviation of 0, not of rounding.
        sd = (stacked[:, seen] - stacked[0, seen]).std(axis=0, ddof=1)
        same = (stacked[:, seen] == stacked[0, seen]).all(axis=0)
        turned = sum(len({one[i] for one in reasons[name]}) > 1 for i in range(len(cases)))
        row: dict[str, Cell] = {"score": name, "mean sd": float(sd.mean()) if len(sd) else None}
        row |= {"largest sd": float(sd.max()) if len(sd) else None, "bit for bit": int(same.sum())}
        rows.append(row | {"n": int(seen.sum()), "other reason": turned, "runs": runs})
    notes = [
        f"{runs} runs with models loaded anew; from the second on, rows in another order. Published: 0.00.",
        "Bit for bit: cases whose number is the same to the last bit in every run. Other reason: cases that were "
        "unscored in some runs only, or for different reasons.",
    ]
    return Table("repeat", "Repeat-run variance", rows, notes)
