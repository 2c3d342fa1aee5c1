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
    printable,
)
from medassay.study import RUNGS, Card, CrossData, Drop, Estimate, Pairwise, PreferenceStudy, Stress, Validation

_NO_PAIR = Estimate(math.nan)


def print_cross_data(console: Console, study: CrossData) -> None:
    """The correlations averaged over several data sets, the best metric first."""
    ranked = study.ranked()
    console.print(Text(f"Average over {len(study.data)} data sets, {study.coefficient}", style="bold"))
    columns = [
        Column("metric", [f"{printable(metric)} {arrow(study.higher[metric])}" for metric in ranked], justify="left")
    ]
    for human in study.humans:
        values = [decimals(study.averages.get((metric, human))) for metric in ranked]
        sets = max((study.counts.get((metric, human), 0) for metric in ranked), default=0)
        columns.append(Column(f"{printable(human, 24)} {arrow(study.higher[human])} ({sets})", values))
    if study.aggregates:
        columns.append(Column("aggregate", [decimals(study.aggregates.get(metric)) for metric in ranked]))
    print_table(console, columns)
    note(
        console,
        "Unweighted mean over the data sets that have the column (their number in brackets); aggregate: "
        "¼(2 r_F1 − r_H − r_O) of the averages, as in table 6 of Ben Abacha et al. 2023.",
    )


def print_validation(console: Console, study: Validation, title: str = "") -> None:
    """A table per human column (metrics ranked by agreement), the papers' aggregate, what to know."""
    if title:
        console.print(Text(printable(title, 200), style="bold underline"))
    for human in study.humans:
        _print_human(console, study, human)
        console.print()
    if study.aggregates:
        _print_aggregates(console, study)
        console.print()
    note(
        console,
        "Within: mean of Pearson inside items. Systems: Pearson of the systems' means. RMSE: human score scaled to "
        "0–1, about its line on the metric. Pairs: share of pairs of an item that are ordered "
        "alike, ties counted (acc_eq, ε fitted). Beats: metrics, by rank, that this one agrees better than "
        f"(paired permutation, {study.coefficient}, Holm-corrected p < 0.05).",
    )
    for remark in study.notes:
        note(console, printable(remark, 600))


def _print_human(console: Console, study: Validation, human: str) -> None:
    ranked = study.ranked(human)
    rank = {agreement.metric: i for i, agreement in enumerate(ranked, 1)}
    assessed = [agreement for agreement in ranked if not agreement.reason]
    console.print(Text(f"{printable(human)} {arrow(study.higher[human])}", style="bold"))
    if assessed:
        names = [f"{printable(agreement.metric)} {arrow(study.higher[agreement.metric])}" for agreement in assessed]
        columns = [
            Column("", [str(rank[agreement.metric]) for agreement in assessed]),
            Column("metric", names, justify="left"),
        ]
        for order, name in ((0, "pearson"), (2, "spearman"), (3, "kendall")):
            estimates = [agreement.item[name] for agreement in assessed]
            columns.append(Column(name.capitalize(), [decimals(c.value) for c in estimates], drop_order=order))
            columns.append(Column("95 % interval", [bounds_text(c) for c in estimates], drop_order=order * 3 + 1))
            columns.append(Column("p", [p_value(c.p) for c in estimates], drop_order=order * 2 + 2))
            analytic = [p_value(agreement.analytic.get(name)) for agreement in assessed]
            columns.append(Column("analytic p", analytic, drop_order=order + 9))
        beaten = [_runs(rank[name] for name in study.beaten(agreement.metric, human)) for agreement in assessed]
        columns += [
            Column("R²", [decimals(agreement.r2) for agreement in assessed], drop_order=5),
            Column("RMSE", [decimals(agreement.rmse) for agreement in assessed], drop_order=5),
            Column("within", [_pearson(agreement.within) for agreement in assessed], drop_order=3),
            Column("systems", [_pearson(agreement.system) for agreement in assessed], drop_order=8),
            Column("pairs", [_pairwise(agreement.pairwise) for agreement in assessed], drop_order=4),
            Column("n", [f"{agreement.n:,}" for agreement in assessed], drop_order=4),
            Column("beats", beaten, drop_order=1, justify="left"),
        ]
        print_table(console, columns)
    for agreement in ranked:
        if agreement.reason:
            note(console, f"{printable(agreement.metric)}: not assessed, {printable(agreement.reason, 200)}.")


def _print_aggregates(console: Console, study: Validation) -> None:
    ranked = sorted(study.aggregates.items(), key=lambda pair: -pair[1].value)
    console.print(Text("Aggregate ¼(2 r_F1 − r_H − r_O), higher is better", style="bold"))
    columns = [Column("metric", [printable(metric) for metric, _ in ranked], justify="left")]
    for human in study.aggregate_of:
        values = [decimals(study.of(metric, human).item["pearson"].value) for metric, _ in ranked]
        columns.append(Column(f"r {printable(human, 24)}", values))
    columns.append(Column("aggregate", [decimals(estimate.value) for _, estimate in ranked]))
    columns.append(Column("95 % interval", [bounds_text(estimate) for _, estimate in ranked], drop_order=1))
    print_table(console, columns)


def _pairwise(pairs: Pairwise | None) -> str:
    return decimals(None if pairs is None else pairs.calibrated.value)


def print_preferences(console: Console, study: PreferenceStudy) -> None:
    """How often each metric prefers the text that people prefer, the best first."""
    known = {metric: pairs for metric, pairs in study.pairwise.items() if pairs is not None}
    ranked = sorted(known, key=lambda metric: -known[metric].calibrated.value)
    console.print(Text(f"Preferences of people: {study.judged:,} judged pairs", style="bold"))
    columns = [
        Column("metric", [printable(metric) for metric in ranked], justify="left"),
        Column("accuracy", [estimate_text(known[metric].exact) for metric in ranked]),
        Column("with ties", [estimate_text(known[metric].calibrated) for metric in ranked]),
        Column("ε", [f"{known[metric].epsilon:.3g}" for metric in ranked], drop_order=3),
        Column("systems", [estimate_text(study.systems[metric]) for metric in ranked], drop_order=1),
        Column("pairs", [f"{known[metric].n:,}" for metric in ranked], drop_order=2),
    ]
    if ranked:
        print_table(console, columns)
    for metric in study.metrics:
        if metric not in known:
            note(console, f"{printable(metric)}: not assessed, no judged pair has both scores.")
    ties = max((pairs.ties for pairs in known.values()), default=0.0)
    note(
        console,
        f"Share of pairs that metric and people call alike; people call {ties:.0%} a tie. With ties: differences of at "
        "most ε are a tie of the metric, ε fitted to these pairs (Deutsch et al. 2023). Systems: share of the "
        f"{study.system_pairs} pairs of systems, not even for people, that the metric's mean difference orders alike.",
    )


def _pearson(estimates: Mapping[str, Estimate]) -> str:
    return decimals(estimates["pearson"].value if "pearson" in estimates else None)


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
        lines.append((f"{printable(card.metric)} {arrow(card.higher_is_better)}", card.ladder, card))
        lines += [(f"  {printable(group) or 'no group'}", ladder, None) for group, ladder in card.by_group.items()]
    columns = [Column("metric", [name for name, _, _ in lines], justify="left")]
    columns += [Column(rung, [estimate_text(ladder[rung]) for _, ladder, _ in lines], fold=True) for rung in RUNGS]
    columns.append(
        Column(
            "harmless > error",
            [estimate_text(card.win) if card else "" for _, _, card in lines],
            drop_order=1,
            fold=True,
        )
    )
    blind = [estimate_text(card.blind) if card else "" for _, _, card in lines]
    columns.append(Column("negation blind spot (0 is best)", blind, drop_order=2, fold=True))
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
        note(console, printable(remark, 400))


def _print_card(console: Console, card: Card) -> None:
    console.print(Text(f"{printable(card.metric)} {arrow(card.higher_is_better)}", style="bold"))
    console.print(Text(printable(card.signature, 160), style="dim"))
    drops = list(card.drops)
    starts = [i for i, drop in enumerate(drops) if i == 0 or drop.form != drops[i - 1].form]
    columns = [
        Column("change", [drop.form if i in starts else "" for i, drop in enumerate(drops)], justify="left"),
        Column("kind", [printable(drop.kind, 20) for drop in drops], justify="left"),
        Column("drop %", [decimals(drop.drop.value, 1) for drop in drops]),
        Column("95 % interval", [bounds_text(drop.drop, 1) for drop in drops], drop_order=1),
        Column("drop above margin", [decimals(drop.lower, 2) for drop in drops], drop_order=4),
        Column("paraphrase above", [_above(card, drop) for drop in drops], drop_order=2),
        Column("harmless above", [_won(card, drop) for drop in drops], drop_order=5),
        Column("made", [f"{drop.made:,}" for drop in drops], drop_order=3),
        Column("not made", [f"{drop.not_made:,}" if drop.not_made else "" for drop in drops]),
    ]
    if any(drop.unscored for drop in drops):
        columns.append(Column("unscored", [f"{drop.unscored:,}" for drop in drops]))
    print_table(console, columns, rules=[start - 1 for start in starts[1:]])


def _above(card: Card, drop: Drop) -> str:
    """How often a paraphrase scores above this kind of error."""
    if drop.form not in ("error", "reworded error"):
        return ""
    return estimate_text(card.by_kind.get(drop.kind, {}).get(f"paraphrase > {drop.form}", _NO_PAIR))


def _won(card: Card, drop: Drop) -> str:
    return decimals(card.win_by_kind.get(drop.kind, _NO_PAIR).value) if drop.form == "error" else ""
