"""Studies in the terminal: agreement with people, sensitivity cards."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.text import Text

from medassay.report.terminal import (
    Column,
    arrow,
    bounds_text,
    decimals,
    estimate_text,
    note,
    p_value,
    print_table,
    shown,
)
from medassay.study import RUNGS, Card, Drop, Estimate, Stress, Validation

_NO_PAIR = Estimate(math.nan)


def print_validation(console: Console, study: Validation) -> None:
    """A table per human column (metrics ranked by agreement), the papers' aggregate, what to know."""
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


def _print_human(console: Console, study: Validation, human: str) -> None:
    ranked = study.ranked(human)
    rank = {one.metric: i for i, one in enumerate(ranked, 1)}
    assessed = [one for one in ranked if not one.reason]
    console.print(Text(f"{shown(human)} {arrow(study.higher[human])}", style="bold"))
    if assessed:
        names = [f"{shown(one.metric)} {arrow(study.higher[one.metric])}" for one in assessed]
        columns = [
            Column("", [str(rank[one.metric]) for one in assessed]),
            Column("metric", names, justify="left"),
        ]
        for keep, name in ((0, "pearson"), (2, "spearman"), (3, "kendall")):
            found = [one.item[name] for one in assessed]
            columns.append(Column(name.capitalize(), [decimals(c.value) for c in found], keep=keep))
            columns.append(Column("95 % interval", [bounds_text(c) for c in found], keep=keep * 3 + 1))
            columns.append(Column("p", [p_value(c.p) for c in found], keep=keep * 2 + 2))
        beaten = [_runs(rank[name] for name in study.beaten(one.metric, human)) for one in assessed]
        columns += [
            Column("R²", [decimals(one.r2) for one in assessed], keep=5),
            Column("RMSE", [decimals(one.rmse) for one in assessed], keep=5),
            Column("within", [_pearson(one.within) for one in assessed], keep=3),
            Column("systems", [_pearson(one.system) for one in assessed], keep=8),
            Column("n", [f"{one.n:,}" for one in assessed], keep=4),
            Column("beats", beaten, keep=1, justify="left"),
        ]
        print_table(console, columns)
    for one in ranked:
        if one.reason:
            note(console, f"{shown(one.metric)}: not assessed, {shown(one.reason, 200)}.")


def _print_aggregates(console: Console, study: Validation) -> None:
    ranked = sorted(study.aggregates.items(), key=lambda pair: -pair[1].value)
    console.print(Text("Aggregate ¼(2 r_F1 − r_H − r_O), higher is better", style="bold"))
    columns = [Column("metric", [shown(metric) for metric, _ in ranked], justify="left")]
    for human in study.aggregate_of:
        values = [decimals(study.of(metric, human).item["pearson"].value) for metric, _ in ranked]
        columns.append(Column(f"r {shown(human, 24)}", values))
    columns.append(Column("aggregate", [decimals(found.value) for _, found in ranked]))
    columns.append(Column("95 % interval", [bounds_text(found) for _, found in ranked], keep=1))
    print_table(console, columns)


def _pearson(found: Mapping[str, Estimate]) -> str:
    return decimals(found["pearson"].value if "pearson" in found else None)


def _runs(ranks: Iterable[int]) -> str:
    """Ranks in order, neighbours drawn together: `3–5, 8`."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs) or "–"


def print_stress(console: Console, test: Stress) -> None:
    """The ladder of every metric, then its sensitivity card."""
    console.print(Text("The ladder: share of pairs in the right order, 1 is best", style="bold"))
    cards = test.cards
    lines: list[tuple[str, Mapping[str, Estimate], Card | None]] = []
    for card in cards:
        lines.append((f"{shown(card.metric)} {arrow(card.higher_is_better)}", card.ladder, card))
        lines += [(f"  {shown(group) or 'no group'}", ladder, None) for group, ladder in card.by_group.items()]
    columns = [Column("metric", [name for name, _, _ in lines], justify="left")]
    columns += [Column(rung, [estimate_text(ladder[rung]) for _, ladder, _ in lines], fold=True) for rung in RUNGS]
    columns.append(
        Column("harmless > error", [estimate_text(card.win) if card else "" for _, _, card in lines], keep=1, fold=True)
    )
    blind = [estimate_text(card.blind) if card else "" for _, _, card in lines]
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


def _print_card(console: Console, card: Card) -> None:
    console.print(Text(f"{shown(card.metric)} {arrow(card.higher_is_better)}", style="bold"))
    console.print(Text(shown(card.signature, 160), style="dim"))
    drops = list(card.drops)
    starts = [i for i, one in enumerate(drops) if i == 0 or one.form != drops[i - 1].form]
    columns = [
        Column("change", [one.form if i in starts else "" for i, one in enumerate(drops)], justify="left"),
        Column("kind", [shown(one.kind, 20) for one in drops], justify="left"),
        Column("drop %", [decimals(one.drop.value, 1) for one in drops]),
        Column("95 % interval", [bounds_text(one.drop, 1) for one in drops], keep=1),
        Column("below copy", [decimals(one.lower, 2) for one in drops], keep=4),
        Column("paraphrase above", [_above(card, one) for one in drops], keep=2),
        Column("harmless above", [_won(card, one) for one in drops], keep=5),
        Column("made", [f"{one.made:,}" for one in drops], keep=3),
        Column("not made", [f"{one.not_made:,}" if one.not_made else "" for one in drops]),
    ]
    if any(one.unscored for one in drops):
        columns.append(Column("unscored", [f"{one.unscored:,}" for one in drops]))
    print_table(console, columns, rules=[start - 1 for start in starts[1:]])


def _above(card: Card, one: Drop) -> str:
    """How often a paraphrase scores above this kind of error."""
    if one.form not in ("error", "reworded error"):
        return ""
    return estimate_text(card.by_kind.get(one.kind, {}).get(f"paraphrase > {one.form}", _NO_PAIR))


def _won(card: Card, one: Drop) -> str:
    return decimals(card.win_by_kind.get(one.kind, _NO_PAIR).value) if one.form == "error" else ""
