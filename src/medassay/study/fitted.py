"""Which metrics were fitted to the references of a table, or to others of the same data set.

`rules/trained_on.tsv` holds the keys of the references. Agreement on cases that a metric was fitted to is a fit, not a
validation; on other cases of the same data set it may be higher than elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files

from medassay.engine.score_table import ScoreTable
from medassay.language.lexicon import read_table

_KEY = "reference_key"


@lru_cache(maxsize=1)
def known_references() -> dict[str, tuple[str, frozenset[str]]]:
    """By reference key, the data set that the reference is of and the metrics that were fitted to it."""
    rows = read_table(files("medassay.study") / "rules" / "trained_on.tsv")
    return {row["key"]: (row["set"], frozenset(row["metrics"].split("|"))) for row in rows}


@lru_cache(maxsize=1)
def trained_data_sets() -> frozenset[tuple[str, str]]:
    """Data sets with the metrics that were fitted to some reference of theirs."""
    return frozenset((data_set, metric) for data_set, metrics in known_references().values() for metric in metrics)


def fitted_cases(table: ScoreTable, metrics: Sequence[str]) -> dict[str, int]:
    """By metric, how many cases have a reference that it was fitted to; metrics without any are left out.

    A column counts for its metric whatever its settings and part (`expert.low`), unless its signature names other
    models than the embedded ones.
    """
    return {
        metric: count
        for metric, name in _embedded(table, metrics)
        if (count := sum(name in fitted for _, fitted in _cases(table)))
    }


def neighbour_cases(table: ScoreTable, metrics: Sequence[str]) -> dict[str, Counter[str]]:
    """By metric and data set, how many cases it was not fitted to although it was to others of their data set."""
    by_metric: dict[str, Counter[str]] = {}
    for metric, name in _embedded(table, metrics):
        sets = [
            data_set
            for data_set, fitted in _cases(table)
            if name not in fitted and (data_set, name) in trained_data_sets()
        ]
        if sets:
            by_metric[metric] = Counter(sets)
    return by_metric


def _cases(table: ScoreTable) -> list[tuple[str, frozenset[str]]]:
    """Of the cases whose reference is known, its data set and the metrics that were fitted to it."""
    if _KEY not in table.columns:
        return []
    labels = table.labels(_KEY)
    names = [labels.names[code] for code in labels.codes.tolist() if code >= 0]
    return [known_references()[name] for name in names if name in known_references()]


def _embedded(table: ScoreTable, metrics: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The columns of metrics with bundled models, each with its metric's name."""
    for metric in metrics:
        signature = table.signatures.get(metric, "")
        if "models:" not in signature or "embedded" in signature:
            yield metric, metric.partition("(")[0].partition(".")[0]


def fitted_notes(table: ScoreTable, metrics: Sequence[str]) -> list[str]:
    """A warning per metric that was fitted to some of the cases, or to others of their data set."""
    of_cases = f"of these {len(table):,} cases"
    return [
        f"Warning: {metric} was fitted to judgements of {count:,} {of_cases}' references; its figures here are a fit, "
        "no forecast."
        for metric, count in fitted_cases(table, metrics).items()
    ] + [
        f"Warning: {metric} was trained on other rows of {data_set}, which {count:,} {of_cases} are of; it may agree "
        "less with people elsewhere."
        for metric, sets in neighbour_cases(table, metrics).items()
        for data_set, count in sorted(sets.items())
    ]
