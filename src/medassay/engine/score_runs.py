"""Several scores files as one table: runs, models or dates to be compared with each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from medassay.engine.score_table import Floats, Labels, ScoreTable, read_scores
from medassay.errors import InputError

_RUN = ("run", "scores_file", "medassay_run")
"""Names for the column that says which file a row is from; the first that no file has is taken."""


def read_runs(paths: Sequence[Path]) -> tuple[ScoreTable, tuple[str, ...], list[str]]:
    """Read one scores file, or several as one table.

    Returns:
        The table, the columns that tell its systems apart unless others are named, and what a reader must know.
    """
    if len(paths) == 1:
        return read_scores(paths[0]), ("system",), []
    resolved = [path.resolve() for path in paths]
    for path, real in zip(paths, resolved):
        if resolved.count(real) > 1:
            raise InputError(f"{path}: is given twice; a file is compared with other files")
    return join_runs(dict(zip(_run_names(paths), map(read_scores, paths), strict=True)))


def join_runs(tables: Mapping[str, ScoreTable]) -> tuple[ScoreTable, tuple[str, ...], list[str]]:
    """Tables by the name of their run, as one table with a column for it; returns as `read_runs`."""
    runs = list(tables.values())
    column = next(name for name in _RUN if not any(name in table.columns for table in runs))
    metrics = [metric for metric in runs[0].metrics if all(metric in table.metrics for table in runs)]
    if not metrics:
        listed = "; ".join(f"{table.name}: {', '.join(table.metrics) or 'none'}" for table in runs)
        raise InputError(f"no metric is in every file ({listed}); score all of them with the same metrics")
    columns: dict[str, Floats | Labels] = {}
    for name in dict.fromkeys(name for table in runs for name in table.columns):
        if name in metrics:
            columns[name] = np.concatenate([table.numbers(name) for table in runs])
        else:
            columns[name] = _stacked([_labels_or_empty(table, name) for table in runs])
    codes = np.repeat(np.arange(len(runs), dtype=np.int64), [len(table) for table in runs])
    columns[column] = Labels(codes, tuple(tables))
    joined = ScoreTable(
        name=", ".join(table.name for table in runs),
        rows=np.concatenate([table.rows for table in runs]),
        columns=columns,
        metrics=tuple(metrics),
        higher_is_better=_directions(runs, metrics),
        signatures={m: s for table in reversed(runs) for m, s in table.signatures.items() if m in metrics},
        guessed=any(table.guessed for table in runs),
        statistics=_statistics(runs, metrics),
    )
    return joined, _default_by(joined, column), _warnings(tables, metrics)


def _run_names(paths: Sequence[Path]) -> list[str]:
    """The shortest of stem, name and path that tells all files apart."""
    candidates: Iterable[list[str]] = (
        [path.stem for path in paths],
        [path.name for path in paths],
        [f"{path.parent.name}/{path.name}" for path in paths],
    )
    return next((names for names in candidates if len(set(names)) == len(names)), [str(path) for path in paths])


def _labels_or_empty(table: ScoreTable, column: str) -> Labels:
    if column in table.columns:
        return table.labels(column)
    return Labels(np.full(len(table), -1, dtype=np.int64), ())


def _stacked(parts: Sequence[Labels]) -> Labels:
    """Columns of names, one below the other."""
    names: dict[str, int] = {}
    codes = []
    for part in parts:
        own = np.array([names.setdefault(name, len(names)) for name in part.names] + [-1], dtype=np.int64)
        codes.append(own[part.codes])
    return Labels(np.concatenate(codes), tuple(names))


def _directions(runs: Sequence[ScoreTable], metrics: Sequence[str]) -> dict[str, bool]:
    out: dict[str, bool] = {}
    for table in runs:
        for metric, way in table.higher_is_better.items():
            if metric in metrics and out.setdefault(metric, way) != way:
                raise InputError(f"{table.name}: '{metric}' is better the other way round than in {runs[0].name}")
    return out


def _statistics(runs: Sequence[ScoreTable], metrics: Sequence[str]) -> dict[str, Floats]:
    """Statistics of the metrics that every file has them of, as many in each."""
    out = {}
    for metric in metrics:
        parts = [table.statistics[metric] for table in runs if metric in table.statistics]
        if len(parts) == len(runs) and len({part.shape[1] for part in parts}) == 1:
            out[metric] = np.concatenate(parts)
    return out


def _default_by(table: ScoreTable, run: str) -> tuple[str, ...]:
    """System alone where no two files share one, run alone where each file has one system, else both."""
    if "system" not in table.columns:
        return (run,)
    runs, systems = table.labels(run).codes, table.labels("system").codes
    pairs = np.unique(np.stack([runs, systems], axis=1), axis=0)
    if (pairs[:, 1] >= 0).all() and len(np.unique(pairs[:, 1])) == len(pairs):
        return ("system",)
    return (run,) if len(np.unique(pairs[:, 0])) == len(pairs) else (run, "system")


def _warnings(tables: Mapping[str, ScoreTable], metrics: Sequence[str]) -> list[str]:
    """What makes the files differ in more than their texts."""
    out = []
    for metric in metrics:
        signed = {table.signatures[metric] for table in tables.values() if metric in table.signatures}
        if len(signed) > 1:
            out.append(f"'{metric}' was not made alike in all files: {' against '.join(sorted(signed))}")
    left = sorted({metric for table in tables.values() for metric in table.metrics} - set(metrics))
    if left:
        out.append(f"not in every file, left out: {', '.join(left)}")
    return out
