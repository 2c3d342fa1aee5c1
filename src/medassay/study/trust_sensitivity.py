"""Does trust fall where a report goes wrong? PathGLS's sensitivity study, beside reference-based metrics.

Each report is a *control*. Its variants: a *visual hallucination* (what is visible is exchanged, `hallucination`),
a *logic error* (a statement is denied elsewhere in the report), and *paraphrases* where the file brings them.
The drop is (mean of controls − mean of variants) / mean of controls, over reports that have both numbers.
Reference-based metrics compare with the case's reference, or with the control itself where it has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from medassay.cases import Case, Row
from medassay.engine.local import run
from medassay.metrics.base import Metric
from medassay.study.calibration import auc
from medassay.study.changes import NotMade, change
from medassay.study.correlation import interval
from medassay.study.hallucination import hallucinate
from medassay.study.material import read_originals
from medassay.study.resampling import Floats, bootstrap_sums
from medassay.study.stress import Progress
from medassay.study.trust_table import Cell, Estimate, Table

CONTROL, VISUAL, LOGIC, PARAPHRASE = "control", "visual hallucination", "logic error", "paraphrase"
PUBLISHED = {
    (VISUAL, "grounding"): 40.3,
    (LOGIC, "logic"): 26.4,
    (VISUAL, "bertscore"): 2.2,
    (LOGIC, "bertscore"): 1.1,
    (VISUAL, "bleu"): 25.0,
    (LOGIC, "bleu"): 18.8,
}
"""Drops in per cent that PathGLS reports on its own data, which is not ours."""


@dataclass(frozen=True)
class Varied:
    """A report with its variants, each a case of its own; the control comes first."""

    variants: Sequence[tuple[str, Case]]


def make_tested(cases: Iterable[Case], seed: int) -> tuple[list[Varied], Counter[str]]:
    """Controls with variants made by rule; what could not be made is counted by kind and reason."""
    made, missed = [], Counter[str]()
    for case in cases:
        control = case if case.references else replace(case, references=(case.candidate,))
        variants = [(CONTROL, control)]
        for kind, text in (
            (VISUAL, hallucinate(case.candidate, seed)),
            (LOGIC, change(case.candidate, "contradiction", seed)),
        ):
            if isinstance(text, NotMade):
                missed[f"{kind}: {text.reason}"] += 1
            else:
                variants.append((kind, replace(control, id=f"{case.id}#{kind}", candidate=text)))
        made.append(Varied(variants))
    return made, missed


def read_tested(path: Path, columns: Mapping[str, str], format: str | None) -> tuple[list[Varied], list[str]]:
    """Controls with the paraphrases and contradictions that a file of references and changes brings."""
    originals, problems = read_originals(path, columns, format)
    made = []
    for one in originals:
        control = Case(one.id, one.text, (one.text,))
        variants = [(CONTROL, control)]
        for k, variant in enumerate(one.variants):
            kind = PARAPHRASE if variant.form == PARAPHRASE else LOGIC if variant.kind == "contradiction" else None
            if kind is not None:
                variants.append((kind, replace(control, id=f"{one.id}#{k}", candidate=variant.text)))
        if len(variants) > 1:
            made.append(Varied(variants))
    return made, problems


def sensitivity(
    tested: Sequence[Varied],
    metrics: Sequence[Metric],
    *,
    resamples: int = 1000,
    seed: int = 1,
    progress: Progress | None = None,
    notes: Sequence[str] = (),
) -> Table:
    """One row a metric and kind of variant: means, drop in % with interval, and how well the two are told apart."""
    cases = [case for one in tested for _, case in one.variants]
    kinds = [kind for one in tested for kind, _ in one.variants]
    owners = [i for i, one in enumerate(tested) for _ in one.variants]
    rows = [Row(k + 1, replace(case, row=k + 1)) for k, case in enumerate(cases)]
    values: dict[str, list[float]] = {metric.name: [] for metric in metrics}
    batches = run(rows, metrics)
    for batch in progress(batches, len(rows)) if progress else batches:
        for scored in batch:
            for name, score in scored.scores.items():
                values[name].append(np.nan if score.value is None else score.value)
    found = [kind for kind in (VISUAL, LOGIC, PARAPHRASE) if kind in kinds]
    table = [
        _row(metric, kind, np.array(values[metric.name]), np.array(kinds), np.array(owners), resamples, seed)
        for kind in found
        for metric in metrics
    ]
    silent = [m.name for m in metrics if not any(row["metric"] == m.name and row["n"] for row in table)]
    table = [row for row in table if row["metric"] not in silent]
    said = [
        f"Drop: (control − variant) / control, 95 % intervals over {len(tested):,} reports. AUC: chance that a "
        "control, or a paraphrase where there are any, scores above the variant.",
        "Published: PathGLS on its own data. Reference-based metrics see the case's reference, or the control.",
        *(f"{name}: not assessed, no report of the file has a number for it." for name in silent),
        *notes,
    ]
    return Table("sensitivity", "Sensitivity", table, said, frozenset({"drop %", "published %"}))


def _row(
    metric: Metric, kind: str, values: Floats, kinds: np.ndarray, owners: np.ndarray, resamples: int, seed: int
) -> dict[str, Cell]:
    sums, unscored = [], 0
    for owner in np.unique(owners):
        mine = owners == owner
        control = values[mine & (kinds == CONTROL)]
        variants = values[mine & (kinds == kind)]
        unscored += int(np.isnan(variants).sum()) if np.isfinite(control).all() else len(variants)
        variants = variants[np.isfinite(variants)]
        if np.isfinite(control).all() and len(variants):
            sums.append((float(control[0]), float(variants.mean())))
    record: dict[str, Cell] = {"variant": kind, "metric": metric.name}
    array = np.array(sums).reshape(-1, 2)
    if not len(array):
        return record | {"control": None, "changed": None, "drop %": None, "n": 0, "unscored": unscored}
    control, changed = array.mean(axis=0).tolist()
    low: float | None = None
    high: float | None = None
    if len(array) > 1 and resamples and control:
        drawn = bootstrap_sums(array, resamples, seed)
        low, high = interval(100 * (1 - drawn[:, 1] / drawn[:, 0]))
    drop = Estimate(100 * (1 - changed / control) if control else None, low, high)
    record |= {"control": control, "changed": changed, "drop %": drop, "AUC": _auc(metric, kind, values, kinds)}
    return record | {"n": len(array), "unscored": unscored, "published %": PUBLISHED.get((kind, metric.name))}


def _auc(metric: Metric, kind: str, values: Floats, kinds: np.ndarray) -> float | None:
    """How well the metric tells the variants from harmless texts; None where one side has no number."""
    harmless = PARAPHRASE if (kinds == PARAPHRASE).any() and kind != PARAPHRASE else CONTROL
    chosen = ((kinds == kind) | (kinds == harmless)) & np.isfinite(values)
    sign = 1.0 if metric.higher_is_better else -1.0
    found = auc(sign * values[chosen], (kinds[chosen] == kind).astype(float))
    return None if np.isnan(found) else found
