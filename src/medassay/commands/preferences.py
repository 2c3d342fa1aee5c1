"""Preferences of people for `medassay validate`: judged pairs read from a file, compared with scores, and written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from medassay.errors import InputError, nearest

if TYPE_CHECKING:
    from medassay.engine.score_table import ScoreTable
    from medassay.study import Pairwise, Preference, PreferenceStudy

Figures = dict[str, str | float | int | None]
_COLUMNS = ("id", "system_a", "system_b", "preference")


def compare_preferences(
    judged: Sequence[Preference],
    table: ScoreTable,
    metrics: Sequence[str] | None,
    by: str,
    directions: tuple[Sequence[str], Sequence[str]],
    resamples: int,
    seed: int,
) -> PreferenceStudy:
    """Compare the metrics of a table of scores with judged pairs.

    directions: columns of which less, and of which more, is better.
    """
    from medassay.study import preference_study

    columns = metrics or table.metrics
    lower, higher = directions
    higher_is_better = {m: m in higher or (m not in lower and table.direction(m) is not False) for m in columns}
    return preference_study(
        judged, _scores_by_text(table, columns, by), higher_is_better, resamples=resamples, seed=seed
    )


def preference_rows(study: PreferenceStudy) -> list[Figures]:
    """Every figure of a study of preferences: one flat record per metric."""
    rows = []
    for metric in study.metrics:
        systems = study.systems[metric]
        level = {"systems.accuracy": systems.value if systems.known else None}
        level |= {"systems.low": systems.low, "systems.high": systems.high}
        rows.append(
            {"metric": metric, "missing": study.missing[metric], **pair_figures(study.pairwise[metric]), **level}
        )
    return rows


def pair_figures(pairs: Pairwise | None) -> Figures:
    """Pairwise accuracy as flat fields; empty cells where there are no pairs."""
    exact, calibrated = (pairs.exact, pairs.calibrated) if pairs else (None, None)
    return {
        "pairs": pairs.n if pairs else 0,
        "pairs.ties": pairs.ties if pairs else None,
        "pairs.accuracy": exact.value if exact else None,
        "pairs.calibrated": calibrated.value if calibrated else None,
        "pairs.calibrated.low": calibrated.low if calibrated else None,
        "pairs.calibrated.high": calibrated.high if calibrated else None,
        "pairs.epsilon": pairs.epsilon if pairs else None,
    }


def read_preferences(path: Path) -> list[Preference]:
    """Judged pairs from a file with the columns id, system_a, system_b, preference (a, b or tie)."""
    from medassay.records import read_records
    from medassay.study import Preference

    judged = []
    for number, record in read_records(path):
        if isinstance(record, str):
            raise InputError(f"{path}, row {number}: {record}")
        for column in _COLUMNS:
            if column not in record:
                raise InputError(
                    f"{path}: no column '{column}'{nearest(column, list(record))}; it needs id, system_a, "
                    "system_b and preference (a, b or tie)"
                )
        first, second = str(record["system_a"]).strip(), str(record["system_b"]).strip()
        answer = str(record["preference"]).strip()
        signs = {"a": 1, "b": -1, "tie": 0, "": None, first.lower(): 1, second.lower(): -1}
        if answer.lower() not in signs or first == second:
            raise InputError(
                f"{path}, row {number}, column 'preference': '{answer[:40]}' is not a, b, tie or one of two systems"
            )
        preferred = signs[answer.lower()]
        if preferred is not None:
            judged.append(Preference(str(record["id"]).strip(), first, second, preferred))
    if not judged:
        raise InputError(f"{path}: no judged pair")
    return judged


def _scores_by_text(table: ScoreTable, metrics: Sequence[str], by: str) -> dict[str, dict[tuple[str, str], float]]:
    """By metric, the score of each item and system."""
    items, systems = table.labels("id"), table.labels(by)
    keys = [
        (items.names[i], systems.names[s]) if i >= 0 and s >= 0 else None
        for i, s in zip(items.codes.tolist(), systems.codes.tolist())
    ]
    return {
        metric: {key: value for key, value in zip(keys, table.numbers(metric).tolist()) if key and value == value}
        for metric in metrics
    }
