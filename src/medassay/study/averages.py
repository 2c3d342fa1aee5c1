"""One metric over several data sets: the average of its correlations (Ben Abacha et al. 2023, table 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from medassay.study.validation import Validation


@dataclass(frozen=True)
class CrossData:
    """Averages over data sets.

    data: the names of the sets. metrics, humans: every column that any of them has.
    averages: by metric and human column the unweighted mean of its correlations over the sets that have both.
    counts: over how many sets that was. aggregates: by metric ¼(2 r_F1 − r_H − r_O) of the averages, −1…1, higher is
    better, where the three columns `aggregate_of` are there.
    """

    data: tuple[str, ...]
    metrics: tuple[str, ...]
    humans: tuple[str, ...]
    higher: Mapping[str, bool]
    averages: Mapping[tuple[str, str], float]
    counts: Mapping[tuple[str, str], int]
    aggregates: Mapping[str, float]
    aggregate_of: tuple[str, ...]
    coefficient: str

    def ranked(self) -> list[str]:
        """The metrics, by their aggregate where there is one, else by the first human column; the best first."""
        return sorted(self.metrics, key=lambda metric: -self._strength(metric))

    def _strength(self, metric: str) -> float:
        if self.aggregates:
            return self.aggregates.get(metric, -2.0)
        human = self.humans[0]
        sign = 1.0 if self.higher[metric] == self.higher[human] else -1.0
        return sign * self.averages.get((metric, human), -2.0 * sign)


def average_correlations(
    sets: Sequence[Mapping[tuple[str, str], float]],
) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], int]]:
    """The mean of each (metric, human column) over the sets that have it, and over how many sets it is.

    >>> average_correlations([{("rouge", "f1"): 0.5}, {("rouge", "f1"): 0.7, ("bleu", "f1"): 0.1}])[0]
    {('rouge', 'f1'): 0.6, ('bleu', 'f1'): 0.1}
    """
    values: dict[tuple[str, str], list[float]] = {}
    for correlations in sets:
        for cell, value in correlations.items():
            values.setdefault(cell, []).append(value)
    return {cell: sum(v) / len(v) for cell, v in values.items()}, {cell: len(v) for cell, v in values.items()}


def aggregate(f1: float, hallucination: float, omission: float) -> float:
    """¼(2 r_F1 − r_H − r_O), from correlations with factual F1, hallucination and omission; −1…1, higher is better.

    The aggregate of Ben Abacha et al. 2023, section 6.
    """
    return (2 * f1 - hallucination - omission) / 4


def cross_data(studies: Mapping[str, Validation]) -> CrossData:
    """Average several validations, by the name of their data."""
    validations = list(studies.values())
    coefficient = validations[0].coefficient
    cells = [
        {(a.metric, a.human): a.item[coefficient].value for a in study.agreements if not a.reason}
        for study in validations
    ]
    averages, counts = average_correlations(cells)
    metrics = tuple(dict.fromkeys(metric for study in validations for metric in study.metrics))
    humans = tuple(dict.fromkeys(human for study in validations for human in study.humans))
    higher = {name: up for study in validations for name, up in study.higher.items()}
    aggregate_columns = next((study.aggregate_of for study in validations if study.aggregate_of), ())
    aggregates = {}
    for metric in metrics if aggregate_columns else ():
        parts = [averages.get((metric, human)) for human in aggregate_columns]
        known = [part for part in parts if part is not None]
        if len(known) == 3:
            aggregates[metric] = (1.0 if higher[metric] else -1.0) * aggregate(*known)
    return CrossData(
        tuple(studies), metrics, humans, higher, averages, counts, aggregates, aggregate_columns, coefficient
    )  # fmt: skip
