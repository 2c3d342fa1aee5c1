"""A calibrated policy: in the terminal, on a page, and its risk–coverage curve as inline SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from rich.console import Console
from rich.text import Text

from medassay.report.sections import Section, asset
from medassay.report.study_tables import print_study, study_section
from medassay.report.terminal import note
from medassay.report.trust_terminal import policy_line
from medassay.study import Cell, Estimate, Fit, Table

_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 600.0, 16.0, 268.0
_TOPS = (0.04, 0.08, 0.12, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Ends of the risk axis whose quarters are round."""


def risk_coverage(calibration: Mapping[str, Any]) -> str:
    """Error rate of the reports that would deploy against their share, with 95 % bootstrap band.

    `calibration` holds `curve` (rows of coverage, risk, low, high), `risk` (the target) and, where a threshold was
    found, `coverage` and `observed` of the chosen point. Lower is better.
    """
    curve: Sequence[Sequence[float | None]] = calibration["curve"]
    target = calibration.get("risk")
    numbers = [value for row in curve for value in row[1:] if value is not None]
    most = max([*numbers, (target or 0.0) * 1.2])
    top = next(edge for edge in _TOPS if edge >= min(most, 1.0))

    def x(coverage: float) -> float:
        return round(_LEFT + coverage * (_RIGHT - _LEFT), 2)

    def y(risk: float) -> float:
        return round(_BOTTOM - min(risk, top) / top * (_BOTTOM - _TOP), 2)

    parts = []
    for step in range(5):
        share, risk = step / 4, top * step / 4
        parts.append(f'<line class="axis" x1="{_LEFT}" x2="{_RIGHT}" y1="{y(risk)}" y2="{y(risk)}"/>')
        parts.append(
            f'<text class="note" x="{_LEFT - 8}" y="{y(risk) + 4}" text-anchor="end">{100 * risk:.0f} %</text>'
        )
        parts.append(
            f'<text class="note" x="{x(share)}" y="{_BOTTOM + 18}" text-anchor="middle">{100 * share:.0f} %</text>'
        )
    banded = [row for row in curve if row[2] is not None and row[3] is not None]
    if banded:
        upper = [f"{x(float(row[0] or 0))},{y(float(row[3] or 0))}" for row in banded]
        lower = [f"{x(float(row[0] or 0))},{y(float(row[2] or 0))}" for row in reversed(banded)]
        parts.append(f'<polygon class="band" points="{" ".join(upper + lower)}"/>')
    points = " ".join(f"{x(float(row[0] or 0))},{y(float(row[1] or 0))}" for row in curve if row[1] is not None)
    parts.append(f'<polyline class="line" points="{points}"/>')
    if target is not None:
        parts.append(f'<line class="target" x1="{_LEFT}" x2="{_RIGHT}" y1="{y(target)}" y2="{y(target)}"/>')
        caption = f"chosen risk {100 * target:g} %"
        parts.append(f'<text class="note" x="{_RIGHT}" y="{y(target) - 6}" text-anchor="end">{caption}</text>')
    coverage, observed = calibration.get("coverage"), calibration.get("observed")
    if coverage is not None and observed is not None:
        parts.append(f'<circle class="chosen" cx="{x(coverage)}" cy="{y(observed)}" r="6"/>')
    parts.append(
        f'<text class="note" x="{(_LEFT + _RIGHT) / 2}" y="{_BOTTOM + 38}" text-anchor="middle">'
        "coverage: share of reports that would deploy</text>"
    )
    spoken = [
        f"{100 * (row[0] or 0):.0f} % coverage, error {100 * (row[1] or 0):.1f} %"
        for row in curve[:: max(1, len(curve) // 5)]
    ]
    label = escape("Error rate of deployed reports against coverage: " + "; ".join(spoken))
    note = (
        '<p class="note">Each point is a threshold: the reports that would deploy above it (coverage) and the share of '
        "them that people called unacceptable. Band: 95 % bootstrap interval. Dot: the threshold of this policy.</p>"
    )
    return f'<svg class="curve" viewBox="0 0 620 312" role="img" aria-label="{label}">{"".join(parts)}</svg>{note}'


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
            "risk %": Estimate(p.risk, p.low, p.high).scaled(100.0),
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
    notes = ["Trust is no probability: this shows how far it may be read as one. Exact 95 % intervals."]
    figures: list[dict[str, Cell]] = [{"figure": name, "value": value} for name, value in fit.figures.items()]
    return [
        Section("curve", "Risk and coverage", facts, style=asset("trust.css")),
        study_section(curve_table(fit)),
        study_section(Table("reliability", "Reliability", bins, notes)),
        study_section(Table("figures", "Figures", figures)),
    ]
