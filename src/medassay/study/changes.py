"""Changes made to a text by rule: one clinical error of a kind, a visual hallucination, a harmless change throughout.

Rules are data (`rules/*.tsv`). Every choice is drawn from a generator seeded by the text and the kind, so
that the same text and seed give the same change. A change that finds nothing to change is `NotMade`, with
the reason: it never counts as a change without effect. The errors are for testing metrics only.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np

from medassay.language.lexicon import read_table
from medassay.language.sections import headings
from medassay.language.sentences import sentences

CRITICAL, MINOR, HARMLESS = "critical", "minor", "none"

_SHORT = 4
"""Names of up to this many characters are matched as written: `PR` is a marker, `pr` is not."""

_WORD = re.compile(r"[^\W\d_]{6,}")
_TYPO_SHARE = 0.05
_CLAUSE = re.compile(r"[;,]\s+")
_TWICE_DENIED = re.compile(r"\bno\b[^.;\n]{0,200}\b(?:not|absent)\b", re.I)
"""`No tumor is not seen` is no clear denial of `no tumor is seen`."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of change: its name, the harm it does (critical, minor, none), what it is."""

    name: str
    harm: str
    what: str


@dataclass(frozen=True, slots=True)
class NotMade:
    """Why a change could not be made in a text."""

    reason: str


def _rows(name: str) -> Iterator[dict[str, str]]:
    return read_table(files("medassay.study") / "rules" / name)


@lru_cache(maxsize=1)
def kinds() -> dict[str, Kind]:
    """Every kind of change by name, in the order of the rule file."""
    return {row["kind"]: Kind(row["kind"], row["harm"], row["what"]) for row in _rows("kinds.tsv")}


@lru_cache(maxsize=1)
def _aliases() -> dict[str, str]:
    return {also: row["kind"] for row in _rows("kinds.tsv") for also in row["also"].split("|") if also}


def kind_of(name: str) -> str:
    """Our name of a kind that a data file names, or that name itself.

    >>> kind_of("hallucination"), kind_of("negation"), kind_of("mix-up")
    ('invention', 'negation', 'mix-up')
    """
    plain = name.strip().lower()
    return plain if plain in kinds() else _aliases().get(plain, plain)


@lru_cache(maxsize=64)
def _rewrites(kind: str) -> list[tuple[re.Pattern[str], list[str]]]:
    rows = (row for row in _rows("rewrites.tsv") if row["kind"] == kind)
    return [(re.compile(row["pattern"], re.I), row["instead"].split("|")) for row in rows]


@lru_cache(maxsize=64)
def _scales(kind: str) -> list[tuple[re.Pattern[str], list[str]]]:
    rows = (row for row in _rows("scales.tsv") if row["kind"] == kind)
    return [(re.compile(row["pattern"], re.I), row["values"].split("|")) for row in rows]


@lru_cache(maxsize=64)
def _swaps(kind: str) -> tuple[re.Pattern[str] | None, dict[str, tuple[str, list[str]]]]:
    """One pattern of all names, longest first, and for each name the text it needs and its set."""
    sets: dict[str, tuple[str, list[str]]] = {}
    for row in (row for row in _rows("swaps.tsv") if row["kind"] == kind):
        members = row["names"].split("|")
        for name in members:
            sets.setdefault(name if len(name) <= _SHORT else name.lower(), (row["when"], members))
    if not sets:
        return None, {}
    ordered = sorted(sets, key=lambda name: (-len(name), name))
    parts = [re.escape(name) if len(name) <= _SHORT else f"(?i:{re.escape(name)})" for name in ordered]
    return re.compile(rf"(?<![\w-])(?:{'|'.join(parts)})(?![\w-]|/\w)"), sets


@dataclass(frozen=True, slots=True)
class _Edit:
    """Characters [start, end) are replaced by one of `instead`."""

    start: int
    end: int
    instead: tuple[str, ...]


def _edits(text: str, kind: str, random: np.random.Generator) -> list[_Edit]:
    """Every edit that a rule of this kind could make in the text."""
    edits: list[_Edit] = []
    for pattern, replacements in _rewrites(kind):
        for match in pattern.finditer(text):
            edits.append(_Edit(match.start(), match.end(), tuple(match.expand(member) for member in replacements)))
    for pattern, values in _scales(kind):
        for match in pattern.finditer(text):
            value = match["v"]
            others = _numbers(value) if values == ["*"] else [v for v in values if v != value.replace(" ", "")]
            edits.append(_Edit(match.start("v"), match.end("v"), tuple(others)))
    names, sets = _swaps(kind)
    for match in names.finditer(text) if names else ():
        name = match[0] if match[0] in sets else match[0].lower()
        when, members = sets[name]
        lowered = text.lower()
        others = [member for member in members if member.lower() not in lowered and _plural(member) == _plural(name)]
        if others and (not when or re.search(when, text, re.I)):
            edits.append(_Edit(match.start(), match.end(), (str(random.choice(others)),)))
    return [edit for edit in edits if edit.instead]


def _plural(name: str) -> bool:
    return name.endswith("s") and not name.endswith(("ss", "is", "us")) and len(name) > _SHORT


def _numbers(value: str) -> list[str]:
    """Other numbers of the same form: half, double and three times the value, decimals kept."""
    decimals = len(value.partition(".")[2])
    others = {f"{float(value) * factor:.{decimals}f}" for factor in (0.5, 2.0, 3.0)}
    return sorted(number for number in others if number != value and float(number) > 0) or [str(int(float(value)) + 3)]


def _applied(text: str, edit: _Edit, instead: str) -> str:
    """The text after one edit; capitals, the article before it and spaces are put right."""
    old = text[edit.start : edit.end]
    if old[:1].isupper() and instead[:1].islower():
        shouted = text[max(0, edit.start - 15) : edit.end + 15].isupper()
        acronym = old.isupper() and len(old) > 1 and re.search(r"\w[^.!?\n]*$", text[: edit.start])
        instead = instead.upper() if shouted else instead if acronym else instead[0].upper() + instead[1:]
    before, after = text[: edit.start], text[edit.end :]
    if not instead and old[:1].isupper():
        after = after[:1].upper() + after[1:]
    article = re.search(r"\b(an?) $", before, re.I)
    if article and instead:
        right = "an" if instead[0].lower() in "aeiou" else "a"
        before = before[: article.start()] + (right.capitalize() if article[1][0].isupper() else right) + " "
    if not instead or instead.endswith(" "):
        after = after.lstrip(" ") if before[-1:] in ("", " ", "\n") else after
    return before + instead + after


def _change_once(text: str, kind: str, random: np.random.Generator) -> str | NotMade:
    edits = _edits(text, kind, random)
    for i in random.permutation(len(edits)):
        changed = _applied(text, edits[i], str(random.choice(edits[i].instead)))
        twice = len(_TWICE_DENIED.findall(changed)) > len(_TWICE_DENIED.findall(text))
        if " ".join(changed.split()) != " ".join(text.split()) and not twice:
            return changed
    return NotMade(f"no word that a rule for {kind} knows")


def _omission(text: str, random: np.random.Generator) -> str | NotMade:
    """One sentence, or one clause of the only sentence, is left out."""
    spans = [(a, b) for a, b in sentences(text)]
    if len(spans) > 1:
        eligible = [(a, b) for a, b in spans if len(text[a:b].split()) >= 3]
        if not eligible:
            return NotMade("no sentence of three words or more")
        a, b = eligible[int(random.integers(len(eligible)))]
        return (text[:a].rstrip(" ") + " " + text[b:].lstrip(" ")).strip()
    cuts = [match.span() for match in _CLAUSE.finditer(text)]
    eligible = [(a, e) for (a, b), e in zip(cuts, [*(c[0] for c in cuts[1:]), len(text.rstrip(". "))]) if e - b > 12]
    if not eligible:
        return NotMade("a single statement")
    a, e = eligible[int(random.integers(len(eligible)))]
    return text[:a] + text[e:]


def _invention(text: str, random: np.random.Generator) -> str | NotMade:
    eligible = [
        row["sentence"]
        for row in _rows("inventions.tsv")
        if re.search(row["when"], text, re.I) and not re.search(row["unless"], text, re.I)
    ]
    if not eligible:
        return NotMade("every statement to add is spoken of already")
    sentence = str(random.choice(eligible))
    return text.rstrip() + " " + (sentence.upper() if text.isupper() else sentence)


def _contradiction(text: str, random: np.random.Generator) -> str | NotMade:
    """A sentence is repeated at the end, negated; the first stays."""
    spans = sentences(text)
    for i in random.permutation(len(spans)):
        sentence = text[slice(*spans[i])]
        denied = _change_once(sentence, "negation", random)
        if isinstance(denied, str):
            stop = "" if text.rstrip().endswith((".", "!", "?", ":")) else "."
            return f"{text.rstrip()}{stop} {denied.lstrip('-*• ')}"
    return NotMade("no sentence that a rule can deny")


def _spelling(text: str, random: np.random.Generator) -> str | NotMade:
    """Two letters change places, or one is lost, in one long word of twenty (at least one)."""
    words = list(_WORD.finditer(text))
    if not words:
        return NotMade("no word of six letters or more")
    count = max(1, round(_TYPO_SHARE * len(text.split())))
    for i in sorted(random.permutation(len(words))[:count], reverse=True):
        start, end = words[i].span()
        at = int(random.integers(start + 1, end - 2))
        swapped = text[at + 1] + text[at] if random.random() < 0.5 and text[at] != text[at + 1] else text[at]
        text = text[:at] + swapped + text[at + 2 :]
    return text


def _case(text: str, random: np.random.Generator) -> str | NotMade:
    changed = text.lower() if text.isupper() or random.random() < 0.5 else text.upper()
    changed = changed if changed != text else text.upper()
    return changed if changed != text else NotMade("no letter that has another case")


def _format(text: str, random: np.random.Generator) -> str | NotMade:
    """Sentences on lines of their own, or, where they are, all on one line."""
    spans = sentences(text)
    parts = [text[a:b] for a, b in spans]
    changed = " ".join(" ".join(part.split()) for part in parts) if "\n" in text.strip() else "\n\n".join(parts)
    return changed if changed != text else NotMade("a single sentence")


def _bullets(text: str, random: np.random.Generator) -> str | NotMade:
    parts = [" ".join(text[a:b].split()).lstrip("-*•· ") for a, b in sentences(text)]
    changed = "\n".join(f"- {part}" for part in parts if part)
    return changed if len(parts) > 1 and changed != text else NotMade("a single sentence, or bullets already")


def _headings(text: str, random: np.random.Generator) -> str | NotMade:
    """`**Findings:**` and `FINDINGS:` become `## Findings`, and that becomes `FINDINGS:`."""
    changed = text
    for start, body, _, title in reversed(headings(text)):
        style = f"{title.upper()}: " if text[start:body].lstrip().startswith("#") else f"## {title.capitalize()}\n"
        lead = "" if start == 0 or style[0] != "#" or changed[start - 1] == "\n" else "\n"
        changed = changed[:start] + lead + style + changed[body:].lstrip(" \n")
    return changed if changed != text else NotMade("no heading")


def _throughout(text: str, kind: str) -> str | NotMade:
    """The text with every edit of a harmless rule."""
    edits: list[_Edit] = []
    for pattern, replacements in _rewrites(kind):
        for match in pattern.finditer(text):
            if not any(edit.start < match.end() and match.start() < edit.end for edit in edits):
                edits.append(_Edit(match.start(), match.end(), (match.expand(replacements[0]),)))
    changed = text
    for edit in sorted(edits, key=lambda edit: -edit.start):
        changed = _applied(changed, edit, edit.instead[0])
    return changed if changed != text else NotMade(f"no word that a rule for {kind} knows")


_SPECIAL: dict[str, Callable[[str, np.random.Generator], str | NotMade]] = {
    "omission": _omission,
    "invention": _invention,
    "contradiction": _contradiction,
    "spelling": _spelling,
    "case": _case,
    "format": _format,
    "bullets": _bullets,
    "headings": _headings,
}


def change(text: str, kind: str, seed: int = 1) -> str | NotMade:
    """The text with one error of this kind, or harmlessly changed throughout.

    >>> change("No tumor in the left breast.", "laterality")
    'No tumor in the right breast.'
    >>> change("Benign.", "laterality")
    NotMade(reason='no word that a rule for laterality knows')
    """
    random = np.random.default_rng([seed, zlib.crc32(text.encode("utf-8", "replace")), zlib.crc32(kind.encode())])
    if kind in _SPECIAL:
        return _SPECIAL[kind](text, random)
    if kinds()[kind].harm == HARMLESS:
        return _throughout(text, kind)
    return _change_once(text, kind, random)


def reworded(text: str) -> str | NotMade:
    """A rewording by rule: synonyms and abbreviations throughout. Far closer to the text than a person's."""
    changed = text
    for kind in ("synonym", "abbreviation"):
        step = _throughout(changed, kind)
        changed = step if isinstance(step, str) else changed
    return changed if changed != text else NotMade("no word that a rule for rewording knows")


@dataclass(frozen=True, slots=True)
class Visible:
    """A name of something visible: its class, its group, and groups it could pass for."""

    kind: str
    group: str
    unlike: frozenset[str]
    name: str


@lru_cache(maxsize=1)
def visible() -> tuple[dict[str, Visible], re.Pattern[str]]:
    """Every name in small letters, and one pattern of all, longest first."""
    known: dict[str, Visible] = {}
    for row in _rows("visible.tsv"):
        unlike = frozenset(filter(None, row["unlike"].split("|")))
        for name in row["names"].split("|"):
            known.setdefault(name.lower(), Visible(row["class"], row["group"], unlike, name))
    longest = sorted(known, key=lambda name: (-len(name), name))
    return known, re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest))})(?![\w-])", re.I)


def hallucinate(text: str, seed: int = 1) -> str | NotMade:
    """The report as if written about another image: its visible findings are replaced by others.

    Every visible name of the table (`rules/visible.tsv`) is replaced by one of its class from a group that the
    text does not mention and that could not pass for the original; one group is replaced by one other throughout,
    so that the report stays coherent and the error shows only beside the image.

    >>> hallucinate("Colon: adenocarcinoma with irregular glands.") != "Colon: adenocarcinoma with irregular glands."
    True
    >>> hallucinate("No specimen received.")
    NotMade(reason='no visible finding that the table knows')
    """
    known, pattern = visible()
    random = np.random.default_rng([seed, zlib.crc32(text.encode("utf-8", "replace"))])
    matches = [(match, known[match[0].lower()]) for match in pattern.finditer(text)]
    if not matches:
        return NotMade("no visible finding that the table knows")
    mentioned = {finding.group for _, finding in matches}
    replacements: dict[tuple[str, str], str] = {}
    for _, finding in matches:
        if (finding.kind, finding.group) not in replacements:
            eligible = sorted(
                {
                    other.group
                    for other in known.values()
                    if other.kind == finding.kind
                    and other.group not in mentioned | finding.unlike
                    and finding.group not in other.unlike
                }
                - set(replacements.values())
            )
            if eligible:
                replacements[finding.kind, finding.group] = str(random.choice(eligible))
    changed = text
    for match, finding in reversed(matches):
        group = replacements.get((finding.kind, finding.group))
        if group is None:
            continue
        names = sorted(v.name for v in known.values() if v.kind == finding.kind and v.group == group)
        alike = [name for name in names if _plural(name) == _plural(finding.name)] or names
        changed = _applied(changed, _Edit(match.start(), match.end(), ()), str(random.choice(alike)))
    return changed if changed != text else NotMade("every group of the table is spoken of already")
