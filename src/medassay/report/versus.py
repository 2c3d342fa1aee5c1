"""The page's comparison of systems: who beats whom, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from medassay.report import charts
from medassay.report.charts import number
from medassay.report.sections import Run, Section, direction, group, table

if TYPE_CHECKING:
    from medassay.study import Comparison, Pair

MATRIX = 12
"""Systems up to which the table of who beats whom is drawn."""

PAIRS = MATRIX * (MATRIX - 1) // 2
"""Pairs listed for one metric."""


def versus(run: Run) -> Section | None:
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
    bodies = "".join(_metric(metric, bounds.get(metric), comparison, colours) for metric in comparison.metrics)
    columns = {
        "Pair": "",
        "Difference": "num",
        "95 % interval": "num",
        '<span class="unseen">Drawn about zero</span>': "chart",
        "p (Holm)": "num",
        "Effect d<sub>z</sub>": "num wide",
        "Better / equal / worse": "num wide",
        "Verdict": "",
    }
    pairs = table("versus", columns, bodies)
    beats = _beats(comparison, colours) if 2 < len(comparison.systems) <= MATRIX else ""
    remarks = "".join(f"<li>{escape(note)}</li>" for note in comparison.notes)
    notes = f'<ul class="note notes">{remarks}</ul>' if remarks else ""
    legend = (
        '<p class="note">Differences are the first system minus the second on the items both have. A filled '
        f"point is a difference with a Holm-corrected p below {comparison.alpha:g}; a hollow one is not, which is "
        "not evidence that the systems are equal.</p>"
    )
    headline = f"<p><b>{escape(comparison.headline)}</b></p>"
    return Section("comparison", "System comparison", headline + beats + pairs + legend + notes)


def _metric(
    metric: str,
    bounds: tuple[float | None, float | None] | None,
    comparison: Comparison,
    colours: Mapping[str, int],
) -> str:
    pairs = [pair for pair in comparison.pairs if pair.metric == metric]
    edges = [abs(x) for pair in pairs for x in (pair.difference, pair.low, pair.high) if x is not None]
    reach = max(edges, default=0.0) * 1.08 or 1.0
    ends = charts.limits(bounds, [0.0, reach]) if bounds else (0.0, reach)
    higher = comparison.higher_is_better[metric]
    about = f"{direction(higher)} <span>axis ±{charts.tick_label(float(f'{reach:.2g}'))}</span>"
    rows = "".join(_pair(pair, reach, ends[1] - ends[0], colours) for pair in pairs[:PAIRS])
    if len(pairs) > PAIRS:
        rows += f'<tr><td colspan="8">and {len(pairs) - PAIRS:,} more pairs, listed by medassay compare</td></tr>'
    return group(metric, about, rows)


def _pair(pair: Pair, reach: float, span: float, colours: Mapping[str, int]) -> str:
    names = [
        f"{charts.key(colours[name]) if name in colours else ''} {escape(name)}" for name in (pair.first, pair.second)
    ]
    head = f'<th scope="row">{names[0]} <span class="minus">minus</span> {names[1]}</th>'
    if pair.difference is None:
        return f'<tr>{head}<td colspan="7">not compared: no item has a score from both</td></tr>'
    interval = (
        "none"
        if pair.low is None or pair.high is None
        else f"{number(pair.low, span, sign=True)} to {number(pair.high, span, sign=True)}"
    )
    drawn = charts.difference(pair.difference, pair.low, pair.high, reach, clear=pair.better is not None)
    shares = f"{pair.wins:.0%} / {pair.ties:.0%} / {pair.losses:.0%}".replace("%", " %")
    verdict = f"<b>{escape(pair.better)}</b> is better" if pair.better is not None else "no difference shown"
    change = number(pair.difference, span, sign=True)
    dropped = f"<br><small>{pair.n:,} items, {pair.dropped:,} left out</small>" if pair.dropped else ""
    return (
        f'<tr>{head}<td class="num value">{change}</td><td class="num">{interval}</td>'
        f'<td class="chart">{drawn}</td><td class="num p">{chance(pair.p_holm)}</td>'
        f'<td class="num wide">{number(pair.d_z, 100.0, sign=True)}</td><td class="num wide">{shares}</td>'
        f'<td class="verdict">{verdict}{dropped}</td></tr>'
    )


def chance(p: float | None) -> str:
    """A p-value as written on the page: never 0, never more digits than it deserves.

    >>> chance(0.00004), chance(0.0312), chance(None)
    ('&lt; 0.001', '0.031', '–')
    """
    if p is None:
        return "–"
    return "&lt; 0.001" if p < 0.001 else f"{p:.3f}"


def _beats(comparison: Comparison, colours: Mapping[str, int]) -> str:
    """Row against column: on how many metrics the row's system is shown to be better, and worse."""
    systems = comparison.systems
    columns = {'<span class="unseen">System</span>': ""} | {_name(system, colours): "" for system in systems}
    rows = ""
    for row in systems:
        cells = "".join(_cell(row, column, comparison.pairs) for column in systems)
        rows += f'<tr><th scope="row">{_name(row, colours)}</th>{cells}</tr>'
    caption = "<caption>On how many metrics the row’s system is shown to be better or worse than the column’s</caption>"
    return table("matrix", columns, f"<tbody>{rows}</tbody>", caption)


def _name(system: str, colours: Mapping[str, int]) -> str:
    return f"{charts.key(colours[system]) if system in colours else ''} {escape(system)}"


def _cell(row: str, column: str, pairs: Sequence[Pair]) -> str:
    if row == column:
        return "<td>·</td>"
    verdicts = [pair.better for pair in pairs if {pair.first, pair.second} == {row, column}]
    better, worse = verdicts.count(row), verdicts.count(column)
    if not better and not worse:
        return "<td>none shown</td>"
    css = "yes" if better > worse else "no" if worse > better else ""
    words = [f"better on {better}"] * (better > 0) + [f"worse on {worse}"] * (worse > 0)
    return f'<td class="{css}">{", ".join(words)}</td>'
