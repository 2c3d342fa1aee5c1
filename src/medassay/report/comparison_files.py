"""A comparison of systems as a file: text, Markdown, LaTeX, CSV or a page, by the ending of its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from medassay.files import csv_text, table_kind, write_text
from medassay.report.comparison_page import comparison_html
from medassay.report.comparison_terminal import comparison_text, leaderboard_notes, metric_label
from medassay.report.study_tables import latex_table, markdown_table
from medassay.report.terminal import interval_text, number, p_value
from medassay.study import Cell, Table

if TYPE_CHECKING:
    from medassay.study import Comparison, Pair

COMPARISON_FORMATS = (".txt", ".md", ".tex", ".csv", ".html")


def write_comparison(path: Path, comparison: Comparison) -> None:
    """Write the comparison, whole or not at all, as the ending of the name says."""
    kind = table_kind(path, COMPARISON_FORMATS)
    if kind == ".csv":
        text = csv_text(pair_rows(comparison))
    elif kind == ".html":
        text = comparison_html(comparison)
    elif kind == ".txt":
        text = comparison_text(comparison) + "\n"
    else:
        as_text = markdown_table if kind == ".md" else latex_table
        text = "\n\n".join(as_text(table) for table in (leaderboard(comparison), pair_table(comparison))) + "\n"
    write_text(path, text, errors="replace")


def leaderboard(comparison: Comparison) -> Table:
    """The systems, best first, with their value and interval on every metric."""
    rows: list[dict[str, Cell]] = []
    for rank, system in enumerate(comparison.ranked(), 1):
        row: dict[str, Cell] = {"": rank, "system": system}
        for metric in comparison.metrics:
            row[metric_label(comparison, metric)] = _value_text(comparison, metric, system)
        rows.append(row)
    return Table("leaderboard", "Leaderboard", rows, leaderboard_notes(comparison))


def _value_text(comparison: Comparison, metric: str, system: str) -> str:
    value = comparison.values[metric][system]
    if not value.known:
        return "–"
    star = "" if comparison.beaten(metric, system) else "*"
    extent = interval_text(value.low, value.high)
    return number(value.value) + star + ("" if extent == "–" else f" {extent}")


def pair_table(comparison: Comparison) -> Table:
    """Every pair of systems on every metric, as a person reads it."""
    rows: list[dict[str, Cell]] = [
        {
            "metric": metric_label(comparison, pair.metric),
            "first": pair.first,
            "second": pair.second,
            "first − second": number(pair.difference),
            "95 % interval": interval_text(pair.low, pair.high),
            "p Holm": p_value(pair.p_holm),
            "better": pair.better or ("not tested" if pair.p is None else "none shown"),
            "items": pair.n,
        }
        for pair in comparison.pairs
    ]
    return Table("pairs", "Pairs of systems", rows, comparison.notes)


def pair_rows(comparison: Comparison) -> list[dict[str, object]]:
    """Every pair as a flat record, with all that is known of it and in full precision."""
    return [_record(comparison, pair) for pair in comparison.pairs]


def _record(comparison: Comparison, pair: Pair) -> dict[str, object]:
    values = comparison.values[pair.metric]
    first, second = (values[name].value if values[name].known else None for name in (pair.first, pair.second))
    return {
        "metric": pair.metric,
        "higher_is_better": comparison.higher_is_better[pair.metric],
        "level": "corpus" if pair.metric in comparison.corpus else "mean",
        "primary": pair.metric == comparison.primary,
        "first": pair.first,
        "second": pair.second,
        "value_first": first,
        "value_second": second,
        "paired_by": comparison.item,
        "items": pair.n,
        "left_out": pair.dropped,
        "clusters": pair.clusters,
        "paired_first": pair.mean_first,
        "paired_second": pair.mean_second,
        "difference": pair.difference,
        "low": pair.low,
        "high": pair.high,
        "p": pair.p,
        "p_holm": pair.p_holm,
        "p_bootstrap": pair.p_bootstrap,
        "d_z": pair.d_z,
        "cliff": pair.cliff,
        "wins": pair.wins if pair.n else None,
        "ties": pair.ties if pair.n else None,
        "losses": pair.losses if pair.n else None,
        "better": pair.better,
    }
