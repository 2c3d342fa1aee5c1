"""Named structures: normal or free of tumour against infiltrated."""

from __future__ import annotations

from collections.abc import Iterator

from medassay.language.assertion import denied
from medassay.language.graph import Report
from medassay.language.lexicon import named_pattern, plain_words
from medassay.language.rules.base import Rule
from medassay.language.rules.verdict import CONTRADICTS, Characters, Kind, RuleVerdict
from medassay.language.terms import words

_NORMAL = named_pattern("normal")
_INVADED = named_pattern("invaded")
_PART = named_pattern("margins or nodes")
_BOTH_SIDES = named_pattern("both sides before")


class SiteStatusRule(Rule):
    """A structure that is normal or free in one statement and infiltrated in the other."""

    name = "site status"

    def compare(self, premise: Report, hypothesis: Report) -> Iterator[RuleVerdict]:
        known = site_statuses(premise)
        for site, involved, span in site_statuses(hypothesis):
            for other, other_involved, other_span in known:
                if site == other and involved != other_involved:
                    yield RuleVerdict(CONTRADICTS, Kind.SITE_STATUS, other_span, span, self.weights["free and invaded"])


def site_statuses(report: Report) -> list[tuple[str, bool, Characters]]:
    """(site with its side, whether tumour is there, its characters) for the sites of a plain statement."""
    normal, invaded = _NORMAL.search(report.text), _INVADED.search(report.text)
    if (normal is None) == (invaded is None):
        return []
    if invaded is not None and denied(report.text, invaded.span()):
        return []
    statuses = []
    positions = plain_words("position")
    for entity in report.entities:
        if entity.type != "site" or entity.concept is None or _PART.search(entity.text):
            continue
        position = " ".join(sorted(set(words(entity.text)) & positions))
        both = _BOTH_SIDES.search(report.text[max(0, entity.start - 40) : entity.start])
        side = entity.concept.laterality or ("bilateral" if both else "")
        for each in ("left", "right") if side == "bilateral" else (side,):
            site = f"{entity.concept.id} {each} {position}"
            statuses.append((site, invaded is not None, (entity.start, entity.end)))
    return statuses
