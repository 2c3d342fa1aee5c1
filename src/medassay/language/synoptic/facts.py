"""What the statements of an element say, as keys and values that can be compared: grade 2, pT3, invasion absent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from medassay.language.characters import with_single_spaces
from medassay.language.lexicon import named_pattern, read_tsv
from medassay.language.numbers import ROMAN
from medassay.language.quantities import quantities
from medassay.language.stains import Stain, read_stains
from medassay.language.synoptic.statements import Mention
from medassay.language.terms import forms

_TIERS = tuple((row["pattern"], row["value"]) for row in read_tsv("synoptic/any.tsv") if row["kind"] == "tier")
_DIFFERENTIATION = named_pattern("differentiation")
_NUMBERED = named_pattern("numbered grade")
_GRADED = named_pattern("near a grade")
_GLEASON = named_pattern("gleason score")
_IN_GLEASON_TERMS = named_pattern("gleason grade")
_NUCLEAR = named_pattern("nuclear grade")
_GROUP = named_pattern("grade group")
_T = named_pattern("t category")
_N = named_pattern("n category")
_OCR = {"O": "0", "o": "0", "I": "1", "i": "1", "l": "1"}
_NONE = named_pattern("vessel invasion denied")
_DOUBT = named_pattern("vessel invasion in doubt")
_VESSELS = (
    ("renal vein", named_pattern("renal vein")),
    ("lymphovascular", named_pattern("lymphatic or blood vessels")),
    ("lymphatic", named_pattern("lymphatic vessels")),
    ("venous", named_pattern("blood vessels")),
)
_THICKNESS = named_pattern("thickness")
_TUMOUR = named_pattern("measured tumour")
_RESULT = named_pattern("written result")
_NO_BEFORE = named_pattern("denial before")
_SIDE = named_pattern("side of a site")
_SIDES = forms("side in latin")
_SITES = named_pattern("part of an organ")


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


def _grade(statement: str) -> Iterator[tuple[str, str]]:
    if match := _GLEASON.search(statement):
        yield "gleason", f"{match['p']}+{match['s']}"
        if match["sum"]:
            yield "gleason sum", match["sum"]
        return
    if match := _GROUP.search(statement):
        yield "grade group", match["v"]
        return
    if _IN_GLEASON_TERMS.search(statement.lower()):
        return
    match = _DIFFERENTIATION.search(statement)
    if match and not match["range"]:
        yield "differentiation", next(tier for word, tier in _TIERS if match[0].lower().startswith(word))
    if match := _NUMBERED.search(statement):
        system = "nuclear grade" if _NUCLEAR.search(statement.lower()) else "grade"
        yield system, str(ROMAN.get(match["v"].upper(), match["v"]))


def _invasion(statement: str) -> Iterator[tuple[str, str]]:
    if _DOUBT.search(statement):
        return
    vessels = next((name for name, pattern in _VESSELS if pattern.search(statement)), "lymphovascular")
    yield vessels, "absent" if _NONE.search(statement) else "present"


def _stage(statement: str) -> Iterator[tuple[str, str]]:
    if match := _T.search(statement):
        yield "T", _OCR.get(match["v"], match["v"]) + (match["sub"] or "").lower()
    if match := _N.search(statement):
        yield "N", _OCR.get(match["v"], match["v"])


def _size(statement: str) -> Iterator[tuple[str, str]]:
    measure = "thickness" if _THICKNESS.search(statement) else "size" if _TUMOUR.search(statement) else "length"
    for quantity in quantities(statement):
        if quantity.dimension == "length" and quantity.high < 1000:
            yield measure, f"{quantity.low:g}"


def _side(statement: str) -> Iterator[tuple[str, str]]:
    for match in _SIDE.finditer(statement):
        side = match[1].lower()
        yield "side", _SIDES.get(side, side)
    for match in _SITES.finditer(statement):
        yield "part", with_single_spaces(match[0].lower())


def _stains(text: str) -> Iterator[Stain]:
    """Results that are written out: a marker's name alone, governed by a word far off, is left aside."""
    for stain in read_stains(text):
        written = _RESULT.search(text, stain.start, stain.end)
        if written and stain.result in ("positive", "negative", "wildtype", "mutant"):
            yield stain


_READERS: dict[str, Callable[[str], Iterator[tuple[str, str]]]] = {
    "grade": _grade, "lvi": _invasion, "ptnm": _stage, "size": _size, "site": _side,
}  # fmt: skip


def agree(key: str, first: str, second: str) -> bool:
    """Whether two values of a key can both hold: T1 and T1c can, 30 mm and 31 mm can, grade 1 and grade 2 cannot."""
    if key in ("size", "thickness"):
        low, high = sorted((float(first), float(second)))
        return high <= 1.25 * low + 0.5
    if key == "T":
        return first.startswith(second) or second.startswith(first)
    return first == second or (key == "differentiation" and {first, second} == {"3", "4"})
