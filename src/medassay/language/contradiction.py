"""Two statements compared as structures: do they agree, or can they not both be true of one specimen?

What is compared: results of markers, numbers with units, counts and shares, stage and grade categories,
margins and nodes, sides, assertions of the same entity, statements that exclude one another, and a
description against the profile of a diagnosis. `compare` gives every verdict it finds, with the two spans
and the kind; `settle` picks the one that counts. Silence (no verdict) means that nothing could be
compared, never that the statements agree. For research and quality assurance, not for clinical decisions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from medassay.language import knowledge
from medassay.language.alignment import GENERAL
from medassay.language.assertion import by_rule
from medassay.language.concepts import ancestors, behaviour
from medassay.language.grades import compare as compare_grades
from medassay.language.grades import normalise_grade
from medassay.language.graph import Entity, Report
from medassay.language.quantities import comparable, quantities, relation
from medassay.language.staging import agree, derived, stated
from medassay.language.stains import Stain, read_stains
from medassay.language.status import compare_status, read_status
from medassay.language.terms import LATERALITY, read_tsv, words
from medassay.models.base import Span

ENTAILS, CONTRADICTS = "entailment", "contradiction"

_SHARE = 10.0
"""Percentage points of stained cells that two readers may differ by."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the comparison of two statements found.

    label: entailment or contradiction. kind: marker, number, stage, grade, margin, node, side, assertion,
    opposition or profile. premise, hypothesis: the characters [start, end) of either text that met.
    weight: how sure the rule is, 0–1.
    """

    label: str
    kind: str
    premise: tuple[int, int]
    hypothesis: tuple[int, int]
    weight: float = 1.0


def compare(premise: Report, hypothesis: Report) -> list[Verdict]:
    """Every verdict on two statements that have been read, in the order of the rules."""
    return [verdict for rule in _RULES for verdict in rule(premise, hypothesis)]


def settle(verdicts: list[Verdict]) -> Verdict | None:
    """The verdict that counts: the surest, a contradiction before an entailment of equal weight.

    A statement that is contradicted in one respect is contradicted, however much else agrees.
    """
    against = [one for one in verdicts if one.label == CONTRADICTS]
    chosen = against or verdicts
    return max(chosen, key=lambda one: one.weight) if chosen else None


def _markers(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
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


def _numbers(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
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


def _stages(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """Stage and grade categories: those stated, and those that follow from numbers and words."""
    named, follows = stated(premise.text), derived(premise.text)
    for scheme, (category, start, end) in stated(hypothesis.text).items():
        source = named.get(scheme) or follows.get(scheme)
        if source is None:
            continue
        fits = agree(source[0], category)
        spans = (source[1], source[2]), (start, end)
        if fits:
            yield Verdict(ENTAILS, "stage", *spans, 0.85)
        elif fits is False:
            yield Verdict(CONTRADICTS, "stage", *spans, 0.85)


_VAGUE = ("severity", "extent", "quantity", "size", "percent", "rate", "count", "number", "tnm", "component")


def _grades(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """Grades of one system, or of systems that translate into each other."""
    left = [(e, g) for e in premise.entities if e.type == "grade" and (g := normalise_grade(e.text)) is not None]
    for entity in hypothesis.entities:
        grade = normalise_grade(entity.text) if entity.type == "grade" else None
        if grade is None or grade.system in _VAGUE:
            continue
        met = [(compare_grades(other, grade), e) for e, other in left if other.system not in _VAGUE]
        met = [(found, e) for found, e in met if found != "unrelated"]
        if not met:
            continue
        good = next((e for found, e in met if found in ("equal", "compatible")), None)
        other = good or met[0][1]
        label = ENTAILS if good else CONTRADICTS
        yield Verdict(label, "grade", (other.start, other.end), (entity.start, entity.end), 0.75)


def _statuses(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """Margins and lymph nodes: involved against free."""
    known = read_status(premise.text)
    for one in read_status(hypothesis.text):
        found = [(compare_status(other, one), other) for other in known]
        for word, label in (("apart", CONTRADICTS), ("same", ENTAILS)):
            other = next((other for verdict, other in found if verdict == word), None)
            if other is not None:
                yield Verdict(label, one.topic, (other.start, other.end), (one.start, one.end), 0.85)
                break


_SIDE = re.compile(r"\b(left|right|bilateral|both|contralateral|opposite|lt|rt)\b[\s-]*((?:[\w-]+\s*){0,4})", re.I)
_ELSEWHERE = re.compile(
    r"\b(?:another|further|other|also|additional|elsewhere|second|separate|adjacent|previous\w*|earlier|history|opposite|"
    r"contralateral|larger|smaller|than|coexist\w*|concurrent|concomitant|arising|associated|normal)\b",
    re.I,
)


def _sides(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """Left against right of one organ, where the premise speaks of one side alone."""
    here, there = _side_words(premise.text), _side_words(hypothesis.text)
    if len({side for side, _, _, _ in here}) != 1 or len({side for side, _, _, _ in there}) != 1:
        return
    if _ELSEWHERE.search(hypothesis.text) or _ELSEWHERE.search(premise.text):
        return
    (side, words_here, *span), (other, words_there, *other_span) = here[0], there[0]
    shared = (words_here | frozenset(words(premise.text))) & words_there
    shared |= frozenset(words(premise.text)) & frozenset(words(hypothesis.text)) - {"left", "right"}
    spans = (span[0], span[1]), (other_span[0], other_span[1])
    if {side, other} == {"left", "right"} and shared:
        yield Verdict(CONTRADICTS, "side", *spans, 0.85)
    elif side == other and words_here & words_there:
        yield Verdict(ENTAILS, "side", *spans, 0.55)


def _side_words(text: str) -> list[tuple[str, frozenset[str], int, int]]:
    found = []
    for match in _SIDE.finditer(text):
        side = LATERALITY.get(match[1].lower(), match[1].lower())
        found.append((side, frozenset(words(match[2])), match.start(), match.end()))
    return found


@lru_cache(maxsize=1)
def _oppositions() -> list[tuple[str, re.Pattern[str], re.Pattern[str], re.Pattern[str] | None]]:
    return [
        (
            row["kind"],
            re.compile(row["first"], re.I),
            re.compile(row["second"], re.I),
            re.compile(row["about"], re.I) if row["about"] else None,
        )
        for row in read_tsv("oppositions.tsv")
    ]


def _exclusions(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """Statements that exclude one another: unifocal and three foci, purely in situ and invasive."""
    for _, first, second, about in _oppositions():
        for one, other in ((first, second), (second, first)):
            a, b = one.search(premise.text), other.search(hypothesis.text)
            if a is None or b is None or other.search(premise.text) or one.search(hypothesis.text):
                continue
            if about is not None and not _share(about, premise.text, hypothesis.text):
                continue
            if _denied(premise.text, a.span()) or _denied(hypothesis.text, b.span()):
                continue
            yield Verdict(CONTRADICTS, "opposition", a.span(), b.span(), 0.7)


def _share(about: re.Pattern[str], left: str, right: str) -> bool:
    return bool(
        {match[0].lower() for match in about.finditer(left)} & {match[0].lower() for match in about.finditer(right)}
    )


@lru_cache(maxsize=50_000)
def _denied(text: str, at: tuple[int, int]) -> bool:
    """Whether a cue outside the words themselves says that they do not hold."""
    verdict = by_rule(text, [Span(at[0], at[1], "finding", 1.0)])[0]
    outside = verdict.cue is not None and (verdict.cue[1] <= at[0] or verdict.cue[0] >= at[1])
    return verdict.assertion == "absent" and outside


def _assertions(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """One finding or diagnosis, present on one side and absent on the other."""
    left = [e for e in premise.entities if e.type in ("diagnosis", "finding") and len(e.text) > 2]
    for entity in hypothesis.entities:
        if entity.type not in ("diagnosis", "finding") or len(entity.text) <= 2:
            continue
        for other in left:
            meeting = _meets(other, entity)
            if not meeting or not _one_place(premise, other, hypothesis, entity):
                continue
            spans = (other.start, other.end), (entity.start, entity.end)
            if {other.assertion, entity.assertion} == {"present", "absent"}:
                yield Verdict(CONTRADICTS, "assertion", *spans, 0.8 * meeting)
            elif other.assertion == entity.assertion != "possible" and meeting == 1.0:
                yield Verdict(ENTAILS, "assertion", *spans, 0.6)
            elif other.assertion == "possible" and entity.assertion == "absent":
                yield Verdict(CONTRADICTS, "assertion", *spans, 0.6 * meeting)


def _meets(a: Entity, b: Entity) -> float:
    """How surely two entities are one thing for a denial, 0–1: the same, or the denied one is the broader."""
    left, right = frozenset(words(a.text)), frozenset(words(b.text))
    if not left or not right:
        return 0.0
    general = [e.concept is not None and e.concept.id in GENERAL for e in (a, b)]
    if left == right and not any(general):
        return 1.0
    if a.concept is None or b.concept is None:
        return 0.8 if len(left & right) >= 2 and (left <= right or right <= left) else 0.0
    if a.concept.id == b.concept.id and not any(general) and left & right:
        return 1.0
    for narrow, broad, broad_general in ((a, b, general[1]), (b, a, general[0])):
        if broad.assertion != "absent" or narrow.assertion == "absent":
            continue
        if broad.concept is not None and narrow.concept is not None:
            if broad_general and narrow.type == "diagnosis":
                return 0.8 if behaviour(narrow.concept) == "malignant" else 0.0
            if broad.concept.id in ancestors(narrow.concept):
                return 0.9
    return 0.0


def _one_place(premise: Report, a: Entity, hypothesis: Report, b: Entity) -> bool:
    """False where the sentences of two entities name sites that do not overlap."""
    here, there = _sites(premise, a), _sites(hypothesis, b)
    if not here or not there:
        return True
    broad = {identity for site in here for identity in (site, *ancestors(site))}
    wide = {identity for site in there for identity in (site, *ancestors(site))}
    return bool(here & wide or there & broad)


def _sites(report: Report, entity: Entity) -> frozenset[str]:
    left = max(report.text.rfind(". ", 0, entity.start), report.text.rfind("; ", 0, entity.start))
    right = report.text.find(". ", entity.end)
    right = len(report.text) if right < 0 else right
    return frozenset(
        e.concept.id
        for e in report.entities
        if e.type == "site" and e.concept is not None and left <= e.start and e.end <= right
    )


UNSURE = re.compile(
    r"\b(?:pending|awaited|outstanding|to follow|deferred|cannot|can not|could not|not possible|not further|unclassified|"
    r"superficial(?:ly)? (?:shave|biops)|minute|limited|scant|crush|not (?:represented|assessable|available|submitted)|"
    r"unavailable|suspicious|questionable|preclude\w*|inconclusive|insufficient|suboptimal|fragmented|under way)\b",
    re.I,
)
ASIDE = re.compile(
    r"\b(?:elsewhere|adjacent|contralateral|coexist\w*|concomitant|concurrent|also|separate|additional|another|second|"
    r"previous\w*|history|patient|arising (?:in|from)|in a (?:woman|man|patient|carrier|child)|associated|syndrome|"
    r"mutation|mutated|germline|metasta\w+|recur\w*|stage|surround\w+|edge|extends?|margin|presented|primary|secondary to|"
    r"due to|followed|grown|cultured|serum|clinical|complicating)\b",
    re.I,
)


def _profiles(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """A description against the profile of the diagnosis that the other statement makes."""
    profile = knowledge.named(hypothesis.text)
    if profile is None:
        return
    best = knowledge.ranking(premise.text)
    if not best or best[0][0] < 1.5:
        return
    top = best[0][0]
    own = knowledge.fit(knowledge.read_findings(premise.text), profile)
    spans = (0, len(premise.text)), (0, len(hypothesis.text))
    unsure = 0.5 if UNSURE.search(premise.text) else 1.0
    aside = 0.5 if ASIDE.search(hypothesis.text) else 1.0
    denied = _says_not(hypothesis)
    fits = knowledge.compatible(best[0][1], profile) or own.balance >= 0.8 * top
    if fits and own.balance > 0:
        yield Verdict(CONTRADICTS if denied else ENTAILS, "profile", *spans, min(0.5 + top / 12, 0.9) * unsure * aside)
    elif own.balance <= 0 and not denied:
        strength = 0.5 + min(top, 5.0) / 15 + min(own.foreign + own.conflicts, 3.0) / 10
        yield Verdict(CONTRADICTS, "profile", *spans, min(strength, 0.95) * unsure * aside)


def _says_not(report: Report) -> bool:
    """Whether every diagnosis and finding of a statement is denied."""
    stated_ = [e.assertion for e in report.entities if e.type in ("diagnosis", "finding")]
    return bool(stated_) and all(assertion == "absent" for assertion in stated_)


_RULES: tuple[Callable[[Report, Report], Iterator[Verdict]], ...] = (
    _markers, _numbers, _stages, _grades, _statuses, _sides, _exclusions, _assertions, _profiles,
)  # fmt: skip
