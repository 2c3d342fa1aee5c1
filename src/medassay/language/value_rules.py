"""Rules that compare values: markers, numbers, stages, grades, margins and nodes, between statements and within one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from medassay.language.grades import compare as compare_grades
from medassay.language.grades import normalise_grade
from medassay.language.graph import Report
from medassay.language.quantities import comparable, quantities, relation
from medassay.language.staging import agree, derived, stated
from medassay.language.stains import Stain, read_stains
from medassay.language.status import compare_status, read_status
from medassay.language.verdict import COMPARED, CONTRADICTS, ENTAILS, Verdict

_SHARE = 10.0
"""Percentage points of stained cells that two readers may differ by."""


def markers(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """The same marker: positive against negative, or shares of cells too far apart."""
    known: dict[str, Stain] = {}
    for stain in read_stains(premise.text):
        known.setdefault(stain.marker, stain)
    for stain in read_stains(hypothesis.text):
        other = known.get(stain.marker)
        if other is None:
            continue
        spans = (other.start, other.end), (stain.start, stain.end)
        results = {other.result, stain.result}
        if len(results) == 2:
            if results <= {"positive", "negative"} or results <= {"wildtype", "mutant"}:
                yield Verdict(CONTRADICTS, "marker", *spans, 0.95)
            elif "equivocal" in results and stain.marker == "HER2":
                yield Verdict(CONTRADICTS, "marker", *spans, 0.8)
        elif _shares_apart(other, stain):
            yield Verdict(CONTRADICTS, "marker", *spans, 0.9)
        elif "pending" not in results:
            yield Verdict(ENTAILS, "marker", *spans, 0.85)


def _shares_apart(a: Stain, b: Stain) -> bool:
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return False
    return a.low > b.high + _SHARE or b.low > a.high + _SHARE


def numbers(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """Numbers about the same thing; a contradiction where no number of the premise allows the hypothesis's."""
    known = quantities(premise.text)
    for one in quantities(hypothesis.text):
        met = [(relation(other, one), other) for other in known if comparable(other, one)]
        if not met:
            continue
        word = next((word for word in ("same", "open") if any(found == word for found, _ in met)), "apart")
        other = next(other for found, other in met if found == word)
        spans = (other.start, other.end), (one.start, one.end)
        if word == "same":
            yield Verdict(ENTAILS, "number", *spans, 0.7)
        elif word == "apart":
            yield Verdict(CONTRADICTS, "number", *spans, 0.8 if len(met) == 1 else 0.6)


def stages(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """Stage and grade categories: those stated, and those that follow from numbers and words."""
    here, there = stated(premise.text), stated(hypothesis.text)
    for left, right in ((here, there), (derived(premise.text), there), (here, derived(hypothesis.text))):
        for scheme in left.keys() & right.keys():
            if scheme == "nottingham" and left is here and right is there:
                continue  # grades are compared by their own rule
            (category, *span), (other, *other_span) = left[scheme], right[scheme]
            fits = agree(category, other)
            if fits is None and left is here and right is not there:
                fits = True
            spans = (span[0], span[1]), (other_span[0], other_span[1])
            if fits is not None:
                yield Verdict(ENTAILS if fits else CONTRADICTS, "stage", *spans, 0.85)


_VAGUE = ("severity", "extent", "quantity", "size", "percent", "rate", "count", "number", "tnm", "component")


def grades(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """Grades of one system, or of systems that translate into each other."""
    left = [(e, g) for e in premise.entities if e.type == "grade" and (g := normalise_grade(e.text)) is not None]
    for entity in hypothesis.entities:
        grade = normalise_grade(entity.text) if entity.type == "grade" else None
        if grade is None or grade.system in _VAGUE:
            continue
        met = [
            (compare_grades(other, grade), e)
            for e, other in left
            if other.system not in _VAGUE and (other.system == "nuclear_grade") == (grade.system == "nuclear_grade")
        ]
        met = [(found, e) for found, e in met if found != "unrelated"]
        if not met or "neuroendocrine" in premise.text.lower():
            continue
        good = next((e for found, e in met if found in ("equal", "compatible")), None)
        other = good or met[0][1]
        label = ENTAILS if good else CONTRADICTS
        yield Verdict(label, "grade", (other.start, other.end), (entity.start, entity.end), 0.75)


def statuses(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """Margins and lymph nodes: involved against free."""
    known = read_status(premise.text)
    for one in read_status(hypothesis.text):
        found = [(compare_status(other, one), other) for other in known]
        for word, label in (("apart", CONTRADICTS), ("same", ENTAILS)):
            other = next((other for verdict, other in found if verdict == word), None)
            if other is not None:
                yield Verdict(label, one.topic, (other.start, other.end), (one.start, one.end), 0.85)
                break


_SUM = re.compile(r"\b([3-5])\s*\+\s*([3-5])\b")
_PATTERN = re.compile(r"(?<!growth )(?:gleason )?patterns?\s*([3-5])\b", re.I)
_ONLY = re.compile(r"\b(?:entirely|exclusively|only|purely|solely|consists? of)\b", re.I)
_NONE = re.compile(r"\b(?:no|not|absent|without|none)\b", re.I)


@lru_cache(maxsize=20_000)
def gleason_patterns(text: str) -> tuple[tuple[int, str], ...]:
    """The Gleason patterns a text speaks of, each present, absent or only (nothing but this one).

    >>> gleason_patterns("Gleason score 7 (3+4)"), gleason_patterns("No Gleason pattern 4 is identified.")
    (((3, 'present'), (4, 'present')), ((4, 'absent'),))
    """
    found: dict[int, str] = {}
    for match in _SUM.finditer(text):
        if re.search(r"gleason|score|prostat|grade group|GS\b", text, re.I):
            found.update((int(one), "present") for one in match.groups())
    for match in _PATTERN.finditer(text):
        around = text[max(0, match.start() - 30) : match.end() + 25]
        word = "absent" if _NONE.search(around) else "only" if _ONLY.search(around) else "present"
        if re.match(r"\s*[:=]?\s*0\s*%", text[match.end() :]):
            word = "absent"
        found.setdefault(int(match[1]), word)
    return tuple(sorted(found.items()))


def gleason(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """Patterns: one that makes up a score cannot be absent, nor the other one be all there is."""
    here, there = dict(gleason_patterns(premise.text)), dict(gleason_patterns(hypothesis.text))
    spans = (0, len(premise.text)), (0, len(hypothesis.text))
    for one, other in ((here, there), (there, here)):
        for pattern, word in one.items():
            only_other = any(w == "only" and p != pattern for p, w in other.items())
            if word == "present" and (other.get(pattern) == "absent" or only_other):
                yield Verdict(CONTRADICTS, "gleason", *spans, 0.9)
                return


def within(report: Report) -> list[Verdict]:
    """Verdicts on the parts of one statement: a marker told twice, a score and its group, a sum and its grade,
    margins and nodes that are free and involved in one breath. Both spans are in the same text."""
    report = report.beginning(COMPARED)
    return [*_told_twice(report), *_result_and_share(report), *_free_and_involved(report), *_sums(report)]


def _result_and_share(report: Report) -> Iterator[Verdict]:
    """A positive result in no cell, a negative one in a good share of them."""
    for stain in read_stains(report.text):
        if stain.low is None or stain.high is None or stain.marker in ("KI67", "P53"):
            continue
        if (stain.result == "positive" and stain.high == 0) or (stain.result == "negative" and stain.low >= 2 * _SHARE):
            yield Verdict(CONTRADICTS, "marker", (stain.start, stain.end), (stain.start, stain.end), 0.8)


def _told_twice(report: Report) -> Iterator[Verdict]:
    seen: dict[str, Stain] = {}
    for stain in read_stains(report.text):
        other = seen.setdefault(stain.marker, stain)
        if other is stain:
            continue
        results = {other.result, stain.result}
        spans = (other.start, other.end), (stain.start, stain.end)
        if results == {"positive", "negative"} and other.start != stain.start:
            yield Verdict(CONTRADICTS, "marker", *spans, 0.9)
        elif len(results) == 1:
            yield Verdict(ENTAILS, "marker", *spans, 0.8)


def _free_and_involved(report: Report) -> Iterator[Verdict]:
    known = read_status(report.text)
    for i, one in enumerate(known):
        for other in known[i + 1 :]:
            found = compare_status(one, other)
            if found != "open":
                label = CONTRADICTS if found == "apart" else ENTAILS
                yield Verdict(label, one.topic, (one.start, one.end), (other.start, other.end), 0.8)


def _sums(report: Report) -> Iterator[Verdict]:
    """A Gleason score and its grade group, and the components of the Nottingham score and the grade."""
    graded = [(e, g) for e in report.entities if e.type == "grade" and (g := normalise_grade(e.text)) is not None]
    scores = [(e, g) for e, g in graded if g.system == "gleason"]
    groups = [(e, g) for e, g in graded if g.system == "grade_group"]
    for e, score in scores:
        for other, group in groups:
            found = compare_grades(score, group)
            if found != "unrelated":
                label = CONTRADICTS if found == "conflict" else ENTAILS
                yield Verdict(label, "grade", (e.start, e.end), (other.start, other.end), 0.9)
    follows, named = derived(report.text).get("nottingham"), stated(report.text).get("nottingham")
    if follows is not None and named is not None:
        label = ENTAILS if follows[0] == named[0] else CONTRADICTS
        yield Verdict(label, "grade", (follows[1], follows[2]), (named[1], named[2]), 0.85)
