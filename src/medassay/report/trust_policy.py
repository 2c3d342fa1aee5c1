"""The trust policy: routes of a run in the terminal, and a calibrated policy in the terminal and on a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from rich.console import Console
from rich.text import Text

from medassay.metrics.policy import Policy
from medassay.report.charts import risk_coverage
from medassay.report.sections import Section, asset
from medassay.report.study_tables import print_study, study_section
from medassay.report.terminal import Column, note, print_table
from medassay.study import Cell, Estimate, Fit, Table


def print_routes(console: Console, routes: Mapping[str, int], policy: Policy, partial: int = 0) -> None:
    """How many reports take each route, of how many trust is partial, and the rule that sent them there."""
    total = sum(routes.values())
    listed = counts(routes)
    if not listed:
        return
    print_table(
        console,
        [
            Column("route", [name if name != "none" else "no report" for name, _ in listed], justify="left"),
            Column("cases", [f"{count:,}" for _, count in listed]),
            Column("share", [f"{100 * count / total:.1f} %" for _, count in listed]),
        ],
    )
    if partial:
        note(console, partial_line(partial, total))
    note(console, policy_line(policy))
    note(console, "For research and quality assurance: a route orders the work of people, it releases no report.")


def partial_line(partial: int, total: int) -> str:
    """What is said of reports without a trust value because a dimension is missing."""
    return (
        f"Partial: {partial:,} of {total:,} reports lack a dimension of weight and have no trust value; their assessed "
        "dimensions stand in their own rows, what is missing in trust.partial."
    )


def counts(routes: Mapping[str, int]) -> list[tuple[str, int]]:
    """Routes in the order deploy, review, reject, then cases that have none."""
    return [(route, routes.get(route, 0)) for route in ("deploy", "review", "reject", "none") if routes.get(route)]


def policy_line(policy: Policy) -> str:
    """The policy in one sentence or two."""
    deploy = "nothing deploys" if policy.deploy is None else f"deploy from trust {policy.deploy:.3g}"
    reject = "nothing is rejected" if policy.reject is None else f"reject below {policy.reject:.3g}"
    floors = {value for name, value in policy.floors.items() if name in policy.used}
    floor = f" with every dimension at {min(floors):g} or more" if floors and policy.deploy is not None else ""
    basis = policy.calibration
    if basis:
        origin = f"calibrated on {basis.get('data', 'unnamed data')} (n {basis.get('n', '?')})"
    else:
        origin = "not calibrated: conservative defaults; set them with medassay trust-study calibrate"
    return f"Policy {policy.name}: {deploy}{floor}, {reject}, partial trust to review; {origin}."


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
