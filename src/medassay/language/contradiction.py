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
from dataclasses import dataclass, replace
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

SURE = 0.5
"""Weight from which a verdict counts on its own."""

_SHARE = 10.0
"""Percentage points of stained cells that two readers may differ by."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the comparison of two statements found.

    label: entailment or contradiction. kind: marker, number, stage, grade, gleason, margin, node, site status,
    side, site, assertion, profile, or a kind of oppositions.tsv (focality, invasion, necrosis …). premise, hypothesis: the characters [start, end) of either text that met.
    weight: how sure the rule is, 0–1.
    """

    label: str
    kind: str
    premise: tuple[int, int]
    hypothesis: tuple[int, int]
    weight: float = 1.0


def compare(premise: Report, hypothesis: Report, *, strict: bool = False) -> list[Verdict]:
    """Every verdict on two statements that have been read, in the order of the rules.

    strict: the two are parts of one report, which may speak of several lesions, sites and measured things:
    a contradiction then needs to be surely about the same one.
    """
    found = [verdict for rule in _RULES for verdict in rule(premise, hypothesis)]
    if not strict:
        return found
    from medassay.language.sameness import surely_one

    return [v for v in found if v.label == ENTAILS or surely_one(v, premise, hypothesis)]


def settle(verdicts: list[Verdict]) -> Verdict | None:
    """The verdict that counts: the surest, a contradiction before an entailment of equal weight.

    A statement that is contradicted in one respect is contradicted, however much else agrees.
    """
    sure = [one for one in verdicts if one.weight >= SURE]
    against = [one for one in sure if one.label == CONTRADICTS]
    chosen = against or sure
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


def within(report: Report) -> list[Verdict]:
    """Verdicts on the parts of one statement: a marker told twice, a score and its group, a sum and its grade,
    margins and nodes that are free and involved in one breath. Both spans are in the same text."""
    return [*_told_twice(report), *_free_and_involved(report), *_sums(report)]


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


def _grades(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
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


def _gleason(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """Patterns: one that makes up a score cannot be absent, nor the other one be all there is."""
    here, there = dict(gleason_patterns(premise.text)), dict(gleason_patterns(hypothesis.text))
    spans = (0, len(premise.text)), (0, len(hypothesis.text))
    for one, other in ((here, there), (there, here)):
        for pattern, word in one.items():
            only_other = any(w == "only" and p != pattern for p, w in other.items())
            if word == "present" and (other.get(pattern) == "absent" or only_other):
                yield Verdict(CONTRADICTS, "gleason", *spans, 0.9)
                return


_PART = re.compile(r"\b(?:lymph )?nod(?:es?|al)\b|\bmargins?\b", re.I)
_NORMAL = re.compile(
    r"\b(?:unremarkable|normal|benign|no (?:significant )?(?:histologic\w* |pathologic\w* )?(?:change|abnormalit\w+|diagnosis)|"
    r"uninvolved|not involved|free (?:of|from) (?:\w+ )?(?:tumou?r|carcinoma|malignan\w+|neoplas\w+|disease)|negative(?: for \w+)?|"
    r"no (?:\w+ )?(?:tumou?r|carcinoma|malignancy)|without (?:\w+ )?(?:tumou?r|carcinoma|malignancy))\b",
    re.I,
)
_INVADED = re.compile(
    r"\b(?:involved by|infiltrated|invaded|invad\w+|infiltrat\w+|replaced by|extends? (?:in)?to|involves|involving|"
    r"contains? (?:\w+ ){0,2}(?:tumou?r|carcinoma|metasta\w+)|"
    r"(?:tumou?r|carcinoma) (?:is |are |was |were )?(?:present|found|identified|seen) (?:in|within|on))\b",
    re.I,
)


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


def _site_status(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """A structure that is normal or free on one side and infiltrated on the other."""
    known = site_statuses(premise)
    for site, there, span in site_statuses(hypothesis):
        for other, here, other_span in known:
            if site == other and here != there:
                yield Verdict(CONTRADICTS, "site status", other_span, span, 0.75)


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


_LOCATES = re.compile(
    r"\b(?:arises?|arose|arising|located|centred|centered|obtained|taken|biops\w+|specimen|excised|resected|removed|"
    r"sample|comes?|lesion of|tumou?r (?:of|is in|involves)|is from|was from|are from|from the|cancer of)\b",
    re.I,
)


def _places(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
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


def _exclusions(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
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


@lru_cache(maxsize=50_000)
def _denied(text: str, at: tuple[int, int]) -> bool:
    """Whether a cue outside the words themselves says that they do not hold."""
    verdict = by_rule(text, [Span(at[0], at[1], "finding", 1.0)])[0]
    outside = verdict.cue is not None and (verdict.cue[1] <= at[0] or verdict.cue[0] >= at[1])
    return verdict.assertion == "absent" and outside


def _assertions(premise: Report, hypothesis: Report) -> Iterator[Verdict]:
    """One finding or diagnosis, present on one side and absent on the other."""
    left = _asserted(premise)
    covered = coverage(premise.text, hypothesis.text)
    for entity in _asserted(hypothesis):
        for other in left:
            meeting = _meets(other, entity)
            if not meeting or not _one_place(premise, other, hypothesis, entity):
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


_NOT_NOT = re.compile(r"\bnot (?:\w+ )?(?:without|free (?:of|from)|devoid of|lacking|negative for)\s+(?:\w+\s+){0,3}$|\bnot the case that[^.;]{0,40}$", re.I)
_NOT_ABSENT = re.compile(r"^\s*(?:is|are|was|were)? ?not (?:absent|lacking)", re.I)
_DOUBT_BEFORE = re.compile(
    r"(?:suspicious for|suspicion of|suspected|not diagnostic of|indefinite for|possible|possibly|favou?rs?|consistent with a"
    r"|(?:cannot|does not|do not) exclude|equivocal for|uncertain whether)[^.;]{0,40}$",
    re.I,
)
_DOUBT_AFTER = re.compile(
    r"^[^.;]{0,60}(?:not (?:been )?(?:ruled out|excluded)|remains? (?:possible|uncertain|unsettled|open)|cannot be (?:ruled out|excluded)|could not be (?:ruled out|excluded)|"
    r"suspected|not established|unproven)",
    re.I,
)


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
    if a.concept is None or b.concept is None:
        return 0.8 if len(left & right) >= 2 and (left <= right or right <= left) else 0.0
    if a.concept.id == b.concept.id and not any(general) and left & right:
        return 1.0
    for narrow, broad, broad_general in ((a, b, general[1]), (b, a, general[0])):
        if broad.assertion != "absent" or narrow.assertion == "absent" or _stems(broad.text) <= _BARE:
            continue
        if broad.concept is not None and narrow.concept is not None:
            if broad_general and narrow.type == "diagnosis":
                spread = broad.concept.id == _METASTASIS and "metasta" not in narrow.text.lower()
                return 0.8 if behaviour(narrow.concept) == "malignant" and not spread else 0.0
            if broad.concept.id in ancestors(narrow.concept):
                return 0.9
    return 0.0


_BARE = frozenset({"invasio", "involve", "extensi", "invade", "vascula", "major", "tumor", "neoplas"})
"""Words whose denial needs the place that they leave out: no invasion of the capsule denies no vascular invasion."""
_METASTASIS = "MONDO:0024883"


@lru_cache(maxsize=50_000)
def _stems(text: str) -> frozenset[str]:
    """The words of an entity cut to their stems: koilocytes and koilocytic are one."""
    return frozenset(word[:7] for word in words(text))


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
    _markers, _numbers, _stages, _grades, _gleason, _statuses, _site_status, _sides, _places, _exclusions, _assertions, _profiles,
)  # fmt: skip
