"""A stress test on a page: the ladder of every metric, drops side by side, examples of the changed texts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from medassay.report.sections import Section, direction, table
from medassay.report.study_page import HEAT, provenance_section, shaded_cell
from medassay.study import FORMS, RUNGS, Card, Drop, Estimate, Stress, kinds


def stress_sections(test: Stress) -> list[Section]:
    """The sections, in reading order."""
    provenance = provenance_section(test.notes, {card.metric: card.signature for card in test.cards})
    return [_ladder(test.cards, test.margin), _drops(test.cards), _kinds(test.cards), _examples(test), provenance]


def _rate(rate: Estimate, *, best: float = 1.0) -> str:
    """A cell from orange (0.5 or worse) to blue (right in every pair)."""
    right = rate.value if best else 1.0 - rate.value
    return shaded_cell(rate, 2 * right - 1, 3, title=f"{rate.n:,} pairs")


def _named(card: Card) -> str:
    return f'<th scope="row">{escape(card.metric)} <small>{direction(card.higher_is_better)}</small></th>'


def _ladder(cards: Sequence[Card], margin: float) -> Section:
    columns = {"Metric": ""} | {escape(rung): "" for rung in RUNGS} | {"harmless &gt; error": ""}
    columns |= {"negation blind spot": ""}
    rows = ""
    for card in cards:
        cells = "".join(_rate(card.ladder[rung]) for rung in RUNGS)
        rows += f"<tr>{_named(card)}{cells}{_rate(card.win)}{_rate(card.blind, best=0.0)}</tr>"
        for group, ladder in card.by_group.items():
            cells = "".join(_rate(ladder[rung]) for rung in RUNGS)
            rows += (
                f'<tr><th scope="row"><small>{escape(group or "no group")}</small></th>{cells}<td></td><td></td></tr>'
            )
    note = (
        '<p class="note">Share of pairs of texts of one reference that stand in the right order, with 95 % intervals '
        "over references; 1 is best, one half is chance. One stands above the other where it scores higher by more "
        f"than {100 * margin:g} % of the metric’s range. The blind spot is the share of negated texts that score no "
        "lower than a harmless change: 0 is best. All rungs count: each alone can be won by a shortcut.</p>"
    )
    return Section("ladder", "The ladder", table("heat", columns, f"<tbody>{rows}</tbody>") + note, style=HEAT)


def _drops(cards: Sequence[Card]) -> Section:
    lines = cards[0].drops if cards else ()
    columns = {"Change": "", "Made": "num", "Not made": "num"} | {escape(card.metric): "" for card in cards}
    bodies, form = "", ""
    for i, line in enumerate(lines):
        if line.form != form:
            form = line.form
            bodies += (
                f'<tr class="metric"><th scope="rowgroup" colspan="{3 + len(cards)}"><b>{escape(form)}</b></th></tr>'
            )
        cells = "".join(_drop(card.drops[i]) for card in cards)
        missed = f"{line.not_made:,}" if line.not_made else ""
        bodies += f'<tr><th scope="row">{escape(line.kind)}</th><td>{line.made:,}</td><td>{missed}</td>{cells}</tr>'
    note = (
        '<p class="note">Mean loss against the copy, in % of the metric’s range (of the copy’s score where it has '
        "none), with 95 % intervals over references, and the share of texts with a drop above the "
        "margin. A change that found nothing to change in a text is not made: it "
        "counts nowhere. Blue: a loss where one is due; orange: where none is.</p>"
    )
    return Section("drops", "Drop in %", table("heat", columns, f"<tbody>{bodies}</tbody>") + note)


def _drop(drop: Drop) -> str:
    unscored = f"<small>{drop.unscored:,} unscored</small>" if drop.unscored else ""
    harmful = drop.form in ("error", "reworded error", "unrelated")
    size = min(1.0, abs(drop.drop.value) / 50.0)
    share = f"<small>{drop.lower:.0%} above the margin</small>".replace("%", " %") if drop.drop.known else ""
    return shaded_cell(drop.drop, size if harmful else -size, 1, 1, more=share + unscored)


def _kinds(cards: Sequence[Card]) -> Section:
    rungs = ("paraphrase > error", "paraphrase > reworded error", "copy > error")
    columns = {"Kind of error": ""} | {escape(rung): "" for rung in rungs} | {"harmless &gt; error": ""}
    bodies = ""
    for card in cards:
        head = f'<th scope="rowgroup" colspan="5"><b>{escape(card.metric)}</b></th>'
        rows = ""
        for kind, by_rung in card.by_kind.items():
            cells = "".join(_rate(by_rung[rung]) for rung in rungs)
            rows += f'<tr><th scope="row">{escape(kind)}</th>{cells}{_rate(card.win_by_kind[kind])}</tr>'
        bodies += f'<tbody><tr class="metric">{head}</tr>{rows}</tbody>'
    return Section("kinds", "By kind of error", table("heat", columns, bodies))


def _examples(test: Stress) -> Section:
    """One text of each kind, so that a reader sees what was done."""
    rows = ""
    known = kinds()
    for form in FORMS:
        seen: set[str] = set()
        for original in test.material.originals:
            for variant in original.variants:
                if variant.form != form or variant.kind in seen or form in ("copy", "unrelated"):
                    continue
                seen.add(variant.kind)
                what = known[variant.kind].what if variant.kind in known else variant.origin
                rows += (
                    f'<tr><th scope="row">{escape(form)}: {escape(variant.kind)}<br><small>{escape(what)}</small></th>'
                    f"<td>{escape(original.text[:400])}</td><td>{escape(variant.text[:400])}</td></tr>"
                )
    columns = {"Change": "", "Reference": "", "Changed": ""}
    return Section("examples", "An example of each", table("plain", columns, f"<tbody>{rows}</tbody>"))
