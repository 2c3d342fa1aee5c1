"""Trust: may this generated report go out? Grounding, logic and stability in one number, and a route.

PathGLS, section 3.1: Trust = 0.4 S_g + 0.3 S_l + 0.3 S_s, no reference needed. A dimension that could not be
assessed is left out, the weights of the others are scaled to 1, and the score is labelled partial with what is
missing and why: a partial score never deploys unless the policy says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from medassay.errors import MedassayError, UnknownName, nearest
from medassay.metrics.base import Ensemble, Metric
from medassay.metrics.policy import DIMENSIONS, Policy, parse_weights, read_policy
from medassay.metrics.settings import parameters
from medassay.scores import Score

PARTIAL, ROUTE = "trust.partial", "route"
LABELS = (PARTIAL, ROUTE, f"{ROUTE}.why", f"{ROUTE}.unscored")


class Trust(Ensemble):
    """Weighted mean of grounding, logic and stability: 0 to 1, higher is better; and the route that follows.

    Parts are the dimensions and `weight`, the share of the weights that was assessed (1: whole). The labels
    `route` (deploy, review, reject), `route.why` and `trust.partial` (what is missing and why) become columns.
    For research and quality assurance: a route orders the work of people, it releases no report.

    members: the dimensions, with settings of their own: `trust(grounding(mpp=0.5),stability(distance=encoder))`;
        one that is not named has its defaults. mode: `clinical` or `paper`, of the dimensions that are not named;
        in `paper` they are the published formulas, and S_g enters as it is, a cosine.
    weights: `0.4:0.3:0.3`, in the order grounding, logic, stability. policy: a file that `medassay trust-study
        calibrate` wrote; weights win over its weights.
    """

    name = "trust"
    summary = "may the report go out? grounding, logic and stability, with a route"
    defined = "PathGLS §3.1; docs/metrics/trust.md"
    needs = frozenset({"candidate"})
    parts = (*DIMENSIONS, "weight")
    labels = LABELS

    def __init__(
        self,
        members: Sequence[str | Metric] = (),
        *,
        mode: Literal["clinical", "paper"] = "clinical",
        weights: str | Mapping[str, float] | None = None,
        policy: str | Policy | None = None,
        models: str | None = None,
    ) -> None:
        super().__init__()
        found = policy if isinstance(policy, Policy) else read_policy(Path(policy)) if policy else Policy()
        if weights is not None:
            given = parse_weights(weights) if isinstance(weights, str) else weights
            found = replace(found, weights=given, name=f"{found.name}*")
        self.policy = found
        self.mode = mode
        self.members = _dimensions(members, mode, models, found)
        if mode == "paper":
            self.bounds = (-1.0, 1.0)
        self.reads = frozenset().union(*(member.needs | member.reads for member in self.members)) - self.needs

    def settings(self) -> Mapping[str, object]:
        return {
            "mode": self.mode,
            "weights": "/".join(f"{self.policy.weights[name]:g}" for name in DIMENSIONS),
            "policy": f"{self.policy.name}@{self.policy.digest}",
            "partial": "renormalised",
            **{member.name.partition("(")[0]: _short(member) for member in self.members},
        }

    def compose(self, scores: Sequence[Sequence[Score]], evidence: bool = False) -> list[Score]:
        return [self.one(case) for case in zip(*scores)]

    def one(self, scores: Sequence[Score]) -> Score:
        """Trust of one case from the scores of its members."""
        assessed: dict[str, float] = {}
        missing: dict[str, str] = {}
        against = 0
        for member, score in zip(self.members, scores):
            name = member.name.partition("(")[0]
            if score.value is None:
                missing[name] = score.unscored or ""
                continue
            # Trust is a weighted mean of shares: a cosine below 0 grounds nothing. The paper takes it as it is.
            assessed[name] = score.value if self.mode == "paper" else min(max(score.value, 0.0), 1.0)
            against += int(score.parts.get("contradictions", 0))
            if "partial" in score.evidence:
                missing[f"{name} in part"] = str(score.evidence["partial"])
        weights = {name: self.policy.weights[name] for name in assessed}
        total = math.fsum(weights.values())
        partial = "; ".join(
            f"{name}: {why}" for name, why in missing.items() if self.policy.weights[name.partition(" ")[0]] > 0
        )
        if total <= 0:
            if set(missing.values()) == {"empty candidate"}:
                return Score.none("empty candidate", {f"{ROUTE}.unscored": "empty candidate"})
            return Score.none(partial or "no dimension of weight was assessed", self._labels(None, assessed, partial))
        value = math.fsum(weights[name] * assessed[name] for name in assessed) / total
        labels = self._labels(value, assessed, partial, against)
        evidence: dict[str, Any] = {
            "trust": {
                "route": labels[ROUTE],
                "why": labels[f"{ROUTE}.why"],
                "dimensions": {name: round(one, 4) for name, one in assessed.items()},
                "weights": dict(self.policy.weights),
                "missing": missing,
            }
        }
        return Score(value, parts={**assessed, "weight": total}, evidence=evidence, labels=labels)

    def _labels(
        self, value: float | None, assessed: Mapping[str, float], partial: str, contradictions: int = 0
    ) -> dict[str, str]:
        route, why = self.policy.route(value, assessed, partial, contradictions)
        labels = {ROUTE: route, f"{ROUTE}.why": why}
        return {PARTIAL: partial, **labels} if partial else labels


def _dimensions(members: Sequence[str | Metric], mode: str, models: str | None, policy: Policy) -> tuple[Metric, ...]:
    """One metric for each dimension that counts, in the order of the paper."""
    from medassay.metrics.registry import load_metrics

    found: dict[str, Metric] = {}
    for one in members:
        (metric,) = (one,) if isinstance(one, Metric) else load_metrics(one, mode=mode, models=models)
        name = metric.name.partition("(")[0]
        if name not in DIMENSIONS or name in found:
            raise MedassayError(f"trust: '{metric.name}' is no further dimension; they are {', '.join(DIMENSIONS)}")
        found[name] = metric
    for name in policy.used:
        if name not in found:
            (found[name],) = load_metrics(name, mode=mode, models=models)
    return tuple(found[name] for name in DIMENSIONS if name in found)


def _short(member: Metric) -> str:
    """What made a dimension, in the signature of trust: a hash, its own signature stands beside it."""
    import hashlib

    return hashlib.sha256(str(member.signature).encode()).hexdigest()[:8]


def load_trust(
    weights: str | None = None,
    policy: str | Path | Policy | None = None,
    models: str | None = None,
    mode: Literal["clinical", "paper"] = "clinical",
    **settings: Any,
) -> Trust:
    """Trust with all three dimensions in one mode; `settings` (mpp, budget, distance …) go to those that know them."""
    from medassay.metrics.registry import load_metrics, metric_class

    members = load_metrics(DIMENSIONS, models=models, mode=mode, **settings)
    known = {setting for name in DIMENSIONS for setting in parameters(metric_class(name))}
    for setting in settings:
        if setting not in known:
            listed = ", ".join(sorted(known))
            raise UnknownName(
                f"trust: no dimension has a setting '{setting}'{nearest(setting, known)}. Known: {listed}"
            )
    found = policy if policy is None or isinstance(policy, Policy) else str(policy)
    return Trust(members, mode=mode, weights=weights, policy=found)
