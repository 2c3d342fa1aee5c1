"""Rules that compare content: sides, sites, statements that exclude one another, assertions, profiles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from medassay.language import knowledge
from medassay.language.alignment import GENERAL
from medassay.language.assertion import by_rule
from medassay.language.concepts import ancestors, behaviour
from medassay.language.graph import Entity, Report
from medassay.language.lexicon import named_pattern, read_tsv
from medassay.language.terms import LATERALITY, words
from medassay.language.verdict import CONTRADICTS, ENTAILS, Verdict
from medassay.spans import Span


@lru_cache(maxsize=50_000)
def _denied(text: str, at: tuple[int, int]) -> bool:
    """Whether a cue outside the words themselves says that they do not hold."""
    verdict = by_rule(text, [Span(at[0], at[1], "finding", 1.0)])[0]
    outside = verdict.cue is not None and (verdict.cue[1] <= at[0] or verdict.cue[0] >= at[1])
    return verdict.assertion == "absent" and outside


_PART = re.compile(r"\b(?:lymph )?nod(?:es?|al)\b|\bmargins?\b", re.I)
_NORMAL = named_pattern("normal")
_INVADED = named_pattern("invaded")


def site_statuses(report: Report) -> list[tuple[str, bool, tuple[int, int]]]:
    """(site with its side, whether tumour is there, where it is said) for the sites of a plain statement."""
    normal, invaded = _NORMAL.search(report.text), _INVADED.search(report.text)
    if (normal is None) == (invaded is None):
        return []
    if invaded is not None and _denied(report.text, invaded.span()):
        return []
    found = []
    for entity in report.entities:
        if entity.type != "site" or entity.concept is None or _PART.search(entity.text):
            continue
        place = " ".join(sorted({word for word in words(entity.text) if word in _PLACES}))
        sides = entity.concept.laterality or _side_before(report.text, entity.start)
        for side in ("left", "right") if sides == "bilateral" else (sides,):
            found.append((f"{entity.concept.id} {side} {place}", invaded is not None, (entity.start, entity.end)))
    return found


_PLACES = frozenset({"proximal", "distal", "upper", "lower", "middle", "anterior", "posterior", "additional"})
_BOTH = re.compile(r"\b(?:right and left|left and right|both|bilateral)\s+(?:\w+\s+){0,2}$", re.I)


def _side_before(text: str, start: int) -> str:
    return "bilateral" if _BOTH.search(text[max(0, start - 40) : start]) else ""


def site_status(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """A structure that is normal or free on one side and infiltrated on the other."""
    known = site_statuses(premise)
    for site, there, span in site_statuses(hypothesis):
        for other, here, other_span in known:
            if site == other and here != there:
                yield Verdict(CONTRADICTS, "site status", other_span, span, 0.75)


_SIDE = re.compile(r"\b(left|right|bilateral|both|contralateral|opposite|lt|rt)\b[\s-]*((?:[\w-]+\s*){0,4})", re.I)
_ELSEWHERE = named_pattern("elsewhere")


def sides(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """Left against right of one organ, where the premise speaks of one side alone."""
    here, there = _side_words(premise.text), _side_words(hypothesis.text)
    if len({side for side, _, _, _ in here}) != 1 or len({side for side, _, _, _ in there}) != 1:
        return
    if _ELSEWHERE.search(hypothesis.text) or _ELSEWHERE.search(premise.text):
        return
    (side, words_here, *span), (other, words_there, *other_span) = here[0], there[0]
    shared = (words_here | frozenset(words(premise.text))) & words_there
    shared |= frozenset(words(premise.text)) & frozenset(words(hypothesis.text)) - {"left", "right"}
    shared |= knowledge.organs(premise.text) & knowledge.organs(hypothesis.text)
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


_LOCATES = named_pattern("locates")


def places(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """Organs that do not overlap, where the hypothesis says where the tissue or the tumour is from."""
    found = _LOCATES.search(hypothesis.text)
    if found is None or ASIDE.search(hypothesis.text) or _ELSEWHERE.search(hypothesis.text):
        return
    here, there = knowledge.organs(premise.text), knowledge.organs(hypothesis.text)
    if here and there and not here & there and "metasta" not in premise.text.lower():
        yield Verdict(CONTRADICTS, "site", (0, len(premise.text)), found.span(), 0.6)


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


@lru_cache(maxsize=20_000)
def opposing_sides(text: str) -> frozenset[str]:
    """Which sides of which oppositions a text takes, as keys `side 3a`, `side 3b`."""
    found = set()
    for number, (_, first, second, _) in enumerate(_oppositions()):
        found |= {f"side {number}{side}" for side, pattern in (("a", first), ("b", second)) if pattern.search(text)}
    return frozenset(found)


def exclusions(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """Statements that exclude one another: unifocal and three foci, purely in situ and invasive."""
    for kind, first, second, about in _oppositions():
        for one, other in ((first, second), (second, first)):
            a, b = one.search(premise.text), other.search(hypothesis.text)
            if a is None or b is None or other.search(premise.text) or one.search(hypothesis.text):
                continue
            if about is not None and not _share(about, premise.text, hypothesis.text):
                continue
            if _denied(premise.text, a.span()) or _denied(hypothesis.text, b.span()):
                continue
            yield Verdict(CONTRADICTS, kind, a.span(), b.span(), 0.7)


def _share(about: re.Pattern[str], left: str, right: str) -> bool:
    return bool(
        {match[0].lower() for match in about.finditer(left)} & {match[0].lower() for match in about.finditer(right)}
    )


def assertions(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """One finding or diagnosis, present on one side and absent on the other."""
    left = [(other, _sites(premise, other)) for other in _asserted(premise)]
    covered = coverage(premise.text, hypothesis.text)
    for entity in _asserted(hypothesis):
        there = _sites(hypothesis, entity)
        for other, here in left:
            meeting = _meets(other, entity)
            if not meeting or not _overlap(here, there):
                continue
            spans = (other.start, other.end), (entity.start, entity.end)
            if {other.assertion, entity.assertion} == {"present", "absent"}:
                yield Verdict(CONTRADICTS, "assertion", *spans, 0.8 * meeting)
            elif other.assertion == entity.assertion != "possible" and meeting == 1.0 and covered >= 0.5:
                yield Verdict(ENTAILS, "assertion", *spans, 0.6 * covered)
            elif other.assertion == "possible" and entity.assertion == "absent":
                yield Verdict(CONTRADICTS, "assertion", *spans, 0.6 * meeting)


_MARGIN = re.compile(r"\bmargins?\b|\bnodes?\b|\bsurface\b", re.I)


def _asserted(report: Report) -> list[Entity]:
    """Diagnoses and findings with their stance; margins and nodes have their own rule."""
    return [
        replace(e, assertion=_stance(report.text, e.start, e.end, e.assertion))
        for e in report.entities
        if e.type in ("diagnosis", "finding") and len(e.text) > 2 and not _MARGIN.search(e.text)
    ]


def coverage(premise: str, hypothesis: str) -> float:
    """The share of the hypothesis's words that the premise has, 0–1."""
    needed = frozenset(words(hypothesis))
    return len(needed & frozenset(words(premise))) / len(needed) if needed else 0.0


_NOT_NOT = named_pattern("not not")
_NOT_ABSENT = re.compile(r"^\s*(?:is|are|was|were)? ?not (?:absent|lacking)", re.I)
_DOUBT_BEFORE = named_pattern("doubt before")
_DOUBT_AFTER = named_pattern("doubt after")


@lru_cache(maxsize=50_000)
def _stance(text: str, start: int, end: int, assertion: str) -> str:
    """An entity's assertion, with double negation and doubt told in its clause taken into account."""
    before = text[max(0, start - 60) : start]
    if _NOT_NOT.search(before) or _NOT_ABSENT.search(text[end : end + 30]):
        return "present"
    if _DOUBT_BEFORE.search(before) or _DOUBT_AFTER.search(text[end : end + 100]):
        return "possible"
    return assertion


def _meets(a: Entity, b: Entity) -> float:
    """How surely two entities are one thing for a denial, 0–1: the same, or the denied one is the broader."""
    left, right = _stems(a.text), _stems(b.text)
    if not left or not right:
        return 0.0
    general = [e.concept is not None and e.concept.id in GENERAL for e in (a, b)]
    if left == right and not any(general):
        return 1.0
    if left != right and (
        left <= _BARE or right <= _BARE or ("micro" in a.text.lower()) != ("micro" in b.text.lower())
    ):
        return 0.0
    if a.concept is None or b.concept is None:
        return 0.8 if len(left & right) >= 2 and (left <= right or right <= left) else 0.0
    if a.concept.id == b.concept.id and not any(general) and left & right:
        return 1.0 if left <= right or right <= left else 0.6
    for narrow, broad, broad_general in ((a, b, general[1]), (b, a, general[0])):
        if broad.assertion != "absent" or narrow.assertion == "absent":
            continue
        if broad.concept is not None and narrow.concept is not None:
            if broad_general and narrow.type == "diagnosis":
                spread = broad.concept.id == _METASTASIS and "metasta" not in narrow.text.lower()
                return 0.8 if behaviour(narrow.concept) == "malignant" and not spread else 0.0
            if broad.concept.id in ancestors(narrow.concept):
                return 0.9
    return 0.0


_BARE = frozenset({"invasio", "invasiv", "involve", "extensi", "invade", "vascula", "lymphat", "major"})
"""Words whose denial needs the place that they leave out: no invasion of the capsule denies no vascular invasion."""
_METASTASIS = "MONDO:0024883"


@lru_cache(maxsize=50_000)
def _stems(text: str) -> frozenset[str]:
    """The words of an entity cut to their stems: koilocytes and koilocytic are one."""
    return frozenset(word[:7] for word in words(text))


def _overlap(here: frozenset[str], there: frozenset[str]) -> bool:
    """False where both are sites, and none of the one lies in one of the other."""
    if not here or not there:
        return True
    broad = {identity for site in here for identity in (site, *ancestors(site))}
    wide = {identity for site in there for identity in (site, *ancestors(site))}
    return bool(here & wide or there & broad)


def _sites(report: Report, entity: Entity) -> frozenset[str]:
    """The sites that the sentence of an entity names."""
    left = max(report.text.rfind(". ", 0, entity.start), report.text.rfind("; ", 0, entity.start))
    right = report.text.find(". ", entity.end)
    right = len(report.text) if right < 0 else right
    return frozenset(
        e.concept.id
        for e in report.entities
        if e.type == "site" and e.concept is not None and left <= e.start and e.end <= right
    )


UNSURE = named_pattern("unsure")
ASIDE = named_pattern("aside")


def profile(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
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
