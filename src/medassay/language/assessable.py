"""Which entities of a report a patch of an H&E image could show at all, and why the others not.

The rules are data: `lexicons/unseen.tsv`. Whether an image model knows an entity is the model's to say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from medassay.language.graph import Entity, Report
from medassay.language.lexicon import expression, read_tsv
from medassay.language.sections import section_at
from medassay.language.terminology import terminology

_Rules = tuple[tuple[str, str, str], ...]


def why_unseen(report: Report, entities: Sequence[Entity]) -> list[str | None]:
    """For each entity the reason why no patch can show it, or None where one could."""
    parts = report.sections()
    reasons = []
    for entity in entities:
        section = section_at(parts, entity.start)
        reasons.append(_reason(entity, section.kind if section else ""))
    return reasons


def _reason(entity: Entity, section: str) -> str | None:
    facts = {
        "type": entity.type,
        "section": section,
        "group": _group(entity),
        "name": entity.concept.name if entity.concept and entity.concept.how == "exact" else "",
    }
    for rule, value, reason in _rules():
        if rule == "pattern":
            if _pattern(value).search(entity.text.lower()):
                return reason
        elif facts[rule] == value:
            return reason
    return None


def _group(entity: Entity) -> str:
    """The group of findings.tsv that the entity's concept belongs to."""
    if entity.concept is None:
        return ""
    terms = terminology()
    row = terms.row_of.get(entity.concept.id)
    return terms.group.get(row, "") if row is not None else ""


@lru_cache(maxsize=1)
def _rules() -> _Rules:
    return tuple((row["rule"], row["value"], row["reason"]) for row in read_tsv("unseen.tsv"))


@lru_cache(maxsize=64)
def _pattern(written: str) -> re.Pattern[str]:
    return expression(written, capitals=True)
