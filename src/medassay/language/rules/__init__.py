"""Two statements compared as structures: do they agree, or can they not both be true of one specimen?

One rule per file, each about one thing: results of markers, numbers with units, grades, Gleason patterns, margins and
nodes, named structures, sides, statements that exclude one another, assertions of one entity, and a description against
the profile of a diagnosis. Their words are data (`lexicons/patterns.tsv`), and so is how sure each verdict is
(`lexicons/rule_weights.tsv`). Silence (no verdict) means that nothing could be compared, never that the statements
agree. For research and quality assurance, not for clinical decisions.
"""

from __future__ import annotations

from medassay.language.graph import Report
from medassay.language.rules.assertions import AssertionRule
from medassay.language.rules.base import Rule
from medassay.language.rules.gleason import GleasonRule
from medassay.language.rules.grades import GradeRule
from medassay.language.rules.markers import MarkerRule
from medassay.language.rules.numbers import NumberRule
from medassay.language.rules.oppositions import OppositionRule
from medassay.language.rules.profiles import ProfileRule
from medassay.language.rules.sides import SideRule
from medassay.language.rules.site_status import SiteStatusRule
from medassay.language.rules.statuses import StatusRule
from medassay.language.rules.verdict import CONTRADICTS, ENTAILS, Kind, RuleVerdict

__all__ = ["CONTRADICTS", "ENTAILS", "RULES", "Kind", "Rule", "RuleVerdict", "compare"]

RULES: tuple[Rule, ...] = (
    MarkerRule(),
    NumberRule(),
    GleasonRule(),
    StatusRule(),
    GradeRule(),
    SiteStatusRule(),
    SideRule(),
    OppositionRule(),
    AssertionRule(),
    ProfileRule(),
)
"""Every rule, in the order of the verdicts."""

LONGEST = 4_000
"""Characters of a statement that are compared, so that a text without sentences takes no time without bound."""


def compare(premise: Report, hypothesis: Report) -> list[RuleVerdict]:
    """Every verdict on two statements that have been read, in the order of the rules."""
    premise, hypothesis = premise.beginning(LONGEST), hypothesis.beginning(LONGEST)
    return [verdict for rule in RULES for verdict in rule.compare(premise, hypothesis)]
