"""The sections of a report page, each a function from the run to a piece of HTML.

To add a section (an entity graph, slide thumbnails, a heat map), pass a function `(Run) -> Section | None` to
`PageWriter(sections=[…])`:

    def lengths(run: Run) -> Section | None:
        rows = "".join(f"<li>{escape(name or 'all')}: {n}</li>" for name, n in run.cases_by_system.items())
        return Section("lengths", "Cases per system", f"<ul>{rows}</ul>")

Markup is trusted, so every text in it must go through `html.escape`. The page's policy allows no style
attribute and no inline handler: looks go into `style`, behaviour into `script`, numbers for the script
into `data`. Scripts hear `medassay:ready` (detail: all data of the page; the section's own under
`sections[name]`) and `medassay:case` (detail: `case`, `panel`; the panel is emptied for each case).
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from medassay import __version__
from medassay.metrics.base import Metric
from medassay.report import charts
from medassay.report.charts import Floats, limits, number, tick_label, window

if TYPE_CHECKING:
    from medassay.study.significance import Comparison
    from medassay.study.summary import Aggregate

REASONS = 20
"""Reasons, or problem rows, listed at most; the rest is counted."""

DRAWN = 24
"""Systems drawn at most in the distributions; the summary table has them all."""

FOLD = 30
"""Rows of a section beyond which its metrics fold, each to one line."""

FIGURES = 3
"""Figures that stay unfolded where a section folds."""


@dataclass(frozen=True)
class Run:
    """What a section can draw: figures over all cases, not only over those the page carries."""

    title: str
    metrics: Sequence[Metric]
    aggregates: Sequence[Aggregate]
    comparison: Comparison | str | None
    """The comparison of systems, or why there is none; None where there is only one system."""
    values: Mapping[tuple[str, str], Floats]
    """Per-case values, input order, by metric and system (`""` where a case names no system)."""
    cases_by_system: Mapping[str, int]
    reasons: Mapping[str, Mapping[str, int]]
    """Why cases are unscored: metric, reason, how many."""
    failures: Mapping[str, Mapping[str, int]]
    """How metrics failed: metric, error, on how many cases."""
    problems: Sequence[str]
    problem_count: int
    settings: Mapping[str, Any]
    warnings: Sequence[str] = ()

    @property
    def systems(self) -> list[str]:
        """Systems in order of first appearance."""
        return list(self.cases_by_system)

    @property
    def cases(self) -> int:
        """Cases in the run."""
        return sum(self.cases_by_system.values())

    def metric(self, name: str) -> Metric:
        """The metric of that name."""
        return next(metric for metric in self.metrics if metric.name == name)


@dataclass(frozen=True)
class Section:
    """One section of the page. `name` is its anchor: lower-case letters, digits and hyphens."""

    name: str
    title: str
    html: str
    data: Any = None
    script: str = ""
    style: str = ""


SectionMaker = Callable[[Run], Section | None]


@cache
def asset(name: str) -> str:
    """A script, style sheet or template of the page."""
    return files("medassay.report").joinpath("assets", name).read_text(encoding="utf-8")


def content_hash(text: str) -> str:
    """The hash by which a content security policy admits a script or style sheet."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def section_html(section: Section) -> str:
    """A section with its heading."""
    name = section.name
    return (
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{escape(section.title)}</h2>'
        f"{section.html}</section>\n"
    )


def direction(higher_is_better: bool) -> str:
    """An arrow with its meaning spelled out for those who cannot see it."""
    words = "higher is better" if higher_is_better else "lower is better"
    return f'<span><span aria-hidden="true">{"↑" if higher_is_better else "↓"}</span> {words}</span>'


def table(css: str, columns: Mapping[str, str], bodies: str, caption: str = "") -> str:
    """A table that scrolls by itself where it is too wide. `columns`: heading (markup), and its class.

    On a phone its rows are drawn as blocks; each cell then bears its heading.
    """
    heads = "".join(f'<th scope="col" class="{kind}">{name}</th>' for name, kind in columns.items())
    titles = [_MARKUP.sub("", name) for name in columns]
    bodies = _ROW.sub(lambda row: _titled(row.group(), titles), bodies)
    inner = f"{caption}<thead><tr>{heads}</tr></thead>{bodies}"
    return f'<div class="scroll"><table class="{css}">{inner}</table></div>'


_ROW = re.compile(r"<tr\b.*?</tr>", re.DOTALL)
_MARKUP = re.compile(r'<span class="unseen">.*?</span>|<.*?>')


def _titled(row: str, titles: Sequence[str]) -> str:
    """A row whose cells say which column they are of. Text in markup is escaped, so every `<td` is a cell."""
    first, *cells = re.split(r"(?=<t[dh]\b)", row)
    if len(cells) != len(titles):
        return row
    named = [
        cell if "data-title=" in cell else f'{cell[:3]} data-title="{title}"{cell[3:]}'
        for cell, title in zip(cells, titles)
    ]
    return first + "".join(named)


@dataclass(frozen=True)
class MetricRows:
    """The rows of one metric. about: what its scale is; folded: what is said of it while it is folded (both markup)."""

    metric: str
    about: str
    rows: Sequence[str]
    folded: str


def grouped(css: str, columns: Mapping[str, str], groups: Sequence[MetricRows]) -> str:
    """Rows by metric: one table or, where they are many, a fold for each metric (the first open if it is short)."""
    heads = [f"<b>{escape(group.metric)}</b> <small>{group.about}</small>" for group in groups]
    bodies = ["".join(group.rows) for group in groups]
    if sum(len(group.rows) for group in groups) <= FOLD:
        head = f'<tr class="metric"><th scope="rowgroup" colspan="{len(columns)}">'
        return table(css, columns, "".join(f"<tbody>{head}{a}</th></tr>{b}</tbody>" for a, b in zip(heads, bodies)))
    return "".join(
        fold(
            f"{head} <span>{group.folded}</span>",
            table(css, columns, f"<tbody>{body}</tbody>"),
            opened=i == 0 and len(group.rows) <= FOLD // 2,
        )
        for i, (group, head, body) in enumerate(zip(groups, heads, bodies))
    )


def fold(line: str, inner: str, *, opened: bool = False) -> str:
    """Markup behind one line, unfolded on demand."""
    return f'<details class="fold"{" open" if opened else ""}><summary>{line}</summary>{inner}</details>'


def system_name(system: str, colours: Mapping[str, int], before: int | str = "") -> str:
    """A system's marker and name; a long name may break after the signs that join its words."""
    mark = f'<span class="before">{before}</span>' if before else ""
    mark += charts.key(colours[system]) if system in colours else ""
    return f'<span class="system">{mark}<span>{breakable(system or "no system")}</span></span>'


def breakable(name: str) -> str:
    """An escaped name with marks where a line may break."""
    return re.sub(r"([_/.=])(?=\w)", r"\1<wbr>", escape(name))


def summary(run: Run) -> Section:
    """Each metric's aggregate with its interval, for every group."""
    names = list(dict.fromkeys(row.group for row in run.aggregates))
    several = len(names) > 1
    failed = any(row.failed for row in run.aggregates)
    groups = []
    for metric in run.metrics:
        rows = [row for row in run.aggregates if row.metric == metric.name]
        shown = [x for row in rows for x in (row.value, row.low, row.high) if x is not None]
        whole = limits(metric.bounds, shown)
        ends = window(whole, shown)
        about = f"{direction(metric.higher_is_better)} <span>{_scale(metric.bounds)}</span>"
        if ends != metric.bounds:
            about += f" <span>drawn from {tick_label(ends[0])} to {tick_label(ends[1])}</span>"
        span = whole[1] - whole[0]
        lines = [
            _summary_row(row, ends, span, _system_index(row.group, names, run.systems), several, failed) for row in rows
        ]
        groups.append(MetricRows(metric.name, about, lines, _best(rows, span, metric.higher_is_better)))
    columns = {
        "System" if several else "Cases": "name",
        "Value": "num value",
        "95 % interval": "num interval",
        '<span class="unseen">Drawn on the metric’s scale</span>': "chart",
        "Median": "num wide",
        "SD": "num wide",
        "Scored": "num count",
        "Unscored": "num count",
        **({"Failed": "num count"} if failed else {}),
    }
    note = (
        '<p class="note">The value is over scored cases alone. Intervals are 95 % studentised bootstrap '
        "intervals that resample whole groups of cases, so that several systems on one case do not count as several "
        "cases; with fewer than three groups, or where all have the same value, none is given.</p>"
    )
    return Section("summary", "Summary", grouped("summary", columns, groups) + note)


def _best(rows: Sequence[Aggregate], span: float, higher: bool) -> str:
    """The best group of a metric, for its folded line."""
    known = [row for row in rows if row.n]
    if not known:
        return "no scored case"
    best = (max if higher else min)(known, key=lambda row: row.value)
    return f"best {number(best.value, span)} <em>{breakable(best.group or 'no system')}</em>"


def _system_index(group: str | None, groups: Sequence[str | None], systems: Sequence[str]) -> int:
    """A group's colour and shape: its system's, or its rank where groups are not systems."""
    return systems.index(group) if group in systems else groups.index(group)


def _scale(bounds: tuple[float | None, float | None]) -> str:
    """A metric's possible values, in words."""
    low, high = bounds
    if low is not None and high is not None:
        return f"{tick_label(low)} to {tick_label(high)}"
    if low is not None:
        return f"{tick_label(low)} or more"
    return f"{tick_label(high)} or less" if high is not None else "no bounds"


def _summary_row(
    row: Aggregate, ends: tuple[float, float], span: float, index: int, several: bool, failed: bool
) -> str:
    name = row.group or ("no system" if several else "all cases")
    values = value_cells(row.value, row.low, row.high, ends, span, index)
    counts = f'<td class="num count" data-title="scored">{row.n:,}</td>{_count("unscored", row.unscored)}'
    return (
        f'<tr><th scope="row">{system_name(name, {name: index})}</th>{values}'
        f'<td class="num wide">{number(row.median, span)}</td><td class="num wide">{number(row.sd, span)}</td>'
        f"{counts}{_count('failed', row.failed) if failed else ''}</tr>"
    )


def value_cells(
    value: float, low: float | None, high: float | None, ends: tuple[float, float], span: float, index: int
) -> str:
    """A value, its interval and their picture as cells of a table."""
    interval = "none" if low is None or high is None else f"{number(low, span)} to {number(high, span)}"
    return (
        f'<td class="num value">{number(value, span)}</td><td class="num interval">{interval}</td>'
        f'<td class="chart">{charts.whisker(value, low, high, ends, index)}</td>'
    )


def _count(title: str, count: int) -> str:
    inner = f'<a href="#unscored">{count:,}</a>' if count else "0"
    return f'<td class="num count{"" if count else " zero"}" data-title="{title}">{inner}</td>'


def distributions(run: Run) -> Section | None:
    """A histogram of per-case values for each metric and system, on one axis per metric."""
    drawn = run.systems[:DRAWN]
    figures = []
    for metric in run.metrics:
        values = {system: run.values[metric.name, system] for system in drawn}
        if not any(len(column) for column in values.values()):
            continue
        extremes = [edge for column in values.values() for edge in edges(column)]
        whole = limits(metric.bounds, extremes)
        rows = [(system, i, values[system]) for i, system in enumerate(drawn)]
        picture = charts.histograms(rows, window(whole, extremes), whole[1] - whole[0], metric.name)
        figures.append(f"<figure><figcaption>{escape(metric.name)}</figcaption>{picture}</figure>")
    if not figures:
        return None
    more = len(run.systems) - len(drawn)
    note = f'<p class="note">The first {DRAWN} systems; {more:,} more are in the summary.</p>' if more else ""
    shown = figures if len(figures) * len(drawn) <= FOLD else figures[:FIGURES]
    html = f'<div class="figures">{"".join(shown)}</div>'
    if len(shown) < len(figures):
        rest = f'<div class="figures">{"".join(figures[len(shown) :])}</div>'
        html += fold(f"<b>{len(figures) - len(shown)} more metrics</b>", rest)
    legend = (
        '<p class="note">Cases by value; bars of one strip are scaled to its fullest bin, the line is the median'
        f", and strips of up to {charts.RUG} cases show each case as a tick.</p>"
    )
    return Section("distributions", "Distributions", html + legend + note)


def edges(values: Floats) -> tuple[float, ...]:
    """The least and the largest value; nothing where there is none."""
    return (float(values.min()), float(values.max())) if len(values) else ()


def warnings(run: Run) -> Section | None:
    """What a reader must know before the numbers."""
    if not run.warnings:
        return None
    items = "".join(f"<li>{escape(text)}</li>" for text in run.warnings)
    return Section("warnings", "Warnings", f'<ul class="notes">{items}</ul>')


def unscored(run: Run) -> Section | None:
    """Which cases have no number, and why; on which a metric failed; which rows had problems."""
    parts = []
    if any(run.failures.values()):
        parts.append(f"<h3>Failed</h3>{_reason_table(run, run.failures, 'Error')}")
    if any(run.reasons.values()):
        parts.append(_reason_table(run, run.reasons, "Reason"))
    if run.problem_count:
        items = "".join(f"<li>{escape(problem)}</li>" for problem in run.problems[:REASONS])
        hidden = run.problem_count - min(len(run.problems), REASONS)
        if hidden > 0:
            items += f"<li>and {hidden:,} more</li>"
        parts.append(f"<h3>Rows with problems: {run.problem_count:,}</h3><ul>{items}</ul>")
    if not parts:
        return None
    note = (
        '<p class="note">An unscored case has no number at all; it never counts as zero. A metric that failed on a '
        "case broke on it: that says nothing of the text.</p>"
    )
    title = "Unscored and failed" if any(run.failures.values()) else "Unscored"
    return Section("unscored", title, "".join(parts) + note)


def _reason_table(run: Run, reasons: Mapping[str, Mapping[str, int]], heading: str) -> str:
    """How many cases have no number for which reason, metric by metric."""
    rows = []
    for metric in run.metrics:
        listed = sorted(reasons.get(metric.name, {}).items(), key=lambda pair: (-pair[1], pair[0]))
        rest = sum(count for _, count in listed[REASONS:])
        name = f'<th scope="row">{escape(metric.name)}</th>'
        for reason, count in listed[:REASONS] + [("other reasons", rest)] * (rest > 0):
            rows.append(f'<tr>{name}<td>{escape(reason)}</td><td class="num">{count:,}</td></tr>')
    return table("plain snug", {"Metric": "", heading: "", "Cases": "num"}, f"<tbody>{''.join(rows)}</tbody>")


def provenance(run: Run) -> Section:
    """What made the numbers: signatures, settings, version."""
    rows = "".join(
        f'<tr><th scope="row">{escape(metric.name)}</th><td>{escape(metric.summary)}<br>'
        f"<code>{escape(str(metric.signature))}</code></td><td>{escape(metric.defined)}</td></tr>"
        for metric in run.metrics
    )
    columns = {"Metric": "", "What it measures, and its signature": "", "Defined in": ""}
    settings = {"medassay": __version__, **run.settings}
    listed = "".join(f"<div><dt>{escape(str(k))}</dt><dd>{escape(str(v))}</dd></div>" for k, v in settings.items())
    signatures = table("plain made", columns, f"<tbody>{rows}</tbody>")
    return Section("made", "How it was made", f'{signatures}<dl class="facts">{listed}</dl>')
