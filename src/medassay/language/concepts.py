"""Concepts: what a mention names, in MONDO, UBERON, CL or our own lexicons.

`link` looks a mention up by its normal form; where that fails it leaves out words that only qualify,
then mends spelling, then takes the longest part that names something (`broader`). It never leaves out a
word that turns the meaning (benign, in situ, no …). `similarity` gives partial credit along the ontology.
Linking is a dictionary's work, for research and quality assurance: a link is a reading aid, not a code
for billing or care.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

from medassay.language.lexicon import named_pattern, read_tsv, rule_weights
from medassay.language.terminology import Terminology, terminology
from medassay.language.terms import LATERALITY, fold, key, lemma, squeezed, words

LINKED_TYPES = ("site", "diagnosis", "finding", "marker", "grade", "modifier")

_PARENTHESES = re.compile(r"\s{0,40}+[(\[][^)\]]*+[)\]]?")
"""A remark in brackets; one that is never closed reaches to the end."""
_WITHOUT = named_pattern("what is lacking")
_SPLIT = named_pattern("between markers")
_OCR = str.maketrans({"o": "0", "i": "1", "l": "1", "!": "1", "|": "1"})
_PREFIX = named_pattern("opposite prefix")
_ACRONYM = re.compile(r"\b[A-Z]{2,6}\b")
_NUMBER = named_pattern("number in a name")
_NOT_DIGITS = re.compile(r"\D+")
_CREDIT = rule_weights("concept")


@dataclass(frozen=True, slots=True)
class Concept:
    """One linked concept.

    `how` tells how sure the link is: `exact` (the mention's normal form is a name of it), `near` (after
    mending the spelling), `broader` (the mention says more than the concept does).
    """

    id: str
    name: str
    how: str = "exact"
    laterality: str | None = None
    qualifiers: tuple[str, ...] = ()

    def to_json(self) -> dict[str, str]:
        """As in the extract file: id, name, how it was linked, and the side where one is told."""
        side = {"laterality": self.laterality} if self.laterality else {}
        return {"id": self.id, "name": self.name, "link": self.how, **side}


@lru_cache(maxsize=1)
def _qualifiers() -> dict[str, frozenset[str]]:
    # Looked up both as written and as lemmas: `infiltrating` and `invasive` are one word here.
    rows = {row["kind"]: row["words"].split("|") for row in read_tsv("qualifiers.tsv")}
    return {kind: frozenset(many) | frozenset(map(lemma, many)) for kind, many in rows.items()}


@lru_cache(maxsize=1)
def _acronyms() -> dict[str, str]:
    """Acronyms in capitals and what they stand for, for those that stand inside a longer name."""
    return {row["acronym"]: row["expansion"] for row in read_tsv("acronyms.tsv")}


@lru_cache(maxsize=200_000)
def link(text: str, type: str) -> Concept | None:
    """The concept a mention of an entity type names, or None.

    >>> link("HER-2/neu", "marker").id, link("c-erbB-2", "marker").id
    ('MARKER:HER2', 'MARKER:HER2')
    >>> link("Squamous cell. carcinoma", "diagnosis").name
    'squamous cell carcinoma'
    >>> link("clear cell RCC", "diagnosis").name
    'clear cell renal cell carcinoma'
    """
    if type in ("grade", "modifier"):
        return _link_value(text, type)
    if type == "marker":
        return _link_marker(text)
    if type not in ("site", "diagnosis", "finding"):
        return None
    given = words(text)
    sides = [LATERALITY[word] for word in given if word in LATERALITY]
    concept = _link_words(given, type)
    for shorter in (_PARENTHESES.sub(" ", text), _WITHOUT.sub("", text)):
        if concept is None and shorter != text:
            concept = _link_words(words(shorter), type)
    if (concept is None or concept.how == "broader") and not text.isupper() and _ACRONYM.search(text):
        spelled = _ACRONYM.sub(lambda match: _acronyms().get(match[0], match[0]), text)
        concept = (_link_words(words(spelled), type) if spelled != text else None) or concept
    if concept is not None and concept.name.endswith("disorder") and "dis" not in text.lower():
        return None  # `intestinal` alone names no disorder
    if concept is None or not sides:
        return concept
    both = len(set(sides)) > 1 or "bilateral" in sides
    return replace(concept, laterality="bilateral" if both else sides[0])


def _link_value(text: str, type: str) -> Concept | None:
    from medassay.language.grades import normalise_grade
    from medassay.language.results import read_result

    if type == "grade":
        grade = normalise_grade(text)
        return None if grade is None else Concept(f"GRADE:{grade.system}", str(grade))
    result = read_result(text)
    return None if result is None else Concept(f"RESULT:{result.polarity}", str(result))


def _link_words(given: Sequence[str], type: str) -> Concept | None:
    store = terminology()
    kinds = _qualifiers()
    rest = [word for word in dict.fromkeys(given) if word not in LATERALITY]
    if not rest:
        return None
    for how, tokens in _spellings(rest, type):
        row = store.find(" ".join(sorted(tokens)), type)
        if row is not None:
            return Concept(store.ids[row], store.names[row], how)
        plain, dropped = _without(tokens, kinds, type)
        row = store.find(" ".join(sorted(plain)), type) if plain else None
        if row is not None:
            return Concept(store.ids[row], store.names[row], how, qualifiers=tuple(dropped))
    return _part(store, tokens, plain, type)


def _without(tokens: Sequence[str], kinds: dict[str, frozenset[str]], type: str) -> tuple[list[str], list[str]]:
    """The tokens less those that only qualify, and those."""
    drop = kinds["attribute"] | kinds["place"] if type == "site" else kinds["attribute"]
    number = type in ("site", "diagnosis")
    dropped = [t for t in tokens if t in drop or (number and _NUMBER.fullmatch(t))]
    return [t for t in tokens if t not in dropped], dropped


def _spellings(tokens: list[str], type: str) -> Iterator[tuple[str, list[str]]]:
    """The tokens as they are, then with misread words mended, if any were."""
    yield "exact", tokens
    known = _known_words(type)
    mended = [t if t in known or len(t) < 6 else _nearest_word(t, type) for t in tokens]
    mended = [word for t in mended for word in t.split()]
    if mended != tokens:
        yield "near", list(dict.fromkeys(mended))


@lru_cache(maxsize=8)
def _known_words(type: str) -> frozenset[str]:
    from medassay.language.terminology import KINDS

    store = terminology()
    names = (name for letter in KINDS[type][:2] for name in store.vocabulary.get(letter, ()))
    return frozenset(word for name in names for word in name.split()) | _qualifiers()["attribute"]


@lru_cache(maxsize=8)
def _by_edge(type: str) -> dict[str, list[str]]:
    """The lexicon's words by their first two and by their last three letters: one of them survives a misreading."""
    edges: dict[str, list[str]] = {}
    for word in sorted(_known_words(type)):
        if len(word) > 4:
            edges.setdefault("^" + word[:2], []).append(word)
            edges.setdefault(word[-3:] + "$", []).append(word)
    return edges


@lru_cache(maxsize=50_000)
def _nearest_word(word: str, type: str) -> str:
    """The lexicon's word that a misread one stands for: one letter off, two in a long word; else itself."""
    from rapidfuzz import process
    from rapidfuzz.distance import Levenshtein

    edges = _by_edge(type)
    prefix = _PREFIX.match(word)
    near = [
        known
        for known in {*edges.get("^" + word[:2], ()), *edges.get(word[-3:] + "$", ())}
        if (other := _PREFIX.match(known)) is prefix or (prefix and other and prefix[0] == other[0])
    ]
    most = 2 if len(word) >= 10 else 1
    best = process.extractOne(word, sorted(near), scorer=Levenshtein.distance, score_cutoff=most)
    return str(best[0]) if best else word


def _part(store: Terminology, tokens: Sequence[str], plain: Sequence[str], type: str) -> Concept | None:
    """The concept of the longest part that keeps every meaning-turning word: broader than the mention."""
    keep = _qualifiers()["behaviour"]
    base = list(plain) or list(tokens)
    if not 2 <= len(base) <= 9:
        return None
    for left_out in range(1, len(base)):
        best: tuple[float, int] | None = None
        for parts in combinations(range(len(base)), left_out):
            if any(base[i] in keep for i in parts):
                continue
            rest = [token for i, token in enumerate(base) if i not in parts]
            row = store.find(" ".join(sorted(rest)), type)
            if row is None or (type != "site" and not _may_stand(rest, type)):
                continue
            # Of several parts of one length the later words win: the head stands last in English.
            rank = (sum(base.index(token) for token in rest) + store.information(row), row)
            best = max(best, rank) if best else rank
        if best:
            gone = tuple(token for token in tokens if token not in store.names[best[1]].lower())
            return Concept(store.ids[best[1]], store.names[best[1]], "broader", qualifiers=gone)
        if left_out >= 4:
            return None
    return None


_HEAD = named_pattern("lesion noun")


def _may_stand(tokens: Sequence[str], type: str) -> bool:
    """Whether a part may stand for the whole: a diagnosis needs the noun that names a lesion, and no
    part is an acronym (`all` inside `invasion of all layers`)."""
    if any(_HEAD.fullmatch(token) for token in tokens):
        return True
    return type != "diagnosis" and (len(tokens) > 1 or len(tokens[0]) > 4)


def _link_marker(text: str) -> Concept | None:
    store = terminology()
    bare = _PARENTHESES.sub("", text)
    tries = [text, bare, *(_SPLIT.split(bare) if len(bare) > 5 else ())]
    for how, part in ((("exact" if i < 2 else "broader"), part) for i, part in enumerate(tries)):
        form = squeezed(part)
        if len(form) < 2 and how == "broader":
            continue
        row = store.index.get("K" + form)
        if row is None:
            row, how = _marker_forms().get(fold(form).translate(_OCR)), "near" if how == "exact" else how
        if row is not None:
            return Concept(store.ids[row], store.names[row], how)
    row = _near_marker(squeezed(bare))
    return None if row is None else Concept(store.ids[row], store.names[row], "near")


@lru_cache(maxsize=1)
def _marker_forms() -> dict[str, int]:
    """Marker names with the letters that OCR takes for digits folded to those digits."""
    store = terminology()
    forms: dict[str, int] = {}
    for name in store.vocabulary["K"]:
        forms.setdefault(name.translate(_OCR), store.index["K" + name])
    return forms


_ALIKE, _LONG_NAME = 0.86, 7
"""Similarity (1 less the share of letters to change) of a misread marker name to the one it stands for, and the least
number of its characters: one letter of eight may be misread, two of fifteen. No fit is on record."""


def _near_marker(form: str) -> int | None:
    """A long marker name with a letter or two misread; its digits must agree."""
    from rapidfuzz import process
    from rapidfuzz.distance import Levenshtein

    if len(form) < _LONG_NAME:
        return None
    store = terminology()
    digits = _NOT_DIGITS.sub("", form)
    names = [name for name in store.vocabulary["K"] if _NOT_DIGITS.sub("", name) == digits]
    best = process.extractOne(form, names, scorer=Levenshtein.normalized_similarity, score_cutoff=_ALIKE)
    return store.index["K" + best[0]] if best else None


def ancestors(concept: Concept | str) -> list[str]:
    """Ids of everything broader than a concept, the most specific first.

    >>> "MONDO:0004993" in ancestors("MONDO:0007256")  # hepatocellular carcinoma is a carcinoma
    True
    """
    store = terminology()
    row = store.row_of.get(concept if isinstance(concept, str) else concept.id)
    if row is None:
        return []
    above = sorted(store.above(row) - {row}, key=lambda r: (-store.information(r), r))
    return [store.ids[r] for r in above]


def behaviour(concept: Concept | str) -> str | None:
    """malignant, insitu, premalignant, uncertain, benign or reactive; None where the lexicons do not say."""
    store = terminology()
    row = store.row_of.get(concept if isinstance(concept, str) else concept.id)
    return None if row is None else store.behaviour_of(row)


_HARMLESS = ("benign", "reactive")
_BETWEEN = ("insitu", "premalignant")


def similarity(a: Concept | str, b: Concept | str) -> float:
    """How much of one diagnosis, site or finding the other gets right, 0 to 1; symmetric.

    1 for the same concept; for parent and child Lin's measure 2·I(parent) / (I(a) + I(b)), so that a
    near ancestor earns more than a far one; for others six tenths of it on their nearest common
    ancestor; 0 for the unrelated. A malignant and a benign or reactive concept are never similar, and
    malignant against in situ or premalignant earns at most 0.3.
    """
    first = a if isinstance(a, str) else a.id
    second = b if isinstance(b, str) else b.id
    return _similarity(*sorted((first, second)))


@lru_cache(maxsize=200_000)
def _similarity(first: str, second: str) -> float:
    if first == second:
        return 1.0
    store = terminology()
    a, b = store.row_of.get(first), store.row_of.get(second)
    if a is None or b is None:
        return 0.0
    findings = [identity.startswith("FINDING:") for identity in (first, second)]
    if all(findings):
        return _finding_similarity(store, a, b)
    if any(findings):
        return _across(store, *((a, second) if findings[0] else (b, first)))
    cap = _cap(store.behaviour_of(a), store.behaviour_of(b))
    common = store.above(a) & store.above(b)
    if not common or cap == 0.0:
        return 0.0
    nearest = max(common, key=lambda row: (store.information(row), -row))
    shared = store.information(nearest)
    lin = 2.0 * shared / (store.information(a) + store.information(b))
    if nearest in (a, b):
        return min(cap, _CREDIT["most of a broader concept"], lin) if shared > _CREDIT["least broad concept"] else 0.0
    # Two cancers share nothing that a reader would credit, nor do two sites unless they are of one organ.
    sites = first.startswith(("UBERON", "SITE"))
    credited = bool(common & store.organs) if sites else shared > _CREDIT["least common ancestor"]
    return min(cap, _CREDIT["share of a common ancestor"] * lin) if credited else 0.0


def _cap(first: str | None, second: str | None) -> float:
    pair = {first, second}
    if "malignant" in pair and (pair & set(_HARMLESS)):
        return 0.0
    if pair & set(_BETWEEN) and ("malignant" in pair or pair & set(_HARMLESS)):
        return _CREDIT["most beside in situ"]
    return 1.0


def _across(store: Terminology, finding: int, other: str) -> float:
    """A finding and a diagnosis: reports name one lesion as either, so the finding is read as a diagnosis."""
    row = store.find(key(store.names[finding]), "diagnosis")
    return 0.0 if row is None else similarity(store.ids[row], other)


def _finding_similarity(store: Terminology, a: int, b: int) -> float:
    """Findings form shallow groups: credit for parent and child, less for one group, else none."""
    if a in store.above(b) or b in store.above(a):
        return _CREDIT["finding and its parent"]
    one_group = store.group.get(a) and store.group.get(a) == store.group.get(b)
    return _CREDIT["findings of one group"] if one_group else 0.0
