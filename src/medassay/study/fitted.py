"""Has a metric seen these very rows? References that the bundled metrics were fitted to, known by their keys.

`rules/trained_on.tsv` holds the keys; a metric that was fitted to a case is fitted, not validated, on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

from medassay.engine.score_table import ScoreTable
from medassay.language.lexicon import read_table

_KEY = "reference_key"


@lru_cache(maxsize=1)
def _metrics_of() -> dict[str, frozenset[str]]:
    """By reference key, the metrics that were fitted to it."""
    rows = read_table(files("medassay.study") / "rules" / "trained_on.tsv")
    return {row["key"]: frozenset(row["metrics"].split("|")) for row in rows}


def fitted_cases(table: ScoreTable, metrics: Sequence[str]) -> dict[str, int]:
    """By metric, how many cases have a reference that it was fitted to; metrics without any are left out.

    A column counts for its metric whatever its settings and part (`expert.low`), unless its signature names other
    models than the embedded ones.
    """
    if _KEY not in table.columns:
        return {}
    labels = table.labels(_KEY)
    known = [_metrics_of().get(name, frozenset()) for name in labels.names]
    found = {}
    for metric in metrics:
        name = metric.partition("(")[0].partition(".")[0]
        signature = table.signatures.get(metric, "")
        if "models:" in signature and "embedded" not in signature:
            continue
        count = sum(name in known[code] for code in labels.codes.tolist() if code >= 0)
        if count:
            found[metric] = count
    return found


def fitted_notes(table: ScoreTable, metrics: Sequence[str]) -> list[str]:
    """A warning per metric that was fitted to some of the cases."""
    return [
        f"Warning: {metric} was fitted to the scores of {count:,} of these {len(table):,} cases' references; its "
        "figures here are a fit, no forecast."
        for metric, count in fitted_cases(table, metrics).items()
    ]
