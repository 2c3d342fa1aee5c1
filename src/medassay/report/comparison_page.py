"""A comparison of systems on a page: which system is better, by how much, and with what certainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from medassay.report import charts
from medassay.report.charts import number
from medassay.report.comparison_terminal import leaderboard_notes
from medassay.report.sections import (
    MetricRows,
    Run,
    Section,
    breakable,
    direction,
    grouped,
    system_name,
    table,
    value_cells,
)
from medassay.report.study_page import provenance_section, study_html

if TYPE_CHECKING:
    from medassay.study import Comparison, Pair

MATRIX = 12
"""Systems up to which the table of who beats whom is drawn."""

PAIRS = MATRIX * (MATRIX - 1) // 2
"""Pairs listed for one metric."""


def system_comparison(run: Run) -> Section | None:
    """Differences between systems on the same items; where there is no comparison, why."""
    comparison = run.comparison
    if comparison is None:
        return None
    if isinstance(comparison, str):
        return Section("comparison", "System comparison", f"<p>Not compared: {escape(comparison)}</p>")
    colours = {system: i for i, system in enumerate(run.systems)}
    return comparison_section(comparison, colours, {metric.name: metric.bounds for metric in run.metrics})


def comparison_section(
    comparison: Comparison,
    colours: Mapping[str, int],
    bounds: Mapping[str, tuple[float | None, float | None]],
) -> Section:
    """Who beats whom on how many metrics, then every pair with its interval drawn.

    Args:
        colours: number of each system's colour.
        bounds: lowest and highest value of the metrics that are known.
    """
    several = len(comparison.systems) > 2
    groups = [_group(metric, bounds.get(metric), comparison, colours) for metric in comparison.metrics]
    columns = {
        "Pair" if several else "Metric": "name",
        "Difference": "num value",
        "95 % interval": "num interval",
        '<span class="unseen">Drawn about zero</span>': "chart",
        "p (Holm)": "num count",
        "Effect d<sub>z</sub>": "num wide",
        "Better / equal / worse": "num wide shares",
        "Verdict": "verdict",
    }
    if several:
        pairs = grouped("versus", columns, groups)
        before = _beats(comparison, colours) if len(comparison.systems) <= MATRIX else ""
    else:
        pairs = table("versus", columns, f"<tbody>{''.join(row for group in groups for row in group.rows)}</tbody>")
        before = f'<p class="pair">{_minus(comparison.systems[0], comparison.systems[1], colours)}</p>'
    remarks = "".join(f"<li>{escape(note)}</li>" for note in comparison.notes)
    notes = f'<ul class="note notes">{remarks}</ul>' if remarks else ""
    legend = (
        '<p class="note">Differences are the first system minus the second on the items both have. A filled '
        f"point is a difference with a Holm-corrected p below {comparison.alpha:g}; a hollow one is not, which is "
        "not evidence that the systems are equal.</p>"
    )
    headline = f"<p><b>{escape(comparison.headline)}</b></p>"
    return Section("comparison", "System comparison", headline + before + pairs + legend + notes)


def _group(
    metric: str,
    bounds: tuple[float | None, float | None] | None,
    comparison: Comparison,
    colours: Mapping[str, int],
) -> MetricRows:
    """The pairs of one metric, on one axis."""
    pairs = [pair for pair in comparison.pairs if pair.metric == metric]
    edges = [abs(x) for pair in pairs for x in (pair.difference, pair.low, pair.high) if x is not None]
    reach = max(edges, default=0.0) * 1.08 or 1.0
    ends = charts.limits(bounds, [0.0, reach]) if bounds else (0.0, reach)
    higher = comparison.higher_is_better[metric]
    about = f"{direction(higher)} <span>axis ±{charts.tick_label(float(f'{reach:.2g}'))}</span>"
    alone = f"<b>{breakable(metric)}</b> <small>{about}</small>" if len(comparison.systems) == 2 else ""
    rows = [_pair(pair, reach, ends[1] - ends[0], colours, alone) for pair in pairs[:PAIRS]]
    if len(pairs) > PAIRS:
        more = f"and {len(pairs) - PAIRS:,} more pairs, listed by medassay compare"
        rows.append(f'<tr><td colspan="8">{more}</td></tr>')
    clear = sum(pair.better is not None for pair in pairs)
    return MetricRows(metric, about, rows, f"a difference shown in {clear:,} of {len(pairs):,} pairs")


def _minus(first: str, second: str, colours: Mapping[str, int]) -> str:
    return f"{system_name(first, colours)} {system_name(second, colours, 'minus')}"


def _pair(pair: Pair, reach: float, span: float, colours: Mapping[str, int], name: str) -> str:
    head = f'<th scope="row">{name or _minus(pair.first, pair.second, colours)}</th>'
    if pair.difference is None:
        return f'<tr>{head}<td colspan="7">not compared: no item has a score from both</td></tr>'
    interval = (
        "none"
        if pair.low is None or pair.high is None
        else f"{number(pair.low, span, sign=True)} to {number(pair.high, span, sign=True)}"
    )
    drawn = charts.difference(pair.difference, pair.low, pair.high, reach, clear=pair.better is not None)
    shares = f"{pair.wins:.0%} / {pair.ties:.0%} / {pair.losses:.0%}".replace("%", " %")
    verdict = "no difference shown"
    if pair.better is not None:
        name = escape(charts.short(pair.better, 16))
        verdict = f'<b title="{escape(pair.better)}">{name}</b> is better'
    change = number(pair.difference, span, sign=True)
    dropped = f"<br><small>{pair.n:,} items, {pair.dropped:,} left out</small>" if pair.dropped else ""
    return (
        f'<tr>{head}<td class="num value">{change}</td><td class="num interval">{interval}</td>'
        f'<td class="chart">{drawn}</td><td class="num count" data-title="p">{p_text(pair.p_holm)}</td>'
        f'<td class="num wide">{number(pair.d_z, 100.0, sign=True)}</td><td class="num wide shares">{shares}</td>'
        f'<td class="verdict">{verdict}{dropped}</td></tr>'
    )


def p_text(p: float | None) -> str:
    """A p-value as written on the page: never 0, never more digits than it deserves.

    >>> p_text(0.00004), p_text(0.0312), p_text(None)
    ('&lt; 0.001', '0.031', '–')
    """
    if p is None:
        return "–"
    return "&lt; 0.001" if p < 0.001 else f"{p:.3f}"


def _beats(comparison: Comparison, colours: Mapping[str, int]) -> str:
    """Row against column: on how many metrics the row's system is shown to be better, and worse.

    Columns are headed by the numbers that the rows bear: names of any length would not fit.
    """
    systems = comparison.systems
    marks = [f"{charts.key(colours[name]) if name in colours else ''}{i}" for i, name in enumerate(systems, 1)]
    heads = {f'<span class="unseen">{escape(name)}</span>{mark}': "" for name, mark in zip(systems, marks)}
    rows = ""
    for i, row in enumerate(systems, 1):
        cells = "".join(_cell(row, column, j, comparison.pairs) for j, column in enumerate(systems, 1))
        rows += f'<tr><th scope="row">{system_name(row, colours, i)}</th>{cells}</tr>'
    caption = "<caption>On how many metrics the row’s system is shown to be better or worse than the column’s</caption>"
    columns = {'<span class="unseen">System</span>': "name", **heads}
    return table("matrix", columns, f"<tbody>{rows}</tbody>", caption)


def _cell(row: str, column: str, number: int, pairs: Sequence[Pair]) -> str:
    if row == column:
        return '<td class="self">·</td>'
    verdicts = [pair.better for pair in pairs if {pair.first, pair.second} == {row, column}]
    better, worse = verdicts.count(row), verdicts.count(column)
    css = "yes" if better > worse else "no" if worse > better else ""
    words = [f"{better} better"] * (better > 0) + [f"{worse} worse"] * (worse > 0) or ["none shown"]
    return f'<td class="{css}" data-title="{number}">{"<br>".join(words)}</td>'


def comparison_html(comparison: Comparison) -> str:
    """The page of `medassay compare`: the leaderboard, every pair of systems, and the signatures."""
    facts = [f"{len(comparison.systems)} systems", f"{comparison.items:,} items", f"metrics: {len(comparison.metrics)}"]
    colours = {system: i for i, system in enumerate(comparison.systems)}
    sections: list[Section] = [
        _board_section(comparison, colours),
        comparison_section(comparison, colours, {}),
        provenance_section((), comparison.signatures),
    ]
    return study_html("Comparison of systems", facts, sections)


def _board_section(comparison: Comparison, colours: Mapping[str, int]) -> Section:
    """The leaderboard on a page: metric by metric, the ranking one first, with every interval drawn."""
    groups = []
    for metric in sorted(comparison.metrics, key=lambda name: name != comparison.ranking_metric):
        values = comparison.values[metric]
        shown = [x for v in values.values() if v.known for x in (v.value, v.low, v.high) if x is not None]
        whole = charts.limits((None, None), shown)
        ends = charts.window(whole, shown)
        systems = comparison.ranked(metric)
        rows = [_board_row(comparison, metric, system, ends, colours) for system in systems]
        about = f"{direction(comparison.higher_is_better[metric])} <span>drawn from {charts.tick_label(ends[0])} to "
        folded = f"best {charts.number(values[systems[0]].value, ends[1])} <em>{breakable(systems[0])}</em>"
        groups.append(MetricRows(metric, f"{about}{charts.tick_label(ends[1])}</span>", rows, folded))
    columns = {
        "System": "name",
        "Value": "num value",
        "95 % interval": "num interval",
        '<span class="unseen">Drawn</span>': "chart",
        "Shown to be better": "verdict",
    }
    notes = "".join(f"<li>{escape(note)}</li>" for note in leaderboard_notes(comparison))
    html = f'{grouped("summary", columns, groups)}<ul class="note notes">{notes}</ul>'
    return Section("leaderboard", "Leaderboard", html)


def _board_row(
    comparison: Comparison, metric: str, system: str, ends: tuple[float, float], colours: Mapping[str, int]
) -> str:
    value, beaten = comparison.values[metric][system], comparison.beaten(metric, system)
    better = f"{beaten} other{'s' if beaten > 1 else ''}" if beaten else "none *"
    cells = value_cells(value.value, value.low, value.high, ends, ends[1], colours[system])
    return f'<tr><th scope="row">{system_name(system, colours)}</th>{cells}<td class="verdict">{better}</td></tr>'
