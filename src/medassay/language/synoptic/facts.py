"""What the statements of an element say, as keys and values that can be compared: grade 2, pT3, invasion absent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from medassay.language.quantities import quantities
from medassay.language.stains import Stain, read_stains
from medassay.language.synoptic.statements import Mention

_ROMAN = {"I": "1", "II": "2", "III": "3", "IV": "4"}
_TIERS = (("well", "1"), ("moderate", "2"), ("poor", "3"), ("undifferen", "4"))
_DIFFERENTIATION = re.compile(
    r"(well|moderate|poor)\w{0,3}(?P<range>[\s.-]{1,3}(?:to|and)\b)?[^;]{0,16}?differen|undifferen", re.I
)
_NUMBERED = re.compile(
    r"(?<![a-z])(?:grade|NHG|G)[\s.:=()]{0,4}(?:G\s?)?(?P<v>[1-4]|I{1,3}V?|IV)(?![\w+-]|\s?[+-]|[.,]\s?\d)", re.I
)
_GRADED = re.compile(r"grade|differen|carcinoma|p?T[1-4]|p?N[0-3O]|\bR[0O]\b", re.I)
_GLEASON = re.compile(r"(?<!\d)(?P<p>[1-5])\s?\+\s?(?P<s>[1-5])(?:\s?=\s?(?P<sum>\d{1,2}))?")
_GROUP = re.compile(r"grade group[\s:=]{1,3}(?P<v>[1-5])", re.I)
_T = re.compile(r"T[\s.:]{0,3}T?(?P<v>is|[0-4Il])(?P<sub>[a-dA-D])?(?![a-z]{2}|\d)")
_N = re.compile(r"N(?P<v>[0-3OoIil])(?P<sub>[a-c])?(?![a-z]{2})")
_OCR = {"O": "0", "o": "0", "I": "1", "i": "1", "l": "1"}
_NONE = re.compile(
    r"\b(?:no|not|none|absent|negative|without|lacks?|absence|free|uninvolved)\b|[LV][0O](?!\w)|:\s?-", re.I
)
_DOUBT = re.compile(r"indeterminate|suspicious|possible|cannot|equivocal|suspected|unequivocal|definit", re.I)
_VESSELS = (
    ("renal vein", re.compile(r"renal vein", re.I)),
    ("lymphovascular", re.compile(r"lympho?-?[\s.]?vascular|angio-?lymphatic|lymphatic[/ ]|/lymphatic|LVI", re.I)),
    ("lymphatic", re.compile(r"lymphatic|\bp?L[01O]", re.I)),
    ("venous", re.compile(r"venous|vessel|vascular|vein", re.I)),
)
_THICKNESS = re.compile(r"breslow|thick", re.I)
_TUMOUR = re.compile(r"tumou?r|carcinoma|melanoma|mass|lesion|neoplasm|nodul|greatest|maximum|\bsize", re.I)
_RESULT = re.compile(r"positive|negative|mutat|wild|\+", re.I)
_NO_BEFORE = re.compile(r"\b(no|not|without|negative for|absence of)\b[^.;:,]{0,25}$", re.I)
_SIDE = re.compile(r"\b(left|right|sinistrae|dextrae)\b", re.I)
_SIDES = {"sinistrae": "left", "dextrae": "right"}
_SITES = re.compile(
    r"\b(?:upper|lower|middle) lobe|\b(?:head|body|tail) of|\b(?:upper|lower)[\s-](?:outer|inner)|"
    r"\b(?:ascending|descending|transverse|sigmoid)|\brectum|\bc(?:a)?ecum|\bantrum|\bfundus|\bcardia",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Fact:
    """What one statement says: `value` of `key` (grade of the system `gleason`: `3+4`), at [start, end)."""

    key: str
    value: str
    start: int
    end: int


def facts_of(text: str, element: str, mentions: tuple[Mention, ...]) -> list[Fact]:
    """The facts of an element's statements, in the order of the statements; [] where none can be compared."""
    if element == "biomarkers":
        return [Fact(stain.marker, stain.result, stain.start, stain.end) for stain in _stains(text)]
    reader = _READERS.get(element)
    if reader is None:
        return []
    return [
        Fact(key, value, mention.start, mention.end)
        for mention in mentions
        if not _is_block(text, element, mention)
        for key, value in reader(_denial(text, mention.start) + text[mention.start : mention.end])
    ]


def _is_block(text: str, element: str, mention: Mention) -> bool:
    """Whether `G1` is no grade but the name of a tissue block: nothing near it speaks of grade or stage."""
    if element != "grade" or mention.end - mention.start > 4:
        return False
    return _GRADED.search(text, max(0, mention.start - 40), mention.end + 40) is None


def _denial(text: str, start: int) -> str:
    """The negation that stands before a statement, which may begin behind it."""
    match = _NO_BEFORE.search(text, max(0, start - 30), start)
    return f"{match[1]} " if match else ""


def _grade(said: str) -> Iterator[tuple[str, str]]:
    if match := _GLEASON.search(said):
        yield "gleason", f"{match['p']}+{match['s']}"
        if match["sum"]:
            yield "gleason sum", match["sum"]
        return
    if match := _GROUP.search(said):
        yield "grade group", match["v"]
        return
    if "gleason" in said.lower() or "pattern" in said.lower():
        return
    match = _DIFFERENTIATION.search(said)
    if match and not match["range"]:
        yield "differentiation", next(tier for word, tier in _TIERS if match[0].lower().startswith(word))
    if match := _NUMBERED.search(said):
        system = "nuclear grade" if "nuclear" in said.lower() or "fuhrman" in said.lower() else "grade"
        yield system, _ROMAN.get(match["v"].upper(), match["v"])


def _invasion(said: str) -> Iterator[tuple[str, str]]:
    if _DOUBT.search(said):
        return
    vessels = next((name for name, pattern in _VESSELS if pattern.search(said)), "lymphovascular")
    yield vessels, "absent" if _NONE.search(said) else "present"


def _stage(said: str) -> Iterator[tuple[str, str]]:
    if match := _T.search(said):
        yield "T", _OCR.get(match["v"], match["v"]) + (match["sub"] or "").lower()
    if match := _N.search(said):
        yield "N", _OCR.get(match["v"], match["v"])


def _size(said: str) -> Iterator[tuple[str, str]]:
    lengths = [quantity for quantity in quantities(said) if quantity.dimension == "length" and quantity.high < 1000]
    measure = "thickness" if _THICKNESS.search(said) else "size" if _TUMOUR.search(said) else "length"
    for quantity in lengths:
        yield measure, f"{quantity.low:g}"


def _side(said: str) -> Iterator[tuple[str, str]]:
    for match in _SIDE.finditer(said):
        side = match[1].lower()
        yield "side", _SIDES.get(side, side)
    for match in _SITES.finditer(said):
        yield "part", re.sub(r"[\s-]+", " ", match[0].lower())


def _stains(text: str) -> Iterator[Stain]:
    """Results that are written out: a marker's name alone, governed by a word far off, is left aside."""
    for stain in read_stains(text):
        written = _RESULT.search(text, stain.start, stain.end)
        if written and stain.result in ("positive", "negative", "wildtype", "mutant"):
            yield stain


_READERS: dict[str, Callable[[str], Iterator[tuple[str, str]]]] = {
    "grade": _grade, "lvi": _invasion, "ptnm": _stage, "size": _size, "site": _side,
}  # fmt: skip


def agree(key: str, one: str, other: str) -> bool:
    """Whether two values of a key can both hold: T1 and T1c can, 30 mm and 31 mm can, grade 1 and grade 2 cannot."""
    if key in ("size", "thickness"):
        low, high = sorted((float(one), float(other)))
        return high <= 1.25 * low + 0.5
    if key == "T":
        return one.startswith(other) or other.startswith(one)
    return one == other or (key == "differentiation" and {one, other} == {"3", "4"})
