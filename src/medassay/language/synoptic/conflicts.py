"""Conflicts in a report: an element stated with two values, and statements that cannot both hold (pT1 at 31 mm).

A pT category is in conflict with a size or an extent only where no edition of the TNM classification since the sixth
allows both, so that older reports are not blamed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from medassay.language.grades import GRADE_GROUPS
from medassay.language.lexicon import named_pattern
from medassay.language.sections import specimens
from medassay.language.status import compare_status, read_status
from medassay.language.synoptic.facts import Fact, agree
from medassay.language.synoptic.protocol import Protocol

_NEGATED = named_pattern("negated before")
_POSITIVE = named_pattern("nodes positive field")
_EXAMINED = named_pattern("nodes examined field")
_RATIO = re.compile(r"(?<![\d.])(?P<v>\d{1,3})\s?/\s?(?P<of>\d{1,3})(?![\d./])")
"""Two numbers with a slash that are no date: 2/6."""
_COMPARED = 40
"""Statements of an element that are compared with one another."""
_MANY = frozenset({"side", "part", "size", "thickness", "length"})
"""What several statements may differ in: both sides can be reported, and a tumour is measured more than once."""
_SEVERAL = named_pattern("several lesions")
_ASIDE = named_pattern("lesser lesion")
_ENDOCRINE = named_pattern("endocrine tumour")
_ZERO = re.compile(r"(?<!\d)0\s?/")
"""None of a number: 0/6."""
_MARGIN = named_pattern("margin")
_NODE = named_pattern("node")


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two stretches of a report, [start, end) each, that cannot both hold.

    kind: `contradicted` (two values of one element) or `inconsistent` (a value that does not follow from another
    element). reason: in words.
    """

    element: str
    kind: str
    reason: str
    first: tuple[int, int]
    second: tuple[int, int]


def find_conflicts(text: str, facts: Mapping[str, Sequence[Fact]], protocol: Protocol) -> list[Conflict]:
    """Every conflict of a report, contradictions first."""
    same = _SameTumour(text)
    return [
        *(conflict for element in facts for conflict in _two_values(element, facts[element], same)),
        *_margins(text, same),
        *_grades(facts["grade"], endocrine=_ENDOCRINE.search(text) is not None),
        *_size_and_stage(facts, protocol),
        *_extent_and_stage(text, facts["ptnm"], protocol),
        *_nodes_and_stage(text, facts["ptnm"]),
        *_node_counts(text),
    ]


class _SameTumour:
    """Whether two stretches of a report speak of one tumour: it has no other, and they stand in one specimen part."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.several = _SEVERAL.search(text) is not None
        self.parts = [part.start for part in specimens(text)]

    def __call__(self, a: tuple[int, int], b: tuple[int, int]) -> bool:
        if self.several or bisect_right(self.parts, a[0]) != bisect_right(self.parts, b[0]):
            return False
        return not any(_ASIDE.search(self.text[max(0, start - 60) : end + 30]) for start, end in (a, b))


def _two_values(element: str, facts: Sequence[Fact], same: _SameTumour) -> Iterator[Conflict]:
    for a, b in combinations(facts[:_COMPARED], 2):
        spans = (a.start, a.end), (b.start, b.end)
        if a.key == b.key and a.key not in _MANY and not agree(a.key, a.value, b.value) and same(*spans):
            yield Conflict(element, "contradicted", f"{a.key} {a.value} and {b.value}", *spans)
            return


def _margins(text: str, same: _SameTumour) -> Iterator[Conflict]:
    margins = [
        status
        for status in read_status(text)
        if status.topic == "margin"
        and _MARGIN.search(text, status.start, status.end)
        and text[status.end : status.end + 1] != ":"
    ]
    for a, b in combinations(margins[:_COMPARED], 2):
        spans = (a.start, a.end), (b.start, b.end)
        if a.names == b.names and compare_status(a, b) == "apart" and same(*spans):
            yield Conflict("margins", "contradicted", "margins free and involved", *spans)
            return


def _grades(facts: Sequence[Fact], *, endocrine: bool) -> Iterator[Conflict]:
    by_key: dict[str, Fact] = {}
    for fact in facts:
        by_key.setdefault(fact.key, fact)
    tier, number = by_key.get("differentiation"), by_key.get("grade")
    if not endocrine and tier and number and tier.value != number.value and {tier.value, number.value} != {"3", "4"}:
        words = {"1": "well", "2": "moderately", "3": "poorly", "4": "un"}[tier.value]
        yield _inconsistent("grade", f"grade {number.value} and {words} differentiated", number, tier)
    score, group, total = by_key.get("gleason"), by_key.get("grade group"), by_key.get("gleason sum")
    if score and group and str(GRADE_GROUPS.get(score.value, group.value)) != group.value:
        yield _inconsistent("grade", f"Gleason {score.value} and grade group {group.value}", score, group)
    if score and total and score.start == total.start and sum(map(int, score.value.split("+"))) != int(total.value):
        yield _inconsistent("grade", f"Gleason {score.value} is not {total.value}", score, total)


def _inconsistent(element: str, reason: str, first: Fact, second: Fact) -> Conflict:
    return Conflict(element, "inconsistent", reason, (first.start, first.end), (second.start, second.end))


def _stage(facts: Sequence[Fact], key: str) -> Fact | None:
    return next((fact for fact in facts if fact.key == key), None)


def _size_and_stage(facts: Mapping[str, Sequence[Fact]], protocol: Protocol) -> Iterator[Conflict]:
    """A pT category outside whose interval every stated size lies."""
    stage = _stage(facts["ptnm"], "T")
    measure = "thickness" if protocol.organ == "skin" else "size"
    sizes = [fact for fact in facts["size"] if fact.key == measure and float(fact.value) > 0]
    if stage is None or not sizes:
        return
    category = f"T{stage.value}"
    interval = protocol.sizes.get(category) or protocol.sizes.get(category[:2])
    if interval is None:
        return
    low, high = interval
    if not any(low <= float(fact.value) <= high for fact in sizes):
        reason = f"p{category} is {low:g} to {high:g} mm" if high < 999 else f"p{category} is above {low:g} mm"
        yield _inconsistent("ptnm", f"{reason}, not {sizes[0].value} mm", stage, sizes[0])


def _extent_and_stage(text: str, facts: Sequence[Fact], protocol: Protocol) -> Iterator[Conflict]:
    """A pT category that the farthest extent stated does not allow."""
    stage = _stage(facts, "T")
    if stage is None or stage.value == "is":
        return
    stated = [
        (extent.categories, match.span())
        for extent in protocol.extents
        for match in extent.pattern.finditer(text)
        if not _NEGATED.search(text[max(0, match.start() - 50) : match.start()])
    ]
    if not stated:
        return
    categories, span = max(stated, key=lambda pair: pair[0][0])
    if f"T{stage.value[0]}" not in categories:
        quoted = " ".join(text[slice(*span)].split())
        yield Conflict("ptnm", "inconsistent", f"pT{stage.value} but “{quoted}”", (stage.start, stage.end), span)


def _nodes_and_stage(text: str, facts: Sequence[Fact]) -> Iterator[Conflict]:
    """pN0 with a positive node, or a higher category without one."""
    stage = _stage(facts, "N")
    counted = [s for s in read_status(text) if s.topic == "node" and s.positive is not None]
    if stage is None or not counted:
        return
    positive = [s for s in counted if s.positive and not _ZERO.search(text, s.start, s.end)]
    if stage.value == "0" and positive:
        yield Conflict(
            "nodes", "inconsistent", "pN0 but a node is positive",
            (stage.start, stage.end), (positive[0].start, positive[0].end),
        )  # fmt: skip
    involved = [status for status in read_status(text) if status.topic == "node" and status.involved]
    if stage.value in "123" and not positive and not any(s.total is None and s.end < stage.start for s in involved):
        yield Conflict(
            "nodes", "inconsistent", f"pN{stage.value} but no node is positive",
            (stage.start, stage.end), (counted[0].start, counted[0].end),
        )  # fmt: skip


def _node_counts(text: str) -> Iterator[Conflict]:
    positive, examined = _POSITIVE.search(text), _EXAMINED.search(text)
    if positive and examined and int(positive["v"]) > int(examined["v"]):
        yield Conflict(
            "nodes", "inconsistent", "more positive nodes than were examined", positive.span(), examined.span()
        )
    for match in _RATIO.finditer(text):
        near = text[max(0, match.start() - 40) : match.end() + 40].lower()
        if _NODE.search(near) and int(match["v"]) > int(match["of"]):
            yield Conflict(
                "nodes", "inconsistent", "more positive nodes than were examined", match.span(), match.span()
            )
            return
