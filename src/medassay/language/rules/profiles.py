"""A description against the profile of the diagnosis that the other statement makes (`profiles.tsv`)."""

from __future__ import annotations

from collections.abc import Iterator

from medassay.language import knowledge
from medassay.language.graph import Report
from medassay.language.lexicon import named_pattern
from medassay.language.rules.base import Rule
from medassay.language.rules.verdict import CONTRADICTS, ENTAILS, Kind, RuleVerdict

_UNSURE = named_pattern("unsure")
_ASIDE = named_pattern("aside")


class ProfileRule(Rule):
    """Whether the best fit of a description is the diagnosis, another one, or one that its stains exclude."""

    name = "profile"

    def compare(self, premise: Report, hypothesis: Report) -> Iterator[RuleVerdict]:
        profile = knowledge.named(hypothesis.text)
        best = knowledge.ranking(premise.text) if profile is not None else ()
        weights = self.weights
        if profile is None or not best or best[0][0] < weights["least evidence"]:
            return
        top, nearest = best[0]
        own = knowledge.fit(knowledge.read_findings(premise.text), profile)
        denied = _denies_all(hypothesis)
        fits = knowledge.compatible(nearest, profile) or own.balance >= weights["close to the best"] * top
        if fits and own.balance > 0:
            label, weight = (
                CONTRADICTS if denied else ENTAILS,
                min(weights["base"] + top / weights["scale for"], weights["most for"]),
            )
        elif own.balance <= 0 and not denied:
            strength = weights["base"] + min(top, weights["most of the best"]) / weights["scale of the best"]
            strength += min(own.foreign + own.conflicts, weights["most conflicts"]) / weights["scale of conflicts"]
            label, weight = CONTRADICTS, min(strength, weights["most against"])
        else:
            return
        weight *= weights["undecided premise"] if _UNSURE.search(premise.text) else 1.0
        weight *= weights["hypothesis adds"] if _ASIDE.search(hypothesis.text) else 1.0
        yield RuleVerdict(label, Kind.PROFILE, (0, len(premise.text)), (0, len(hypothesis.text)), weight)


def _denies_all(report: Report) -> bool:
    """Whether every diagnosis and finding of a statement is denied."""
    assertions = [entity.assertion for entity in report.entities if entity.type in ("diagnosis", "finding")]
    return bool(assertions) and all(assertion == "absent" for assertion in assertions)
