"""A comparison of systems in the terminal: how rows are paired, the leaderboard, and every pair of systems."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from medassay.report.terminal import (
    Column,
    arrow,
    interval_text,
    note,
    number,
    p_value,
    plain_console,
    print_table,
    printable,
    stripped,
)

if TYPE_CHECKING:
    from medassay.study import Comparison, Pair

_MATRICES = 12
"""Systems up to which a matrix of who beats whom is printed for every metric."""


def comparison_text(comparison: Comparison) -> str:
    """The comparison as plain text."""
    stream = io.StringIO()
    print_comparison(plain_console(stream), comparison)
    return stripped(stream)


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Print how rows are paired, the leaderboard, which system is better, and every pair with interval and p-values."""
    console.print(Text(printable(comparison.headline, 600), style="bold"), soft_wrap=not console.is_terminal)
    if comparison.primary is not None:
        for line in primary_lines(comparison):
            console.print(Text(line), soft_wrap=not console.is_terminal)
    console.print()
    if len(comparison.systems) == 2:
        _print_duel(console, comparison)
    else:
        _print_leaderboard(console, comparison)
        if len(comparison.systems) <= _MATRICES:
            console.print()
            for metric in comparison.metrics:
                _print_matrix(console, comparison, metric)
                console.print()
            note(console, f"▲ row better than column, ▼ worse, = no difference shown ({level(comparison)}).")
    console.print()
    _print_pairs(console, comparison)
    for remark in comparison.notes:
        note(console, printable(remark, 600))


def level(comparison: Comparison) -> str:
    """The level at which a difference counts as shown."""
    return f"Holm-corrected p < {comparison.alpha:g}"


def primary_lines(comparison: Comparison) -> list[str]:
    """The verdict on the primary metric, a line for each pair of systems where there are few."""
    pairs = [pair for pair in comparison.pairs if pair.metric == comparison.primary]
    label = f"Primary metric {printable(comparison.primary or '')}"
    shown_pairs = [pair for pair in pairs if pair.better is not None]
    if len(pairs) > 3:
        return [f"{label}: a difference is shown for {len(shown_pairs)} of {len(pairs)} pairs of systems."]
    return [f"{label}: {_verdict(pair)}" for pair in pairs]


def leaderboard_notes(comparison: Comparison) -> list[str]:
    """What a reader of the leaderboard must know."""
    return [
        comparison.headline,
        *(primary_lines(comparison) if comparison.primary is not None else []),
        f"Ranked by {comparison.ranking_metric}; with 95 % intervals; * no system is shown to be better "
        f"({level(comparison)}). Values are over all scored rows of a system, as medassay score prints them.",
    ]


def _verdict(pair: Pair) -> str:
    names = f"{printable(pair.first)} − {printable(pair.second)}"
    if pair.difference is None:
        return f"{names} not tested: no item has a score from both."
    size = f"{number(pair.difference)} {interval_text(pair.low, pair.high)}, p Holm {p_value(pair.p_holm)}"
    if pair.better is None:
        return f"no difference shown ({names}: {size})."
    return f"{printable(pair.better)} is better ({names}: {size})."


def _print_duel(console: Console, comparison: Comparison) -> None:
    """Two systems need no matrix: one row per metric, and who is better."""
    first, second = comparison.systems
    pairs = comparison.pairs
    labels = [metric_label(comparison, pair.metric) for pair in pairs]
    better = [printable(pair.better) if pair.better is not None else "no difference shown" for pair in pairs]
    columns = [
        Column("metric", labels, justify="left", fold=True),
        *(
            Column(printable(name, 20), [number(comparison.values[pair.metric][name].value) for pair in pairs])
            for name in (first, second)
        ),
        Column(f"better ({level(comparison)})", better, justify="left", fold=True),
    ]
    print_table(console, columns)


def metric_label(comparison: Comparison, metric: str) -> str:
    """A metric's name with its direction."""
    return f"{printable(metric)} {arrow(comparison.higher_is_better[metric])}"


def _print_leaderboard(console: Console, comparison: Comparison) -> None:
    """Every system with its value on every metric, best first on the ranking metric."""
    ranked = comparison.ranked()
    columns = [
        Column("", [str(i) for i in range(1, len(ranked) + 1)]),
        Column("system", [printable(system) for system in ranked], justify="left", fold=True),
    ]
    for k, metric in enumerate(comparison.metrics):
        cells = [leader_cell(comparison, metric, system) for system in ranked]
        columns.append(Column(metric_label(comparison, metric), cells, drop_order=k))
    print_table(console, columns)
    note(
        console,
        f"Ranked by {printable(comparison.ranking_metric)}. * no system is shown to be better ({level(comparison)}); "
        "values are over all scored rows of a system, as `medassay score` prints them.",
    )


def leader_cell(comparison: Comparison, metric: str, system: str) -> str:
    """A system's value on a metric, starred where no system is shown to be better than it."""
    value = comparison.values[metric][system]
    if not value.known:
        return "–"
    return number(value.value) + ("*" if not comparison.beaten(metric, system) else " ")


def _print_matrix(console: Console, comparison: Comparison, metric: str) -> None:
    """Systems against systems for one metric, best value first; columns are numbered as the rows are."""
    better: dict[tuple[str, str], str | None] = {}
    for pair in comparison.pairs:
        if pair.metric == metric:
            better[pair.first, pair.second] = better[pair.second, pair.first] = pair.better
    values = comparison.values[metric]
    ranked = comparison.ranked(metric)
    columns = [
        Column("", [str(i) for i in range(1, len(ranked) + 1)]),
        Column(metric_label(comparison, metric), [printable(s) for s in ranked], justify="left", fold=True),
        Column("value", [number(values[system].value) for system in ranked]),
        Column("95 % interval", [interval_text(values[s].low, values[s].high) for s in ranked], drop_order=90),
    ]
    for i, column in enumerate(ranked):
        cells = ["" if row == column else _mark(better.get((row, column)), row) for row in ranked]
        columns.append(Column(str(i + 1), cells, drop_order=i + 1, justify="center"))
    print_table(console, columns)


def _mark(better: str | None, row: str) -> str:
    return "=" if better is None else "▲" if better == row else "▼"


def _print_pairs(console: Console, comparison: Comparison) -> None:
    pairs = comparison.pairs
    starts = [i for i, pair in enumerate(pairs) if i == 0 or pair.metric != pairs[i - 1].metric]
    columns = [
        Column(
            "metric",
            [metric_label(comparison, pair.metric) if i in starts else "" for i, pair in enumerate(pairs)],
            justify="left",
            fold=True,
        ),
        Column("pair", [f"{printable(p.first)} − {printable(p.second)}" for p in pairs], justify="left", fold=True),
        Column("difference", [number(pair.difference) for pair in pairs]),
        Column("95 % interval", [interval_text(pair.low, pair.high) for pair in pairs], drop_order=2),
        Column("p", [p_value(pair.p) for pair in pairs], drop_order=3),
        Column("p Holm", [p_value(pair.p_holm) for pair in pairs], drop_order=1),
        Column("p bootstrap", [p_value(pair.p_bootstrap) for pair in pairs], drop_order=8),
        Column("d_z", [_effect(pair.d_z) for pair in pairs], drop_order=5),
        Column("Cliff", [_effect(pair.cliff) for pair in pairs], drop_order=7),
        Column("win/tie/loss %", [_shares(pair) for pair in pairs], drop_order=6),
        Column("items", [f"{pair.n:,}" for pair in pairs], drop_order=4),
    ]
    rules = [start - 1 for start in starts[1:]] if len(starts) < len(pairs) else []
    print_table(console, columns, rules=rules)


def _effect(value: float | None) -> str:
    return "–" if value is None else f"{value:+.2f}"


def _shares(pair: Pair) -> str:
    if not pair.n:
        return "–"
    return "/".join(f"{100 * share:.0f}" for share in (pair.wins, pair.ties, pair.losses))
