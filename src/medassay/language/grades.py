"""Grades, stages, sizes, counts and percentages as values that can be compared.

`normalise_grade("Fuhrman grade 3/4")` is a `Grade` of system `fuhrman`, value 3, of 4. `compare_grades` tells
whether two say the same (`1.5 cm`, `15 mm`), agree without saying the same (`pT3`, `pT3a`; `poorly
differentiated`, `grade 3`), conflict, or speak of different things. The systems are data:
`lexicons/grades.tsv`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from medassay.language.characters import without_stops
from medassay.language.lexicon import expression, named_pattern, plain_words, read_tsv
from medassay.language.numbers import NUMBER_WORDS, TO_MILLIMETRES
from medassay.language.terms import fold

_ROMAN = {"i": 1, "v": 5, "x": 10}
_NUMBER = re.compile(r"\d+(?:\.\d+)?|\.\d+")
_ROMAN_NUMERAL = re.compile(r"[ivx]+")
_WORD_AND_DIGITS = re.compile(r"^(\w+) \(\d+\)$")
_LABEL = re.compile(r"^([a-z][a-z /-]+?)\s*[:=]\s*")
"""What is measured, before its value: `ki-67: 20 %`."""
_RELATION = named_pattern("relation before a number").pattern
_SIZE = named_pattern("size mention", relation=_RELATION, number=_NUMBER.pattern)
_PERCENT = named_pattern("share mention", relation=_RELATION, number=_NUMBER.pattern)
_RATE = named_pattern("rate mention", number=_NUMBER.pattern)
_COUNT = named_pattern("count mention", cardinal="|".join(NUMBER_WORDS))
_COUNTED = named_pattern("foci after a count")
_TNM = named_pattern("tnm category")
_TNM_JOINED = named_pattern("joined tnm categories")
_TNM_OR_WORD = named_pattern("tnm or a word")
_BEFORE_TNM = named_pattern("before tnm categories")
_LONGEST = 400
"""Characters of a mention that are read: the expressions above, and those of `grades.tsv`, may take quadratic time."""
_SAME_SIZE = 0.051
"""Share of a number by which two that were rounded may differ: 1.95 and 2.05 are one size. No fit is on record."""
_COVERED = 0.6
"""Share of a mention's letters that TNM categories must make up for it to be a stage. No fit is on record."""


@dataclass(frozen=True, slots=True)
class Grade:
    """One value. `value` is a number, or text for stages; `relation` is `=`, `<`, `>` or `~`.

    `tier` places it on a low–intermediate–high scale (1–3) where the system has one. Sizes are in
    millimetres, largest dimension first (`dims`).
    """

    system: str
    value: float | str
    of: float | None = None
    unit: str = ""
    relation: str = "="
    tier: int | None = None
    dims: tuple[float, ...] = ()
    label: str = ""

    def __str__(self) -> str:
        number = f"{self.value:g}" if isinstance(self.value, float) else self.value
        of = f"/{self.of:g}" if self.of is not None else ""
        sign = self.relation if self.relation != "=" else ""
        label = f" {self.label}" if self.label else ""
        return f"{self.system}{label} {sign}{number}{of}{' ' + self.unit if self.unit else ''}"

    def same_kind(self, other: Grade) -> bool:
        """Whether the two measure the same thing, so that they can agree or conflict."""
        return compare_grades(self, other) != "unrelated"

    def agrees(self, other: Grade) -> bool:
        """Whether both can be true: the same value, or one that the other allows."""
        return compare_grades(self, other) in ("equal", "compatible")


@dataclass(frozen=True, slots=True)
class _System:
    name: str
    pattern: re.Pattern[str]
    tiers: Mapping[str, int]


@lru_cache(maxsize=1)
def _systems() -> tuple[_System, ...]:
    systems = []
    for row in read_tsv("grades.tsv"):
        pairs = (pair.split("=") for pair in row["tiers"].split("|") if pair)
        systems.append(_System(row["system"], expression(row["pattern"], capitals=True), {k: int(v) for k, v in pairs}))
    return tuple(systems)


@lru_cache(maxsize=50_000)
def normalise_grade(text: str) -> Grade | None:
    """The value a grade mention states, or None where it states none we know.

    >>> str(normalise_grade("Fuhrman grade 3/4")), str(normalise_grade("Gleason's score 7 (4+3)"))
    ('fuhrman 3/4', 'gleason 4+3')
    >>> str(normalise_grade("2.3 x 2.0 x 1.1 cm")), str(normalise_grade("pT2c pNO"))
    ('size 23 mm', 'tnm T2c N0')
    """
    plain = without_stops(fold(text[:_LONGEST]).replace("tumour", "tumor")).strip(" ,;:")
    plain = " ".join(plain.split())
    return _tnm(plain) or _system_grade(plain) or _measure(plain)


def _system_grade(plain: str) -> Grade | None:
    for system in _systems():
        match = system.pattern.search(plain)
        if match is None:
            continue
        groups = {k: v for k, v in match.groupdict().items() if v}
        label = groups.get("label", "")
        if "p" in groups:
            value: float | str = f"{groups['p']}+{groups['s']}"
            return Grade(system.name, value, tier=_gleason_tier(int(groups["p"]), int(groups["s"])))
        raw = " ".join((groups.get("v") or groups.get("v2") or "").split())
        raw = "intermediate" if raw.endswith("intermediate") else raw
        if system.name == "stage":
            raw = raw.replace("l", "i").replace(" ", "")
        number = _number(raw)
        value = number if number is not None else raw
        upper = groups.get("v2") if "v" in groups else None
        tier = system.tiers.get(f"{number:g}" if number is not None else raw)
        if upper and upper in system.tiers:
            tier, value = system.tiers[upper], f"{raw}-{upper}"
        return Grade(
            system.name, value, of=_number(groups.get("of", "")), unit=groups.get("unit", ""), tier=tier, label=label
        )
    return None


def _gleason_tier(first: int, second: int) -> int:
    return 1 if first + second <= 6 else 2 if first + second == 7 else 3


def _tnm(plain: str) -> Grade | None:
    """TNM categories, with the letters that OCR puts for 0 and 1 read back (`pNO`, `ptl a`)."""
    parts: dict[str, str] = {}
    plain = _BEFORE_TNM.sub("", plain, count=1)
    covered = 0
    for match in _TNM.finditer(_TNM_JOINED.sub(r"\1 ", plain)):
        value = {"o": "0", "i": "1", "l": "1", "x": "X"}.get(match["v"], match["v"])
        axis = match["axis"].upper()
        parts.setdefault(axis, f"{axis}{value}{match['sub'] or ''}{match['tail']}")
        covered += len(match[0].replace(" ", ""))
    letters = len(plain.replace(" ", "").replace(",", ""))
    if not parts or covered < _COVERED * letters or _TNM_OR_WORD.fullmatch(plain):
        return None
    return Grade("tnm", " ".join(parts[axis] for axis in "TNM" if axis in parts))


def _measure(plain: str) -> Grade | None:
    labelled = _LABEL.match(plain)
    label = labelled[1] if labelled else ""
    if match := _RATE.search(plain):
        unit = "mm2" if match["unit"].startswith(("mm", "sq")) else "hpf"
        return Grade("rate", float(match["v"]), of=float(match["of"] or 1), unit=unit, label=label)
    if match := _SIZE.search(plain):
        factor = TO_MILLIMETRES[match["unit"].rstrip("s")]
        dims = sorted((float(n) * factor for n in _NUMBER.findall(match["dims"])), reverse=True)
        return Grade("size", dims[0], unit="mm", relation=_relation(match["rel"]), dims=tuple(dims), label=label)
    if match := _PERCENT.search(plain):
        low, high = float(match["low"]), match["high"]
        middle = (low + float(high)) / 2 if high else low
        return Grade("percent", middle, unit="%", relation=_relation(match["rel"]), label=label)
    if match := _COUNT.search(plain):
        value, of = _count(match["v"]), _count(match["of"])
        if value is not None and of is not None:
            return Grade("count", value, of=of, label=label)
    bare = _count(plain.removeprefix(labelled[0]) if labelled else plain)
    return None if bare is None else Grade("number", bare, label=label)


def _relation(word: str | None) -> str:
    if not word:
        return "="
    word = word.replace(" ", "") if word[0] in "<>" else word
    if word in plain_words("at most"):
        return "<"
    return "~" if word in plain_words("about") else ">"


def _count(word: str) -> float | None:
    word = _WORD_AND_DIGITS.sub(r"\1", word.strip())  # `two (2)`
    word = _COUNTED.sub("", word)
    if word in plain_words("none of them"):
        return 0.0
    if word in NUMBER_WORDS:
        return float(NUMBER_WORDS.index(word))
    if word.startswith("twenty"):
        rest = word[6:].strip(" -")
        return 20.0 + NUMBER_WORDS.index(rest) if rest in NUMBER_WORDS else None
    return _number(word)


def _number(word: str) -> float | None:
    word = word.strip()
    if _NUMBER.fullmatch(word):
        return float(word)
    if _ROMAN_NUMERAL.fullmatch(word) and word != "x":
        digits = [_ROMAN[letter] for letter in word]
        return float(sum(-a if a < b else a for a, b in pairwise([*digits, 0])))
    return None


_TIERED = ("grade", "nottingham", "nottingham_score", "differentiation", "figo_grade", "nuclear_grade")
GRADE_GROUPS = {"3+3": 1, "3+4": 2, "4+3": 3, "4+4": 4, "3+5": 4, "5+3": 4, "4+5": 5, "5+4": 5, "5+5": 5}
"""The grade group of each Gleason score (ISUP 2014)."""


def compare_grades(a: Grade, b: Grade) -> str:
    """`equal`, `compatible`, `conflict`, or `unrelated` (different things are measured). Symmetric."""
    if a.system == b.system:
        if a.label and b.label and a.label != b.label:
            return "unrelated"
        return _compare_same(a, b)
    systems = {a.system, b.system}
    if systems == {"gleason", "grade_group"}:
        gleason, group = (a, b) if a.system == "gleason" else (b, a)
        expected = GRADE_GROUPS.get(str(gleason.value), 1 if gleason.tier == 1 else None)
        return "unrelated" if expected is None else "compatible" if expected == group.value else "conflict"
    if systems <= set(_TIERED) and a.tier and b.tier:
        return "compatible" if a.tier == b.tier else "conflict"
    if systems == {"who", "grade"} and isinstance(a.value, float) and isinstance(b.value, float):
        return "compatible" if a.value == b.value else "conflict"
    return "unrelated"


def _compare_same(a: Grade, b: Grade) -> str:
    if a.system == "tnm":
        return _compare_tnm(str(a.value), str(b.value))
    if a.system in ("count", "rate"):
        if a.value == b.value and a.of == b.of and a.unit == b.unit:
            return "equal"
        return "compatible" if a.value == b.value == 0 else "conflict"
    if isinstance(a.value, float) and isinstance(b.value, float):
        return _compare_numbers(a, b)
    if a.value == b.value:
        return "equal"
    if a.tier and b.tier and a.system in ("grade", "differentiation", "nuclear_grade", "severity"):
        return "compatible" if a.tier == b.tier else "conflict"
    if a.system == "gleason":
        sums = [sum(map(int, str(g.value).split("+"))) if "+" in str(g.value) else g.value for g in (a, b)]
        mixed = ("+" in str(a.value)) != ("+" in str(b.value))
        return "compatible" if mixed and sums[0] == sums[1] else "conflict"
    return "conflict"


def _compare_numbers(a: Grade, b: Grade) -> str:
    x, y = float(a.value), float(b.value)
    close = abs(x - y) <= _SAME_SIZE * max(abs(x), abs(y))
    if a.relation == b.relation:
        return "equal" if close else "conflict"
    if "~" in (a.relation, b.relation) and close:
        return "compatible"
    for bound, exact in ((a, b), (b, a)):
        inside = exact.value <= bound.value if bound.relation == "<" else exact.value >= bound.value  # type: ignore[operator]
        if bound.relation in "<>" and exact.relation == "=" and inside:
            return "compatible"
    return "conflict"


def _compare_tnm(a: str, b: str) -> str:
    if a == b:
        return "equal"
    first = {part[0]: part for part in a.split()}
    second = {part[0]: part for part in b.split()}
    shared = set(first) & set(second)
    if not shared:
        return "unrelated"
    agree = all(first[x].startswith(second[x]) or second[x].startswith(first[x]) for x in shared)
    return "compatible" if agree else "conflict"
