"""Two statements compared as structures: do they agree, or can they not both be true of one specimen?

What is compared: results of markers, numbers with units, counts and shares, stage and grade categories,
margins and nodes, sides, assertions of the same entity, statements that exclude one another, and a
description against the profile of a diagnosis. `compare` gives every verdict it finds, with the two spans
and the kind; `strongest_verdict` picks the one that counts. Silence (no verdict) means that nothing could be
compared, never that the statements agree. For research and quality assurance, not for clinical decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from medassay.language import content_rules, value_rules
from medassay.language.content_rules import ASIDE, UNSURE, coverage, opposing_sides, site_statuses
from medassay.language.graph import Report
from medassay.language.sameness import same_subject
from medassay.language.value_rules import gleason_patterns, within
from medassay.language.verdict import COMPARED, CONTRADICTS, ENTAILS, Verdict, strongest_verdict

__all__ = [
    "ASIDE",
    "CONTRADICTS",
    "ENTAILS",
    "UNSURE",
    "Verdict",
    "compare",
    "coverage",
    "gleason_patterns",
    "opposing_sides",
    "site_statuses",
    "strongest_verdict",
    "within",
]  # fmt: skip

_RULES: tuple[Callable[[Report, Report], Iterator[Verdict]], ...] = (
    value_rules.markers,
    value_rules.numbers,
    value_rules.stages,
    value_rules.grades,
    value_rules.gleason,
    value_rules.statuses,
    content_rules.site_status,
    content_rules.sides,
    content_rules.places,
    content_rules.exclusions,
    content_rules.assertions,
    content_rules.profile,
)


def compare(premise: Report, hypothesis: Report, *, strict: bool = False) -> list[Verdict]:
    """Every verdict on two statements that have been read, in the order of the rules.

    strict: the two are parts of one report, which may speak of several lesions, sites and measured things:
    a contradiction then needs to be surely about the same one.
    """
    premise, hypothesis = premise.beginning(COMPARED), hypothesis.beginning(COMPARED)
    found = [verdict for rule in _RULES for verdict in rule(premise, hypothesis)]
    if not strict:
        return found
    return [v for v in found if v.label == ENTAILS or same_subject(v, premise, hypothesis)]
