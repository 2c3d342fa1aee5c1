"""Trust: may this generated report go out? Grounding, logic and stability in one number, and a route.

PathGLS, section 3.1: Trust = 0.4 S_g + 0.3 S_l + 0.3 S_s, no reference needed. Where a dimension of weight could not
be assessed there is no trust: the mean of the others lies on another scale. The case is unscored as partial, with
what is missing and why; the dimensions that were assessed keep their numbers, and the report goes to a person. A
dimension of weight 0 is not missed: the others are then the whole.
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

    A case whose assessed dimensions do not carry all the weight is unscored (`partial: …`), whatever the thresholds:
    its number would not be comparable with whole ones. A stability of one half carries half of its weight. Parts are
    the dimensions, also of a partial case, and `weight`, the share of the weights that was assessed (1: whole). The
    labels `route` (deploy, review, reject), `route.why` and `trust.partial` (what is missing and why) become columns.
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
        chosen = policy if isinstance(policy, Policy) else read_policy(Path(policy)) if policy else Policy()
        if weights is not None:
            parsed = parse_weights(weights) if isinstance(weights, str) else weights
            chosen = replace(chosen, weights=parsed, name=f"{chosen.name}*")
        self.policy = chosen
        self.mode = mode
        self.members = _dimensions(members, mode, models, chosen)
        if mode == "paper":
            self.bounds = (-1.0, 1.0)
        self.reads = frozenset().union(*(member.needs | member.reads for member in self.members)) - self.needs

    def settings(self) -> Mapping[str, object]:
        return {
            "mode": self.mode,
            "weights": "/".join(f"{self.policy.weights[name]:g}" for name in DIMENSIONS),
            "policy": f"{self.policy.name}@{self.policy.digest}",
            "partial": "unscored",
            **{member.name.partition("(")[0]: _signature_hash(member) for member in self.members},
        }

    def compose(self, scores: Sequence[Sequence[Score]], evidence: bool = False) -> list[Score]:
        return [self.compose_case(case) for case in zip(*scores)]

    def compose_case(self, scores: Sequence[Score]) -> Score:
        """Trust of one case from the scores of its members."""
        assessed: dict[str, float] = {}
        missing: dict[str, str] = {}
        assessed_weight = contradictions = 0.0
        for member, score in zip(self.members, scores):
            name = member.name.partition("(")[0]
            weight = self.policy.weights[name]
            if score.value is None:
                missing[name] = score.unscored or ""
                continue
            # Trust is a weighted mean of shares: a cosine below 0 grounds nothing. The paper takes it as it is.
            assessed[name] = score.value if self.mode == "paper" else min(max(score.value, 0.0), 1.0)
            contradictions += score.parts.get("contradictions", 0.0)
            if "partial" in score.evidence:
                missing[f"{name} in part"] = str(score.evidence["partial"])
                weight /= 2
            assessed_weight += weight
        if not assessed and set(missing.values()) == {"empty candidate"}:
            return Score.none("empty candidate", {f"{ROUTE}.unscored": "empty candidate"})
        partial = "; ".join(
            f"{name}: {why}" for name, why in missing.items() if self.policy.weights[name.partition(" ")[0]] > 0
        )
        # Rounded weights may sum to a little less than 1.
        all_weights = math.fsum(self.policy.weights.values())
        total = math.fsum(self.policy.weights[name] * value for name, value in assessed.items()) / all_weights
        full = {name: value for name, value in assessed.items() if f"{name} in part" not in missing}
        route, why = self.policy.route(None if partial else total, full, partial, int(contradictions))
        evidence: dict[str, Any] = {
            "trust": {
                "route": route,
                "why": why,
                "dimensions": {name: round(value, 4) for name, value in assessed.items()},
                "weights": dict(self.policy.weights),
                "missing": missing,
            }
        }
        labels = {ROUTE: route, f"{ROUTE}.why": why}
        parts = {**assessed, "weight": assessed_weight / all_weights}
        if not partial:
            return Score(total, parts=parts, evidence=evidence, labels=labels)
        labels = {PARTIAL: partial, **labels}
        reason = f"partial: {partial}" if assessed else partial
        return Score(None, unscored=reason, parts=parts if assessed else {}, evidence=evidence, labels=labels)


def _dimensions(members: Sequence[str | Metric], mode: str, models: str | None, policy: Policy) -> tuple[Metric, ...]:
    """One metric for each dimension that counts, in the order of the paper."""
    from medassay.metrics.registry import load_metrics

    by_name: dict[str, Metric] = {}
    for member in members:
        (metric,) = (member,) if isinstance(member, Metric) else load_metrics(member, mode=mode, models=models)
        name = metric.name.partition("(")[0]
        if name not in DIMENSIONS or name in by_name:
            raise MedassayError(f"trust: '{metric.name}' is no further dimension; they are {', '.join(DIMENSIONS)}")
        by_name[name] = metric
    for name in policy.used:
        if name not in by_name:
            (by_name[name],) = load_metrics(name, mode=mode, models=models)
    return tuple(by_name[name] for name in DIMENSIONS if name in by_name)


def _signature_hash(member: Metric) -> str:
    """A short hash of a dimension's signature, for the signature of trust; the full one is written beside it."""
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
    chosen = policy if policy is None or isinstance(policy, Policy) else str(policy)
    return Trust(members, mode=mode, weights=weights, policy=chosen)
