"""How good a reader is on the held-out documents, by source."""

from __future__ import annotations

from typing import Any

import numpy as np

from medassay.models.activations import softmax
from medassay.spans import CONTRADICTION_KINDS
from medassay.training.reader.material import NOT_SUPPORTED

FALSE_ALARMS = 0.10
"""Share of false alarms at which the recall of contradictions is given."""


def figures(columns: dict[str, Any], rows: Any, answers: dict[str, Any]) -> dict[str, dict[str, float]]:
    """For each source: three-way accuracy, areas under the curve, and the accuracy of kind, severity and place.

    Args:
        columns: the packed columns of all rows.
        rows: the rows that were asked about.
        answers: what the reader answered for them, before softmax and sigmoid.
    """
    table: dict[str, dict[str, float]] = {}
    for number, source in enumerate(columns["sources"].tolist()):
        source_rows = np.flatnonzero(columns["source"][rows] == number)
        if len(source_rows):
            source_answers = {name: value[source_rows] for name, value in answers.items()}
            table[str(source)] = _of_source(
                {name: columns[name][rows[source_rows]] for name in _COLUMNS}, source_answers
            )
    return table


_COLUMNS = ("label", "kind", "severity", "at", "expert")


def _of_source(known: dict[str, Any], answers: dict[str, Any]) -> dict[str, float]:
    label = known["label"]
    table: dict[str, float] = {"pairs": float(len(label))}
    chances = softmax(answers["verdict"].astype(np.float64))
    sure, labelled = (label >= 0) & (label < NOT_SUPPORTED), label >= 0
    if sure.any():
        table["accuracy"] = float((chances[sure].argmax(1) == label[sure]).mean())
        table["contradicted auc"] = area(chances[sure, 2], label[sure] == 2)
        others = chances[sure & (label != 2), 2]
        if len(others) and (label == 2).any():
            limit = np.quantile(others, 1 - FALSE_ALARMS)
            table["contradicted recall"] = float((chances[label == 2, 2] > limit).mean())
    if labelled.any():
        table["supported auc"] = area(chances[labelled, 0], label[labelled] == 0)
    wrong = label == 2
    kind = wrong & (known["kind"] >= 0)
    if kind.any():
        table["kind"] = float(
            (answers["kind"][kind, : len(CONTRADICTION_KINDS)].argmax(1) == known["kind"][kind]).mean()
        )
    severity = wrong & (known["severity"] >= 0)
    if severity.any():
        table["severity"] = float(((answers["severity"][severity, 0] > 0) == known["severity"][severity]).mean())
    placed = known["at"][:, 0] >= 0
    if placed.any():
        table["place"] = float(answers["placed"][placed].mean())
    rated = ~np.isnan(known["expert"])
    if rated.sum() > 2:
        table["expert r"] = float(np.corrcoef(answers["expert"][rated, 0], known["expert"][rated])[0, 1])
    return table


def area(scores: Any, positive: Any) -> float:
    """Area under the receiver operating characteristic, ties counted half; NaN where one class is missing."""
    positive = np.asarray(positive, bool)
    if positive.all() or not positive.any():
        return float("nan")
    _, index, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[index]
    count = int(positive.sum())
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * (len(positive) - count)))
