"""A report held against its protocol: every element present, absent, contradicted or inconsistent, with quotes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from medassay.language.lexicon import named_pattern
from medassay.language.synoptic.conflicts import Conflict, find_conflicts
from medassay.language.synoptic.facts import Fact, agree, facts_of
from medassay.language.synoptic.protocol import ELEMENTS, load_protocol
from medassay.language.synoptic.statements import Mention, organ_of, read_mentions

Status = Literal["present", "absent", "contradicted", "inconsistent"]

_BIOPSY = named_pattern("biopsy")
_RESECTION = named_pattern("resection")


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a report.

    required: whether the protocol asks for it. mentions: where it is stated, the most telling statement first.
    conflict: why it is contradicted or inconsistent.
    """

    name: str
    status: Status
    required: bool
    observable: bool
    mentions: tuple[Mention, ...] = ()
    conflict: Conflict | None = None


@dataclass(frozen=True, slots=True)
class SynopticReport:
    """A report, its organ, and its elements in the order of `ELEMENTS`. biopsy: whether less is asked of it."""

    organ: str
    biopsy: bool
    elements: tuple[Element, ...]
    facts: dict[str, list[Fact]] = field(default_factory=dict)

    def element(self, name: str) -> Element:
        """The element of that name."""
        return self.elements[ELEMENTS.index(name)]


@lru_cache(maxsize=2_000)
def check_report(text: str, organ: str | None = None) -> SynopticReport | None:
    """Hold a report against the protocol of its organ; None where no organ of `ORGANS` is named.

    Args:
        organ: one of `ORGANS`; by default the one that the text names most.
    """
    organ = organ or organ_of(text)
    if organ is None:
        return None
    protocol = load_protocol(organ)
    mentions = read_mentions(text, organ)
    facts = {element: facts_of(text, element, mentions[element]) for element in ELEMENTS}
    conflicts: dict[str, Conflict] = {}
    for conflict in find_conflicts(text, facts, protocol):
        conflicts.setdefault(conflict.element, conflict)
    biopsy = _is_biopsy(text, mentions["procedure"])
    elements = tuple(
        Element(
            name,
            _status(bool(mentions[name]), conflicts.get(name)),
            protocol.required.get(name) == "always" or (protocol.required.get(name) == "resection" and not biopsy),
            name in protocol.observable,
            mentions[name],
            conflicts.get(name),
        )
        for name in ELEMENTS
    )
    return SynopticReport(organ, biopsy, elements, facts)


def _status(stated: bool, conflict: Conflict | None) -> Status:
    if conflict is not None:
        return "contradicted" if conflict.kind == "contradicted" else "inconsistent"
    return "present" if stated else "absent"


def _is_biopsy(text: str, procedures: tuple[Mention, ...]) -> bool:
    stated = [text[mention.start : mention.end] for mention in procedures]
    return any(map(_BIOPSY.search, stated)) and not any(map(_RESECTION.search, stated))


def contradicts(report: SynopticReport, reference: SynopticReport) -> dict[str, tuple[Fact, Fact]]:
    """The elements that a report states otherwise than its reference, with the two statements.

    Two reports contradict each other in an element where they share a key (a grading system, a marker, the side) and
    no value of the one agrees with any value of the other.
    """
    return {
        element: pair
        for element in ELEMENTS
        if (pair := _otherwise(report.facts[element], reference.facts[element])) is not None
    }


def _otherwise(facts: list[Fact], others: list[Fact]) -> tuple[Fact, Fact] | None:
    for key in dict.fromkeys(fact.key for fact in facts):
        mine, theirs = [f for f in facts if f.key == key], [f for f in others if f.key == key]
        if theirs and not any(agree(key, a.value, b.value) for a in mine for b in theirs):
            return mine[0], theirs[0]
    return None
