"""Trust in the terminal: where reports go, and by what rule."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console

from medassay.metrics.policy import Policy
from medassay.report.terminal import Column, note, print_table


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
