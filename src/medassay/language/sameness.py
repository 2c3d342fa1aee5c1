"""Whether two statements of one report that seem to contradict each other surely speak of the same thing.

A report speaks of several lesions, specimens, sites and measured things: `no tumour in the adrenal gland`
does not deny the renal carcinoma, and two sizes are mostly the sizes of two things. A contradiction inside
one report stands only where nothing tells the two apart.
"""

from __future__ import annotations

import re

from medassay.language import knowledge
from medassay.language.graph import Report
from medassay.language.lexicon import named_pattern
from medassay.language.quantities import quantities
from medassay.language.staging import derived, stated
from medassay.language.terms import words
from medassay.language.verdict import Verdict

_PART = re.compile(r"\b(?:lymph )?nod(?:es?|al)\b|\bmargins?\b", re.I)
_LIMITED = named_pattern("limited")
_LESSER = named_pattern("lesser")
_TUMOUR = re.compile(r"malignan|tumou?r|carcinoma|cancer|neoplas|sarcoma|melanoma|lymphoma|atypia|metasta", re.I)
_CELLS = named_pattern("other cells")
"""Words for other cells than the tumour's: a marker may differ between the two."""
_PIECES = re.compile(r"aggregate|fragments?|pieces|cassette|received|labell?ed|sections? of", re.I)
_METHOD = re.compile(
    r"controls?\b|\bassay|sensitivity|antibod|\bclone|interpret|defined|cut-?off|technical|panel of|read as|\bif\b|"
    r"insignificant",
    re.I,
)
"""Words of how a test is done and read, not of what it showed."""
_GENE = re.compile(r"FISH|amplif|mutation|rearrange|\bgene\b|hybridi[sz]ation", re.I)
_NEGATION = re.compile(r"\b(?:no(?! special type)|not|negative|without|free)\b", re.I)
_FRAGMENT = re.compile(r"\W{0,40}+(?:but|with|and|while|although|whereas|however)\b", re.I)
_INSITU = re.compile(r"DCIS|LCIS|in[\s-]situ|dysplasia", re.I)
_WHOLE_DENIAL = named_pattern("whole denial")


def same_subject(verdict: Verdict, premise: Report, hypothesis: Report) -> bool:
    """Whether a contradiction inside one report is surely about one lesion, site and measured thing."""
    one, other = premise.text, hypothesis.text
    if _other_side(one, other):
        return False
    if verdict.kind == "gleason":
        return True
    if verdict.kind == "site status":
        words_ = [frozenset(words(t[slice(*at)])) for t, at in ((one, verdict.premise), (other, verdict.hypothesis))]
        parts = _PART.search(one) or _PART.search(other)
        return not _limited(one, other) and _same_site(*words_, apart=parts is not None)
    if verdict.kind == "marker":
        if (_CELLS.search(one) is None) != (_CELLS.search(other) is None) or _METHOD.search(one + " " + other):
            return False
        genes = [_GENE.search(text) is not None for text in (one, other)]
        return verdict.weight > 0.85 and genes[0] == genes[1]  # an equivocal stain is settled by a second test
    if verdict.kind in ("margin", "node"):
        if (_INSITU.search(one) is None) != (_INSITU.search(other) is None):
            return False
        return not _limited(one[slice(*verdict.premise)], other[slice(*verdict.hypothesis)])
    if verdict.kind == "number":
        return _one_measure(verdict, premise, hypothesis)
    if verdict.kind == "grade":
        if (_PART.search(one) is None) != (_PART.search(other) is None):
            return False
        return (
            not _limited(one, other) and not (_LESSER.search(one) or _LESSER.search(other)) and not _denies(one, other)
        )
    if verdict.kind == "stage":
        return _one_stage(verdict, premise, hypothesis)
    if verdict.kind == "focality":
        return True
    if verdict.kind == "profile":
        return verdict.weight >= 0.85 and _clashes(premise, hypothesis)
    if verdict.kind in ("side", "site"):
        return False  # a report speaks of more than one side and site
    if verdict.kind == "assertion" and verdict.weight < 0.64:
        return False
    if verdict.kind != "assertion" and _qualified(verdict, one, other):
        return False
    around = [
        text[max(0, at[0] - _NEAR) : at[1] + _NEAR]
        for text, at in ((one, verdict.premise), (other, verdict.hypothesis))
    ]
    return not _limited(*around) and _same_scope(verdict, premise, hypothesis)


_NEAR = 40
"""Characters around a finding within which a word such as `other` or `remaining` limits it."""
_SIDE = re.compile(r"\b(?:left|right)\b", re.I)


def _same_site(one: frozenset[str], other: frozenset[str], *, apart: bool) -> bool:
    """One site under one name, or part of a name; where margins or nodes are spoken of too, a name of two words."""
    if apart:
        return one == other and len(one) > 1
    return bool(one) and bool(other) and (one <= other or other <= one)


def _other_side(one: str, other: str) -> bool:
    """Whether one text speaks of the left alone and the other of the right alone."""
    sides = [{match[0].lower() for match in _SIDE.finditer(text)} for text in (one, other)]
    return bool(sides[0] and sides[1]) and not sides[0] & sides[1]


def _limited(one: str, other: str) -> bool:
    """Whether either text says that it speaks of a part, or of something else."""
    return _LIMITED.search(one) is not None or _LIMITED.search(other) is not None


_TURNS = re.compile(r"\b(?:no|not|without|negative|nor|absence|free)\b", re.I)


def _qualified(verdict: Verdict, one: str, other: str) -> bool:
    """Whether words before either statement's key words, in its clause, turn them round."""
    return any(
        _TURNS.search(text, max(text.rfind(".", 0, at[0]), text.rfind(";", 0, at[0])) + 1, at[0]) is not None
        for text, at in ((one, verdict.premise), (other, verdict.hypothesis))
    )


def _denies(one: str, other: str) -> bool:
    return any(_NEGATION.search(text) is not None for text in (one, other))


def _one_measure(verdict: Verdict, premise: Report, hypothesis: Report) -> bool:
    here = next((q for q in quantities(premise.text) if (q.start, q.end) == verdict.premise), None)
    there = next((q for q in quantities(hypothesis.text) if (q.start, q.end) == verdict.hypothesis), None)
    either = (premise.text, hypothesis.text)
    if here is None or there is None or _limited(*either) or any(_PIECES.search(text) for text in either):
        return False
    if here.aspect == there.aspect == "extent":
        return True
    if here.dimension == "count" and here.of != there.of:
        return False
    if here.dimension == "number":
        return False
    shared = here.subject & there.subject
    smaller = min(len(here.subject), len(there.subject))
    return len(shared) >= 0.6 * len(here.subject | there.subject) or (len(shared) >= 2 and len(shared) == smaller)


def _same_scope(verdict: Verdict, premise: Report, hypothesis: Report) -> bool:
    """Tumour as such is denied only by a statement about the whole specimen; a finding by any."""
    said = premise.text[slice(*verdict.premise)] + " " + hypothesis.text[slice(*verdict.hypothesis)]
    if not _TUMOUR.search(said) and not (_INSITU.search(said) and _PART.search(premise.text + " " + hypothesis.text)):
        return True
    for denial, other in ((premise.text, hypothesis.text), (hypothesis.text, premise.text)):
        if _WHOLE_DENIAL.fullmatch(denial):
            return not (_PART.search(other) and "metasta" in other.lower())
    either = (premise.text, hypothesis.text)
    if any(_PART.search(text) or (_FRAGMENT.match(text) and _NEGATION.search(text)) for text in either):
        return False
    return _whole(premise, hypothesis)


def _whole(premise: Report, hypothesis: Report) -> bool:
    """Whether neither statement names a site, so that both speak of the lesion itself."""
    return not any(entity.type == "site" for report in (premise, hypothesis) for entity in report.entities)


def _one_stage(verdict: Verdict, premise: Report, hypothesis: Report) -> bool:
    """Two stated categories, or a stated one and what the numbers of its own system add up to."""
    here, there = stated(premise.text), stated(hypothesis.text)
    named = [
        verdict.premise in [(a, b) for _, a, b in here.values()],
        verdict.hypothesis in [(a, b) for _, a, b in there.values()],
    ]
    if all(named):
        return not re.search(r"tumou?rs\b", premise.text + hypothesis.text, re.I)
    for follows, at, said in (
        (derived(premise.text), verdict.premise, there),
        (derived(hypothesis.text), verdict.hypothesis, here),
    ):
        for scheme in follows.keys() & said.keys():
            if follows[scheme][1:] == at:
                return scheme != "t"  # editions of the TNM differ in their sizes
    return False


def _clashes(premise: Report, hypothesis: Report) -> bool:
    """At least two stains that speak against the diagnosis."""
    profile = knowledge.named(hypothesis.text)
    if profile is None:
        return False
    own = knowledge.fit(knowledge.read_findings(premise.text), profile)
    return own.conflicts >= 2
