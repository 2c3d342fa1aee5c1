"""Studies in the terminal: agreement with people, sensitivity cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from medassay.report.terminal import Column, arrow, note, p_value, print_table, shown
from medassay.study.levels import Coefficient
from medassay.study.stress import RUNGS, Card, Drop, Rate, Stress
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


def print_stress(console: Console, test: Stress) -> None:
    """The ladder of every metric, then a sensitivity card each."""
    console.print(Text("The ladder: share of pairs in the right order, 1 is best", style="bold"))
    cards = test.cards
    lines: list[tuple[str, Mapping[str, Rate], Card | None]] = []
    for card in cards:
        lines.append((f"{shown(card.metric)} {arrow(card.higher_is_better)}", card.ladder, card))
        lines += [(f"  {shown(group) or 'no group'}", ladder, None) for group, ladder in card.by_group.items()]
    columns = [Column("metric", [name for name, _, _ in lines], justify="left")]
    columns += [Column(rung, [_share(ladder[rung]) for _, ladder, _ in lines], fold=True) for rung in RUNGS]
    columns.append(
        Column("harmless > error", [_share(card.win) if card else "" for _, _, card in lines], keep=1, fold=True)
    )
    blind = [_share(card.blind) if card else "" for _, _, card in lines]
    columns.append(Column("negation blind spot (0 is best)", blind, keep=2, fold=True))
    print_table(console, columns)
    for card in cards:
        console.print()
        _print_card(console, card)
    console.print()
    note(
        console,
        "Drop: mean loss against the copy, in % of the metric's range (of the copy's score where it has none). "
        "Not made: texts in which a change found nothing to change; they count nowhere.",
    )
    for remark in test.notes:
        note(console, shown(remark, 400))


def _share(rate: Rate, extent: bool = True) -> str:
    if rate.value is None:
        return "–"
    if not extent or rate.low is None or rate.high is None:
        return f"{rate.value:.3f}"
    return f"{rate.value:.3f} [{rate.low:.2f}, {rate.high:.2f}]"


def _print_card(console: Console, card: Card) -> None:
    console.print(Text(f"{shown(card.metric)} {arrow(card.higher_is_better)}", style="bold"))
    console.print(Text(shown(card.signature, 160), style="dim"))
    drops = list(card.drops)
    starts = [i for i, one in enumerate(drops) if i == 0 or one.form != drops[i - 1].form]
    columns = [
        Column("change", [one.form if i in starts else "" for i, one in enumerate(drops)], justify="left"),
        Column("kind", [shown(one.kind, 20) for one in drops], justify="left"),
        Column("drop %", [_percent(one) for one in drops]),
        Column("95 % interval", [_drop_extent(one) for one in drops], keep=1),
        Column("below copy", ["–" if one.lower is None else f"{one.lower:.2f}" for one in drops], keep=4),
        Column("paraphrase above", [_above(card, one) for one in drops], keep=2),
        Column("harmless above", [_won(card, one) for one in drops], keep=5),
        Column("made", [f"{one.made:,}" for one in drops], keep=3),
        Column("not made", [f"{one.not_made:,}" if one.not_made else "" for one in drops]),
    ]
    if any(one.unscored for one in drops):
        columns.append(Column("unscored", [f"{one.unscored:,}" for one in drops]))
    print_table(console, columns, rules=[start - 1 for start in starts[1:]])


def _percent(one: Drop) -> str:
    return "–" if one.drop is None else f"{one.drop:.1f}"


def _drop_extent(one: Drop) -> str:
    return "–" if one.low is None or one.high is None else f"[{one.low:.1f}, {one.high:.1f}]"


def _above(card: Card, one: Drop) -> str:
    """How often a paraphrase scores above this kind of error."""
    if one.form not in ("error", "reworded error"):
        return ""
    return _share(card.by_kind.get(one.kind, {}).get(f"paraphrase > {one.form}", Rate(None, 0)))


def _won(card: Card, one: Drop) -> str:
    return _share(card.win_by_kind.get(one.kind, Rate(None, 0)), False) if one.form == "error" else ""
