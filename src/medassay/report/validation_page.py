"""A validation study on a page: heat map, tests between metrics, scatter plots with a regression line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html import escape

import numpy as np

from medassay.report import charts
from medassay.report.comparison_page import p_text
from medassay.report.sections import Section, table
from medassay.report.study_page import HEAT, minus, provenance_section, shaded_cell
from medassay.study import Agreement, CrossData, Estimate, Validation, cross_data

PLOTS = 12
"""Scatter plots per human column at most: the metrics that agree best."""

POINTS = 3000
"""Points drawn in one plot at most, taken at even steps; figures are over all."""

_SCATTER = (
    "svg .dot { opacity: 0.45; } svg .band { fill: var(--soft); opacity: 0.18; }"
    " svg .line { stroke: var(--ink); stroke-width: 1.6; fill: none; } .scatter { width: 100%; height: auto; }"
)


def validation_sections(study: Validation) -> list[Section]:
    """The sections, in reading order."""
    sections = [_heat(study), _levels(study)]
    if study.rivals:
        sections.append(_rivals(study))
    return [*sections, _scatter(study), provenance_section(study.notes, study.signatures)]


def study_sections(studies: Mapping[str, Validation]) -> list[Section]:
    """The sections of one study; of several the average first, then those of each under its name."""
    if len(studies) == 1:
        return validation_sections(next(iter(studies.values())))
    sections = [_cross(cross_data(studies))]
    for i, (name, study) in enumerate(studies.items(), 1):
        for section in validation_sections(study):
            sections.append(replace(section, name=f"{section.name}-{i}", title=f"{name}: {section.title}"))
    return sections


def _cross(study: CrossData) -> Section:
    """The correlations averaged over data sets."""
    columns = {"Metric": ""} | {f"{escape(h)} {_arrow(study.higher[h])}": "" for h in study.humans}
    columns |= {"Aggregate": ""} if study.aggregates else {}
    rows = ""
    for metric in study.ranked():
        cells = ""
        for human in study.humans:
            value = study.averages.get((metric, human))
            sign = 1.0 if study.higher[metric] == study.higher[human] else -1.0
            cells += "<td>–</td>" if value is None else shaded_cell(Estimate(value), sign * value)
        if study.aggregates:
            total = study.aggregates.get(metric)
            cells += "<td>–</td>" if total is None else shaded_cell(Estimate(total), total)
        rows += f'<tr><th scope="row">{escape(metric)} {_arrow(study.higher[metric])}</th>{cells}</tr>'
    note = (
        f'<p class="note">{study.coefficient.capitalize()} correlation, unweighted mean over the data sets that '
        f"have the column: {escape(', '.join(study.data))}. Aggregate: ¼(2 r_F1 − r_H − r_O) of the averages.</p>"
    )
    return Section(
        "cross", "Average over data sets", table("heat", columns, f"<tbody>{rows}</tbody>") + note, style=HEAT
    )


def _heat(study: Validation) -> Section:
    best = {human: study.ranked(human)[0].metric for human in study.humans}
    aggregates = study.aggregates
    columns = {"Metric": ""} | {_head(study, human): "" for human in study.humans}
    columns |= {"Aggregate": ""} if aggregates else {}
    rows = ""
    for metric in _sorted(study):
        cells = "".join(_cell(study.of(metric, human), study.coefficient, best[human]) for human in study.humans)
        if aggregates:
            estimate = aggregates.get(metric)
            cells += "<td>–</td>" if estimate is None else shaded_cell(estimate, estimate.value)
        rows += f'<tr><th scope="row">{escape(metric)} {_arrow(study.higher[metric])}</th>{cells}</tr>'
    note = (
        f'<p class="note">{study.coefficient.capitalize()} correlation over all cases, with its 95 % interval. Blue: '
        "agrees with people, orange: goes against them; the sign is as measured, so that for a human column marked ↓ a "
        "good metric is negative. Outlined: the best of a column. Sorted by the aggregate, or by the mean "
        "agreement where there is none."
    )
    if aggregates:
        f1, h, o = (escape(name) for name in study.aggregate_of)
        note += f" Aggregate: ¼(2 r({f1}) − r({h}) − r({o})), Pearson, turned for lower-is-better metrics."
    return Section("heat", "Agreement", table("heat", columns, f"<tbody>{rows}</tbody>") + note + "</p>", style=HEAT)


def _sorted(study: Validation) -> list[str]:
    """The metrics by their aggregate, or by their mean agreement over the human columns; the best first."""

    def strength(metric: str) -> float:
        if metric in study.aggregates:
            return study.aggregates[metric].value
        known = [study.of(metric, human).strength(study.coefficient) for human in study.humans]
        return float(np.mean([value for value in known if value > -2.0] or [-2.0]))

    return sorted(study.metrics, key=lambda metric: -strength(metric))


def _arrow(higher: bool) -> str:
    words = "higher is better" if higher else "lower is better"
    return f'<span title="{words}" aria-label="{words}">{"↑" if higher else "↓"}</span>'


def _head(study: Validation, human: str) -> str:
    return f"{escape(human)} {_arrow(study.higher[human])}"


def _cell(agreement: Agreement, name: str, best: str) -> str:
    if agreement.reason:
        return f'<td title="{escape(agreement.reason)}">not assessed</td>'
    css = "best" if agreement.metric == best else ""
    return shaded_cell(agreement.item[name], agreement.strength(name), css=css)


def _two(value: float) -> str:
    return minus(f"{value:.2f}")


def _levels(study: Validation) -> Section:
    """Every coefficient on every level."""
    bodies = ""
    for human in study.humans:
        head = f'<th scope="rowgroup" colspan="16"><b>{_head(study, human)}</b></th>'
        rows = "".join(_level_row(study.of(metric, human)) for metric in study.metrics)
        bodies += f'<tbody><tr class="metric">{head}</tr>{rows}</tbody>'
    columns = {"Metric": "", "Cases": "num"}
    for i, name in enumerate(("Pearson", "Spearman", "Kendall")):
        columns |= {name: "num", "p" + " " * i: "num", "analytic p" + " " * i: "num"}
    columns |= {"R²": "num", "RMSE": "num", "Within items": "num", "Items": "num"}
    columns |= {"Between systems": "num"}
    note = (
        '<p class="note">R² and RMSE: of the least-squares line, human score scaled to 0–1. Within items: mean of the '
        "Pearson correlations inside each item. Between systems: Pearson of the systems’ means, with its p. "
        "Analytic p takes all cases as independent.</p>"
    )
    return Section("levels", "All coefficients", table("plain", columns, bodies) + note)


def _level_row(agreement: Agreement) -> str:
    name = f'<tr><th scope="row">{escape(agreement.metric)}</th><td class="num">{agreement.n:,}</td>'
    if agreement.reason:
        return f'{name}<td colspan="14">not assessed: {escape(agreement.reason)}</td></tr>'
    cells = "".join(
        f'<td class="num">{charts.number(c.value)}</td><td class="num">{p_text(c.p)}</td>'
        f'<td class="num">{p_text(agreement.analytic.get(name))}</td>'
        for name, c in agreement.item.items()
    )
    within = agreement.within.get("pearson")
    cells += f'<td class="num">{charts.number(agreement.r2)}</td><td class="num">{charts.number(agreement.rmse)}</td>'
    items = f"{agreement.items:,} of {agreement.items + agreement.idle:,}"
    cells += f'<td class="num">{_with_interval(within)}</td><td class="num">{items}</td>'
    system = agreement.system.get("pearson")
    between = "–" if system is None else f"{charts.number(system.value)} (p {p_text(system.p)}, {agreement.systems})"
    return f'{name}{cells}<td class="num">{between}</td></tr>'


def _with_interval(estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return charts.number(estimate.value)
    return f"{charts.number(estimate.value)} ({_two(estimate.low)} to {_two(estimate.high)})"


def _rivals(study: Validation) -> Section:
    """Which metric agrees better than which, by human column."""
    bodies = ""
    for human in study.humans:
        rows = ""
        for agreement in study.ranked(human):
            names = ", ".join(map(escape, study.beaten(agreement.metric, human))) or "none shown"
            estimate = agreement.item.get(study.coefficient)
            value = "–" if estimate is None else _two(estimate.value)
            rows += (
                f'<tr><th scope="row">{escape(agreement.metric)}</th><td class="num">{value}</td><td>{names}</td></tr>'
            )
        head = f'<th scope="rowgroup" colspan="3"><b>{_head(study, human)}</b></th>'
        bodies += f'<tbody><tr class="metric">{head}</tr>{rows}</tbody>'
    columns = {"Metric": "", study.coefficient.capitalize(): "num", "Agrees better than": ""}
    note = (
        '<p class="note">Paired permutation test: the two metrics’ standardised scores are swapped cluster by cluster '
        "(10,000 times); Holm-corrected over the pairs of a human column, p below 0.05.</p>"
    )
    return Section("rivals", "Which metric agrees better", table("plain snug", columns, bodies) + note)


def _scatter(study: Validation) -> Section:
    html = ""
    for human in study.humans:
        drawn = [agreement.metric for agreement in study.ranked(human) if not agreement.reason][:PLOTS]
        figures = "".join(_figure(study, metric, human) for metric in drawn)
        html += f'<h3>{_head(study, human)}</h3><div class="figures">{figures}</div>'
    note = (
        '<p class="note">One point per case, coloured by system; the line is least squares, its band a 95 % '
        "bootstrap interval over clusters.</p>"
    )
    return Section("scatter", "Scatter plots", html + note, style=_SCATTER)


def _figure(study: Validation, metric: str, human: str) -> str:
    agreement = study.of(metric, human)
    estimate = agreement.item[study.coefficient]
    extent = (
        "" if estimate.low is None or estimate.high is None else f" ({_two(estimate.low)} to {_two(estimate.high)})"
    )
    caption = (
        f"{escape(metric)} <small>{study.coefficient} {_two(estimate.value)}{extent}, {agreement.n:,} cases</small>"
    )
    return f"<figure><figcaption>{caption}</figcaption>{_plot(study, metric, human)}</figure>"


def _plot(study: Validation, metric: str, human: str) -> str:
    x, y = study.columns[human], study.columns[metric]
    rows = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    across = charts.Axis(*charts.limits((None, None), x[rows].tolist()), left=44, right=400)
    ends = charts.limits((None, None), y[rows].tolist())
    upright = charts.Axis(ends[0], ends[1], left=210, right=12)
    shown = rows[:: max(1, -(-len(rows) // POINTS))]
    dots = "".join(
        f'<circle class="dot s{max(0, int(study.systems_of[i])) % charts.COLOURS}" '
        f'cx="{across.x(x[i])}" cy="{upright.x(y[i])}" r="3"/>'
        for i in shown
    )
    line = study.line(metric, human)
    band = ""
    if line.low is not None and line.high is not None:
        edge = [*zip(line.x, line.low), *zip(line.x[::-1], line.high[::-1])]
        band = f'<polygon class="band" points="{" ".join(f"{across.x(a)},{upright.x(b)}" for a, b in edge)}"/>'
    drawn = " ".join(f"{across.x(a)},{upright.x(b)}" for a, b in zip(line.x, line.y))
    axes = '<path class="axis" d="M44 12V210H400" fill="none"/>'
    for k in range(3):
        vx, vy = (axis.low + (axis.high - axis.low) * k / 2 for axis in (across, upright))
        axes += f'<text class="note" x="{across.x(vx)}" y="226" text-anchor="middle">{charts.tick_label(vx)}</text>'
        axes += f'<text class="note" x="40" y="{upright.x(vy) + 4}" text-anchor="end">{charts.tick_label(vy)}</text>'
    axes += f'<text class="note" x="222" y="242" text-anchor="middle">{escape(human)}</text>'
    label = escape(f"{metric} against {human}", quote=True)
    inner = f'{axes}{band}{dots}<polyline class="line" points="{drawn}"/>'
    return f'<svg class="scatter" viewBox="0 0 420 248" role="img" aria-label="{label}">{inner}</svg>'
