"""Studies in the terminal: agreement with people, sensitivity cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from medassay.report.terminal import Column, arrow, note, p_value, print_table, shown
from medassay.study.levels import Coefficient
from medassay.study.validation import Agreement, Validation


def print_validation(console: Console, study: Validation) -> None:
    """A table a human column (metrics ranked by agreement), the papers' aggregate, what to know."""
    for human in study.humans:
        _print_human(console, study, human)
        console.print()
    if study.aggregates:
        _print_aggregates(console, study)
        console.print()
    note(
        console,
        "Within: mean of Pearson inside items. Systems: Pearson of the systems' means. RMSE: human score scaled to "
        "0–1, about its line on the metric. Beats: metrics, by rank, that this one agrees better than "
        f"(paired permutation, {study.coefficient}, Holm-corrected p < 0.05).",
    )
    for remark in study.notes:
        note(console, shown(remark, 600))


def _strength(one: Agreement, name: str) -> float:
    return one.item[name].value * one.expected if one.item else -2.0


def _print_human(console: Console, study: Validation, human: str) -> None:
    cells = sorted((study.of(m, human) for m in study.metrics), key=lambda one: -_strength(one, study.coefficient))
    rank = {one.metric: i for i, one in enumerate(cells, 1)}
    good = [one for one in cells if not one.reason]
    console.print(Text(f"{shown(human)} {arrow(study.higher[human])}", style="bold"))
    if good:
        columns = [
            Column("", [str(rank[one.metric]) for one in good]),
            Column("metric", [f"{shown(o.metric)} {arrow(study.higher[o.metric])}" for o in good], justify="left"),
        ]
        for keep, name in ((0, "pearson"), (2, "spearman"), (3, "kendall")):
            found = [one.item[name] for one in good]
            columns.append(Column(name.capitalize(), [_three(c.value) for c in found], keep=keep))
            columns.append(Column("95 % interval", [_extent(c) for c in found], keep=keep * 3 + 1))
            columns.append(Column("p", [p_value(c.p) for c in found], keep=keep * 2 + 2))
        columns += [
            Column("R²", [_three(one.r2) for one in good], keep=5),
            Column("RMSE", [_three(one.rmse) for one in good], keep=5),
            Column("within", [_level(one.within) for one in good], keep=3),
            Column("systems", [_level(one.system) for one in good], keep=8),
            Column("n", [f"{one.n:,}" for one in good], keep=4),
            Column("beats", [_beaten(study, one.metric, human, rank) for one in good], keep=1, justify="left"),
        ]
        print_table(console, columns)
    for one in cells:
        if one.reason:
            note(console, f"{shown(one.metric)}: not assessed, {shown(one.reason, 200)}.")


def _print_aggregates(console: Console, study: Validation) -> None:
    ranked = sorted(study.aggregates, key=lambda one: -one.value)
    console.print(Text("Aggregate ¼(2 r_F1 − r_H − r_O), higher is better", style="bold"))
    columns = [Column("metric", [shown(one.metric) for one in ranked], justify="left")]
    for human in study.aggregate_of:
        values = [_three(study.of(one.metric, human).item["pearson"].value) for one in ranked]
        columns.append(Column(f"r {shown(human, 24)}", values))
    columns.append(Column("aggregate", [_three(one.value) for one in ranked]))
    columns.append(
        Column("95 % interval", [_extent(Coefficient(one.value, one.low, one.high)) for one in ranked], keep=1)
    )
    print_table(console, columns)


def _three(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.3f}"


def _extent(found: Coefficient) -> str:
    return "–" if found.low is None or found.high is None else f"[{found.low:.2f}, {found.high:.2f}]"


def _level(found: Mapping[str, Coefficient]) -> str:
    one = found.get("pearson")
    return _three(one.value) if one is not None else "–"


def _beaten(study: Validation, metric: str, human: str, rank: dict[str, int]) -> str:
    """Ranks of the metrics that this one beats, runs drawn together: `3–5, 8`."""
    beaten: Sequence[int] = sorted(
        rank[next(iter({r.first, r.second} - {metric}))]
        for r in study.rivals
        if r.human == human and r.better == metric
    )
    runs: list[list[int]] = []
    for one in beaten:
        if runs and one == runs[-1][-1] + 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs) or "–"
