"""What the comparison of two statements finds."""

from __future__ import annotations

from dataclasses import dataclass

ENTAILS, CONTRADICTS = "entailment", "contradiction"

SURE = 0.5
"""Weight from which a verdict counts on its own."""


COMPARED = 4_000
"""Characters of a statement that are compared, so that a text without sentences takes no time without bound."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the comparison of two statements found.

    label: entailment or contradiction. kind: marker, number, stage, grade, gleason, margin, node, site status,
    side, site, assertion, profile, or a kind of oppositions.tsv (focality, invasion, necrosis …). premise,
    hypothesis: the characters [start, end) of either text that met. weight: how sure the rule is, 0–1.
    """

    label: str
    kind: str
    premise: tuple[int, int]
    hypothesis: tuple[int, int]
    weight: float = 1.0


def strongest_verdict(verdicts: list[Verdict]) -> Verdict | None:
    """The verdict that counts: the surest, a contradiction before an entailment of equal weight.

    A statement that is contradicted in one respect is contradicted, however much else agrees.
    """
    sure = [one for one in verdicts if one.weight >= SURE]
    against = [one for one in sure if one.label == CONTRADICTS]
    chosen = against or sure
    return max(chosen, key=lambda one: one.weight) if chosen else None
