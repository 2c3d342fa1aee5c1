"""The studies of trust in PathGLS: sensitivity, repeat-run variance, ablation, the benchmark table, the domain gap.

They work on scores that were computed before: tables of trust scores, or scores of varied reports and repeated runs.
Intervals are 95 % bootstrap intervals over clusters (cases that share an id across systems, or a column).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from medassay.engine.score_table import ScoreTable
from medassay.errors import InputError
from medassay.metrics.policy import DIMENSIONS
from medassay.study.calibration import auc
from medassay.study.correlation import bootstrap, spearman
from medassay.study.material import CONTROL, LOGIC, PARAPHRASE, VISUAL
from medassay.study.resampling import Estimate, Floats, Ints, Mask, cluster_sums, interval
from medassay.study.studentised import FEWEST_CLUSTERS, bootstrap_t, quotient, ratio
from medassay.study.tables import Cell, Table
from medassay.study.trust_fit import trust_of

COLUMNS = (*DIMENSIONS, "trust")
CONTRADICTIONS = "logic.contradictions"
"""The column that counts the contradictions of a report."""

_RANK = "spearman"

PUBLISHED_DROPS = {
    (VISUAL, "grounding"): 40.3,
    (LOGIC, "logic"): 26.4,
    (VISUAL, "bertscore"): 2.2,
    (LOGIC, "bertscore"): 1.1,
    (VISUAL, "bleu"): 25.0,
    (LOGIC, "bleu"): 18.8,
}
"""Drops in per cent that PathGLS reports on its own data, which is not ours."""


@dataclass(frozen=True)
class TrustScores:
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
) -> TrustScores:
    """Rows of scores files; a file without a data set column is a data set of its own, by its name."""
    values: dict[str, list[Floats]] = {name: [] for name in COLUMNS}
    names: dict[str, list[str]] = {"system": [], "dataset": [], "level": [], "cluster": []}
    for stem, table in tables:
        for name in COLUMNS:
            present = name in table.columns
            values[name].append(table.numbers(name) if present else np.full(len(table), np.nan))
        if cluster != "id" and cluster not in table.columns:
            raise InputError(f"{stem}: no column '{cluster}' to group rows by; carry it through from the case file")
        column_of = {"system": system, "dataset": dataset, "level": level, "cluster": cluster}
        for role, column in column_of.items():
            default = stem if role == "dataset" else ""
            texts = cells(table, column) if column in table.columns else [default] * len(table)
            if role == "cluster":
                texts = [f"{stem}\0{text or i}" for i, text in enumerate(texts)]
            names[role] += [text or default for text in texts] if role != "cluster" else texts
    if all(np.isnan(np.concatenate(values[name])).all() for name in COLUMNS):
        listed = ", ".join(stem for stem, _ in tables)
        raise InputError(
            f"{listed}: no column of {', '.join(COLUMNS)} holds a number; make one with medassay trust --out"
        )
    _, clusters = np.unique(np.array(names["cluster"]), return_inverse=True)
    joined = {name: np.concatenate(parts) for name, parts in values.items()}
    barred = np.concatenate([_barred(table) for _, table in tables])
    return TrustScores(joined, names["system"], names["dataset"], names["level"], clusters.astype(np.int64), barred)


def _barred(table: ScoreTable) -> Mask:
    """The reports in which logic found a contradiction."""
    if CONTRADICTIONS not in table.columns:
        return np.zeros(len(table), bool)
    return np.nan_to_num(table.numbers(CONTRADICTIONS)) > 0


def cells(table: ScoreTable, column: str) -> list[str]:
    """A column as texts, empty where the cell is."""
    labels = table.labels(column)
    return ["" if code < 0 else labels.names[code] for code in labels.codes.tolist()]


def _mean(values: Floats, clusters: Ints, resamples: int, seed: int) -> Estimate:
    """A mean over scored cases with its interval over clusters; NaN where no case is scored."""
    return ratio(_sums_and_counts(values, clusters), resamples, seed)


def _sums_and_counts(values: Floats, clusters: Ints) -> Floats:
    """By cluster, the sum and the number of scored cases."""
    scored = np.isfinite(values)
    return cluster_sums(clusters[scored], values[scored], np.ones(int(scored.sum())))


def benchmark(scores: TrustScores, *, resamples: int = 1000, seed: int = 1) -> Table:
    """Model × data set, at patch and slide level: the mean of each dimension and of trust, and their cases."""
    keys = list(dict.fromkeys(zip(scores.dataset, scores.level, scores.system)))
    rows: list[dict[str, Cell]] = []
    for key in sorted(keys):
        selected = np.array([row_key == key for row_key in zip(scores.dataset, scores.level, scores.system)])
        record: dict[str, Cell] = {"data set": key[0], "level": key[1] or "–", "model": key[2] or "–"}
        for name in COLUMNS:
            record[name] = _mean(scores.values[name][selected], scores.clusters[selected], resamples, seed)
        complete = np.isfinite(scores.dimensions[selected]).all(axis=1)
        rows.append(record | {"n": int(selected.sum()), "whole": int(complete.sum())})
    notes = [
        "Means over scored cases, higher is better; 95 % bootstrap intervals over clusters.",
        "Whole: cases with all three dimensions. A case that lacks a dimension of weight has no trust.",
    ]
    return Table("benchmark", "Benchmark", rows, notes)


def gap(scores: TrustScores, public: str, private: str, *, resamples: int = 1000, seed: int = 1) -> Table:
    """Public minus private mean for each model: how much it may owe to data seen in training. Nearer 0 is better."""
    for name in (public, private):
        if name not in scores.dataset:
            known = ", ".join(sorted(set(scores.dataset)))
            raise InputError(f"no data set '{name}' in the scores; there are: {known}")
    datasets, systems = np.array(scores.dataset), np.array(scores.system)
    rows: list[dict[str, Cell]] = []
    for system in dict.fromkeys(scores.system):
        for name in COLUMNS:
            sides = []
            for dataset in (public, private):
                selected = (datasets == dataset) & (systems == system) & np.isfinite(scores.values[name])
                sides.append((scores.values[name][selected], scores.clusters[selected]))
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
    estimate = Estimate(means[0] - means[1])
    summed = [_sums_and_counts(*side) for side in sides]
    if resamples:
        drawn = [next(bootstrap_t([(sums, quotient)], resamples, seed + i)) for i, sums in enumerate(summed)]
        estimate = Estimate(means[0] - means[1], *drawn[0].minus(drawn[1]).interval())
    counts = {"n public": len(sides[0][0]), "n private": len(sides[1][0])}
    return {"public": means[0], "private": means[1], "gap": estimate, **counts}


def ablation(
    scores: TrustScores, human: Floats, weights: Sequence[float], *, resamples: int = 1000, seed: int = 1
) -> Table:
    """Spearman of trust with people, whole and without each dimension; a larger loss means it mattered more."""
    complete = np.isfinite(scores.dimensions).all(axis=1) & np.isfinite(human)
    if complete.sum() < 3:
        raise InputError(
            f"ablation: {int(complete.sum())} reports have all three dimensions and a human score; it needs three or "
            "more"
        )
    dimensions, people = scores.dimensions[complete], human[complete]
    _, clusters = np.unique(scores.clusters[complete], return_inverse=True)
    weights_by_row = {"all three": tuple(weights)}
    for k, name in enumerate(DIMENSIONS):
        remaining = [0.0 if i == k else weight for i, weight in enumerate(weights)]
        if sum(remaining) > 0 and weights[k] > 0:
            weights_by_row[f"without {name}"] = tuple(remaining)
        weights_by_row[f"{name} alone"] = tuple(float(i == k) for i in range(3))
    count = int(clusters.max()) + 1
    resampled = bool(resamples) and count >= FEWEST_CLUSTERS
    drawn: dict[str, Floats] = {}
    rows: list[dict[str, Cell]] = []
    base = spearman(trust_of(dimensions, weights), people)
    for label in sorted(weights_by_row, key=lambda label: (label != "all three", "alone" in label)):
        values = trust_of(dimensions, weights_by_row[label])
        correlation = spearman(values, people)
        estimate = Estimate(correlation)
        if resampled:
            drawn |= {
                label: bootstrap(values, people, clusters.astype(np.int64), count, resamples, seed, [_RANK])[_RANK]
            }
            estimate = Estimate(correlation, *interval(drawn[label]))
        record: dict[str, Cell] = {"trust": label, "Spearman": estimate}
        if label != "all three" and np.isfinite(correlation) and base:
            change = Estimate(100 * (correlation - base) / abs(base))
            if resampled:
                with np.errstate(invalid="ignore", divide="ignore"):
                    relative = 100 * (drawn[label] - drawn["all three"]) / abs(drawn["all three"])
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


def repeat_runs(values: Mapping[str, Sequence[Floats]], reasons: Mapping[str, Sequence[Sequence[str | None]]]) -> Table:
    """The spread of repeated runs, which should be 0; a row per score.

    sd: standard deviation of one case's values over the runs (n − 1); its mean and its largest over cases.

    Args:
        values: by score and run, a number per case, cases in the same order; NaN where unscored.
        reasons: likewise why a case is unscored.
    """
    rows: list[dict[str, Cell]] = []
    runs = 0
    for name, columns in values.items():
        runs = len(columns)
        stacked = np.stack(columns)
        scored = np.isfinite(stacked).all(axis=0)
        # About the first run: equal numbers have a deviation of 0, not of rounding.
        sd = (stacked[:, scored] - stacked[0, scored]).std(axis=0, ddof=1)
        same = (stacked[:, scored] == stacked[0, scored]).all(axis=0)
        changed_reasons = sum(len(set(of_case)) > 1 for of_case in zip(*reasons[name]))
        row: dict[str, Cell] = {"score": name, "mean sd": float(sd.mean()) if len(sd) else None}
        row |= {"largest sd": float(sd.max()) if len(sd) else None, "bit for bit": int(same.sum())}
        rows.append(row | {"n": int(scored.sum()), "other reason": changed_reasons, "runs": runs})
    notes = [
        f"{runs} runs with models loaded anew; from the second on, rows in another order. Published: 0.00.",
        "Bit for bit: cases whose number is the same to the last bit in every run. Other reason: cases that were "
        "unscored in some runs only, or for different reasons.",
    ]
    return Table("repeat", "Repeat-run variance", rows, notes)


def sensitivity(
    kinds: Sequence[Sequence[str]],
    values: Mapping[str, Sequence[Floats]],
    higher_is_better: Mapping[str, bool],
    *,
    resamples: int = 1000,
    seed: int = 1,
    notes: Sequence[str] = (),
) -> Table:
    """Does a score fall where a report goes wrong? A row per metric and kind of variant (PathGLS's sensitivity study).

    The drop is (mean of controls − mean of variants) / mean of controls, over reports that have both numbers.

    Args:
        kinds: by report, the kind of each of its texts, the control first.
        values: by metric and report, a number per text; NaN where unscored.
        higher_is_better: by metric.
    """
    flat = np.array([kind for report in kinds for kind in report])
    rows = []
    for kind in (kind for kind in (VISUAL, LOGIC, PARAPHRASE) if kind in flat):
        for metric, of_reports in values.items():
            row = _drop(metric, kind, kinds, of_reports, resamples, seed)
            numbers = np.concatenate(of_reports) * (1.0 if higher_is_better[metric] else -1.0)
            rows.append(row | {"AUC": _auc(kind, numbers, flat)} if row["n"] else row)
    unscored_metrics = [metric for metric in values if not any(row["metric"] == metric and row["n"] for row in rows)]
    rows = [row for row in rows if row["metric"] not in unscored_metrics]
    remarks = [
        f"Drop: (control − variant) / control, 95 % intervals over {len(kinds):,} reports. AUC: chance that a "
        "control, or a paraphrase where there are any, scores above the variant.",
        "Published: PathGLS on its own data. Reference-based metrics see the case's reference, or the control.",
        *(f"{name}: not assessed, no report of the file has a number for it." for name in unscored_metrics),
        *notes,
    ]
    return Table("sensitivity", "Sensitivity", rows, remarks, frozenset({"drop %", "published %"}))


def _drop(
    metric: str, kind: str, kinds: Sequence[Sequence[str]], values: Sequence[Floats], resamples: int, seed: int
) -> dict[str, Cell]:
    pairs, unscored = [], 0
    for of_texts, numbers in zip(kinds, values):
        control, variants = numbers[0], numbers[np.array(of_texts) == kind]
        scored = variants[np.isfinite(variants)]
        unscored += len(variants) - len(scored) if np.isfinite(control) else len(variants)
        if np.isfinite(control) and len(scored):
            pairs.append((float(scored.mean()), float(control)))
    array = np.array(pairs).reshape(-1, 2)
    changed, control = array.mean(axis=0).tolist() if len(array) else (None, None)
    record: dict[str, Cell] = {"variant": kind, "metric": metric, "control": control, "changed": changed}
    record["drop %"] = ratio(array, resamples, seed).scaled(-100.0, 100.0)
    record |= {"AUC": None, "n": len(array), "unscored": unscored}
    return record | {"published %": PUBLISHED_DROPS.get((kind, metric))}


def _auc(kind: str, values: Floats, kinds: np.ndarray) -> float | None:
    """How well a score tells the variants from harmless texts; None where one side has no number."""
    harmless = PARAPHRASE if (kinds == PARAPHRASE).any() and kind != PARAPHRASE else CONTROL
    chosen = ((kinds == kind) | (kinds == harmless)) & np.isfinite(values)
    area = auc(values[chosen], (kinds[chosen] == kind).astype(float))
    return None if math.isnan(area) else area
