"""Stage and grade categories that follow from numbers and words, and those that a text states.

`derived("Breast carcinoma, 18 mm")` gives T1c, `stated("pT2 pN1a")` gives T2 and N1a; `agree` tells whether
a derived and a stated category can both hold. The definitions are data: `lexicons/stages.tsv`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from medassay.language.knowledge import Feature, find_feature, organs, parse_features, read_findings
from medassay.language.lexicon import named_pattern, read_tsv
from medassay.language.quantities import Quantity, quantities
from medassay.language.stains import read_stains
from medassay.language.status import read_status

_T = re.compile(r"\b[yrcpa]{0,2}T(?P<v>is|[0-4](?:mi|[a-d])?)(?!\w|\.\d)")
_N = re.compile(
    r"\b(?:[yrc]?p|[yrca]{1,2}|[yrcpa]{0,2}T[\w()]{1,5},?\s?(?:[yrc]?p)?)N(?P<v>[0-3][abc]?(?:mi)?)(?P<i>\s?\(i\+\))?(?![\w-]|\.\d)"
)
_FIGO = re.compile(r"\bFIGO (?:stage )?(?P<v>I{1,3}V?[ABC]?[12]?|IV[AB]?)\b(?! ?grade)")
_NET = re.compile(r"\bNET,? ?(?:WHO )?G(?:rade )?(?P<v>[123])\b|\bG(?:rade )?(?P<w>[123]) (?:NET|neuroendocrine)", re.I)
_FIGO_GRADE = re.compile(r"\bFIGO (?:grade )(?P<v>[123])\b", re.I)
_BUDDING = re.compile(r"\bBd(?P<v>[123])\b")
_WHO = re.compile(r"meningioma\b.{0,200}?\bgrade (?P<v>[123])\b", re.I)
_HISTOLOGIC = re.compile(
    r"(?<!nuclear )\b(?:nottingham |histologic(?:al)? |overall |combined )?grade:? (?P<v>[123]|I{1,3})\b(?! \(?of 4)",
    re.I,
)
_STATED = {
    "t": (_T, "T"), "figo": (_FIGO, ""), "figo_grade": (_FIGO_GRADE, "G"), "budding": (_BUDDING, "Bd"),
    "meningioma": (_WHO, "grade "),
    "nottingham": (_HISTOLOGIC, "G"),
}  # fmt: skip


_ROMAN = {"I": "1", "II": "2", "III": "3"}


@dataclass(frozen=True, slots=True)
class _Rule:
    scheme: str
    organs: frozenset[str]
    words: tuple[str, ...]
    measure: str
    above: float
    upto: float
    category: str
    phrases: tuple[Feature, ...]


@lru_cache(maxsize=1)
def _rules() -> tuple[_Rule, ...]:
    return tuple(
        _Rule(
            row["scheme"], frozenset(row["organs"].split("/")), tuple(row["words"].split("|")), row["measure"],
            float(row["above"] or 0), float(row["upto"] or 0), row["category"], parse_features(row["phrase"]),
        )
        for row in read_tsv("stages.tsv")
    )  # fmt: skip


@lru_cache(maxsize=20_000)
def stated(text: str) -> dict[str, tuple[str, int, int]]:
    """The categories a text names: scheme to (category, start, end).

    >>> {scheme: found[0] for scheme, found in stated("pT2 pN1a").items()}
    {'t': 'T2', 'n': 'N1a'}
    """
    found: dict[str, tuple[str, int, int]] = {}
    for scheme, (pattern, prefix) in _STATED.items():
        match = pattern.search(text)
        if match:
            value = _ROMAN.get(match["v"].upper(), match["v"]) if scheme == "nottingham" else match["v"]
            found[scheme] = (prefix + value, match.start(), match.end())
    if match := _N.search(text):
        found["n"] = ("N" + match["v"], match.start(), match.end())
    if match := _NET.search(text):
        found["net"] = ("G" + (match["v"] or match["w"]), match.start(), match.end())
    return found


@lru_cache(maxsize=20_000)
def derived(text: str) -> dict[str, tuple[str, int, int]]:
    """The categories that follow from a text's numbers and words; a scheme with two candidates is left out."""
    where = organs(text)
    tokens = [word for sentence in read_findings(text).sentences for word, _, _ in sentence]
    found: dict[str, set[tuple[str, int, int]]] = {}
    for rule in _rules():
        if "any" not in rule.organs and not rule.organs & where:
            continue
        if rule.words != ("",) and not any(word in token for token in tokens for word in rule.words):
            continue
        at = _holds(text, rule)
        if at is not None:
            found.setdefault(rule.scheme, set()).add((rule.category, *at))
    made = {}
    if (summed := _nottingham(text)) is not None:
        made["nottingham"] = summed
    for scheme, candidates in found.items():
        if len({category for category, _, _ in candidates}) == 1:
            made[scheme] = min(candidates, key=lambda one: one[1])
    return made


_COMPONENT = named_pattern("nottingham component")


def _nottingham(text: str) -> tuple[str, int, int] | None:
    """The histologic grade that the three components of the Nottingham score add up to: 3–5, 6–7, 8–9."""
    parts = list(_COMPONENT.finditer(text))
    if len(parts) != 3:
        return None
    total = sum(int(match["v"]) for match in parts)
    return f"G{1 if total <= 5 else 2 if total <= 7 else 3}", parts[0].start(), parts[-1].end()


def _holds(text: str, rule: _Rule) -> tuple[int, int] | None:
    if rule.measure == "words":
        findings = read_findings(text)
        return next((at for feature in rule.phrases if (at := find_feature(findings, feature)) is not None), None)
    if rule.measure == "nodes":
        for status in read_status(text):
            if status.topic == "node" and status.positive is not None and rule.above < status.positive <= rule.upto:
                return status.start, status.end
        return None
    if rule.measure == "ki67":
        for stain in read_stains(text):
            if stain.marker == "KI67" and stain.low is not None and rule.above < stain.low <= rule.upto:
                return stain.start, stain.end
        return None
    some = [q for q in quantities(text) if _measures(text, q, rule.measure)]
    if len({(q.low, q.high) for q in some}) != 1:
        return None
    one = some[0]
    return (one.start, one.end) if rule.above < one.low and one.high <= rule.upto else None


def _measures(text: str, quantity: Quantity, measure: str) -> bool:
    before = text[max(0, quantity.start - 30) : quantity.end + 30].lower()
    if measure == "size":
        return quantity.dimension == "length" and quantity.aspect == "size"
    if measure == "depth":
        return quantity.dimension == "length" and (quantity.aspect == "depth" or "breslow" in before)
    if measure == "solid":
        return quantity.dimension == "share" and "solid" in before
    if measure == "hpf":
        return quantity.dimension == "rate_hpf" and "mito" in before
    if measure == "buds":
        return quantity.dimension in ("number", "rate_mm2") and "bud" in before
    return False


def agree(derived_: str, stated_: str) -> bool | None:
    """Whether a category that follows and one that is stated can both hold: T1c and T1 can, T1c and T2 cannot.

    None where the stated one says more than what follows (T2 follows, T2a is stated).
    """
    if derived_.startswith(stated_):
        return True
    return None if stated_.startswith(derived_) else False
