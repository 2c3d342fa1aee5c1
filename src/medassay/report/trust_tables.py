"""Tables of trust studies in the terminal and on a page; the risk–coverage page of a calibration."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rich.console import Console
from rich.text import Text

from medassay.report.sections import Section, asset, table
from medassay.report.terminal import Column, note, print_table, shown
from medassay.report.trust_charts import risk_coverage
from medassay.report.trust_terminal import policy_line
from medassay.study.trust_fit import Fit
from medassay.study.trust_table import Cell, Estimate, Table


def print_study(console: Console, study: Table) -> None:
    """The table, then what a reader must know."""
    console.print(Text(study.title, style="bold"))
    columns = []
    for k, name in enumerate(study.columns):
        cells = [row.get(name) for row in study.rows]
        words = all(isinstance(cell, str) or cell is None for cell in cells) and any(isinstance(c, str) for c in cells)
        columns.append(
            Column(
                name,
                [written(cell, name in study.percent) for cell in cells],
                justify="left" if words else "right",
                keep=0 if k < 4 else k,
            )
        )
    print_table(console, columns)
    for remark in study.notes:
        note(console, shown(remark, 500))


def written(cell: Cell, percent: bool = False) -> str:
    """A cell as text: three decimals, one in per cent, the interval in brackets.

    >>> written(Estimate(0.5, 0.41, 0.62)), written(12.34, True), written(None), written(7), written(0.0)
    ('0.500 [0.410, 0.620]', '12.3', '–', '7', '0.000')
    """
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return shown(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    digits = 1 if percent else 3
    if not isinstance(cell, Estimate):
        return f"{cell:.{digits}f}" if cell == 0 or abs(cell) >= 10**-digits / 2 else f"{cell:.1e}"
    if cell.value is None:
        return "–"
    extent = "" if cell.low is None or cell.high is None else f" [{cell.low:.{digits}f}, {cell.high:.{digits}f}]"
    return f"{cell.value:.{digits}f}{extent}"


def study_section(study: Table) -> Section:
    """The same table on a page."""
    columns = {escape(name): "num" if _numeric(study, name) else "" for name in study.columns}
    rows = ""
    for row in study.rows:
        cells = ""
        for name in study.columns:
            text = escape(written(row.get(name), name in study.percent)).replace("-", "−")
            cells += (
                f'<td class="num">{text}</td>'
                if _numeric(study, name)
                else f"<td>{escape(str(row.get(name) or '–'))}</td>"
            )
        rows += f"<tr>{cells}</tr>"
    said = "".join(f"<li>{escape(remark)}</li>" for remark in study.notes)
    html = table("plain snug", columns, f"<tbody>{rows}</tbody>") + f'<ul class="note notes">{said}</ul>'
    return Section(study.name, study.title, html)


def _numeric(study: Table, column: str) -> bool:
    return any(isinstance(row.get(column), int | float | Estimate) for row in study.rows)


def print_fit(console: Console, fit: Fit) -> None:
    """The policy that came out, what supports it, and the curve as a table."""
    policy = fit.policy
    console.print(Text("Policy", style="bold"))
    console.print(Text(policy_line(policy)), soft_wrap=True)
    weights = ", ".join(f"{name} {weight:g}" for name, weight in policy.weights.items())
    basis = policy.calibration
    console.print(Text(f"Weights: {weights} ({basis['weights_from']})."), soft_wrap=True)
    if "bound" in basis:
        console.print(
            Text(
                f"What deploys: {100 * basis['coverage']:.1f} % of the reports, observed risk "
                f"{100 * basis['observed']:.1f} %, at most {100 * basis['bound']:.1f} % with "
                f"{100 * basis['confidence']:g} % confidence."
            ),
            soft_wrap=True,
        )
    print_study(console, curve_table(fit))
    for name, value in fit.figures.items():
        note(console, f"{name}: {value:.3f}")


def curve_table(fit: Fit, most: int = 12) -> Table:
    """The risk–coverage curve in a dozen rows."""
    step = max(1, len(fit.points) // most)
    rows: list[dict[str, Cell]] = [
        {
            "trust from": p.threshold,
            "coverage %": 100 * p.coverage,
            "risk %": Estimate(100 * p.risk, *(None if x is None else 100 * x for x in (p.low, p.high))),
            "bad": p.errors,
            "n": p.n,
        }
        for p in [*fit.points[::step], *fit.points[-1:]]
    ]
    rows = rows[:-1] if len(rows) > 1 and rows[-1] == rows[-2] else rows
    notes = ["Risk: share of bad reports among those at or above the threshold; 95 % bootstrap intervals.", *fit.notes]
    return Table("thresholds", "Thresholds", rows, notes, frozenset({"coverage %", "risk %"}))


def fit_sections(fit: Fit) -> Sequence[Section]:
    """The page of a calibration."""
    facts = f"<p>{escape(policy_line(fit.policy))}</p>{risk_coverage(fit.policy.calibration)}"
    bins: list[dict[str, Cell]] = [
        {
            "trust": f"{b.low:.1f} to {b.high:.1f}",
            "mean trust": b.score,
            "acceptable": Estimate(b.good, b.good_low, b.good_high),
            "n": b.n,
        }
        for b in fit.bins
    ]
    told = ["Trust is no probability: this shows how far it may be read as one. Exact 95 % intervals."]
    figures: list[dict[str, Cell]] = [{"figure": name, "value": value} for name, value in fit.figures.items()]
    return [
        Section("curve", "Risk and coverage", facts, style=asset("trust.css")),
        study_section(curve_table(fit)),
        study_section(Table("reliability", "Reliability", bins, told)),
        study_section(Table("figures", "Figures", figures)),
    ]
