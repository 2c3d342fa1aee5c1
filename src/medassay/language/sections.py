"""Sections of a report (diagnosis, microscopic, gross …) and its specimen parts ("A. Kidney, left:").

Headings are recognised in Markdown (`## Final Diagnosis`, `**Final Diagnosis:**`), in capitals, on a line
of their own, or with a colon at the start of a sentence; which words are headings is data:
`lexicons/headings.tsv`. All offsets are characters of the text as given.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

from medassay.language.lexicon import named_pattern, read_tsv

_EDGE = r"(?:^|(?<=[\n.;:!?)\]*]))"
"""Where a heading or a label may begin: at the beginning, in a new line, or after punctuation."""
_MARKDOWN_LINE = re.compile(
    r"^[ \t]{0,3}(?:#{1,6}[ \t]{1,3}\*{0,2}(?P<a>[^\n*#:]{2,80}?)|\*\*(?P<b>[^\n*:]{2,80}?))[ \t]{0,3}"
    r"(?:\*\*[ \t]{0,2}:|:?\*\*|:|(?=\n)|$)",
    re.M,
)
_SPECIMEN = named_pattern("specimen label", edge=_EDGE)


@dataclass(frozen=True, slots=True)
class Section:
    """One section: `kind` is a name of headings.tsv, `other`, or `""` for text before any heading.

    The heading stands at [start, body); the text under it at [body, end).
    """

    kind: str
    title: str
    start: int
    body: int
    end: int


@dataclass(frozen=True, slots=True)
class Specimen:
    """One part of the material: label `A`, title `Kidney, left`, and the characters that speak of it."""

    label: str
    title: str
    start: int
    end: int


_CANDIDATE = re.compile(
    rf"{_EDGE}[ \t]{{0,3}}(?P<hash>#{{1,6}})?[ \t]{{0,3}}(?P<star>\*{{0,2}})(?P<name>[A-Za-z][A-Za-z()/& \t-]{{1,48}}?)"
    r"(?P<end>[ \t]{0,2}\*{0,2}[ \t]{0,2}:\*{0,2}|\*{2}|\.(?=[ \t\n])|[ \t]{0,3}(?=\n)|[ \t]{0,3}$)"
)
"""Words at the beginning of a line or sentence that end like a heading; `headings.tsv` says whether they are one."""


@lru_cache(maxsize=1)
def _kinds() -> dict[str, str]:
    """The section that each heading opens."""
    return {name: row["section"] for row in read_tsv("headings.tsv") for name in row["headings"].split("|")}


def section_kind(title: str) -> str:
    """The section that a heading of these words opens; empty where it is no known heading."""
    return _kinds().get(title.lower(), "")


def sections(text: str) -> list[Section]:
    """The report cut at its headings; together they cover the whole text.

    >>> [(s.kind, s.title) for s in sections("**Findings:** Necrosis.\\n## Final Diagnosis\\nCarcinoma.")]
    [('findings', 'Findings'), ('diagnosis', 'Final Diagnosis')]
    """
    heads = headings(text)
    starts = [start for start, _, _, _ in heads] + [len(text)]
    parts = [Section(kind, title, start, body, starts[i + 1]) for i, (start, body, kind, title) in enumerate(heads)]
    if starts[0] > 0 and text[: starts[0]].strip():
        parts.insert(0, Section("", "", 0, 0, starts[0]))
    return parts


def headings(text: str) -> list[tuple[int, int, str, str]]:
    """Every heading: where it starts, where the text under it starts, its section, its words."""
    kinds = _kinds()
    by_start: dict[int, tuple[int, int, str, str]] = {}
    for match in _CANDIDATE.finditer(text):
        name = " ".join(match["name"].split()).rstrip(" -")
        kind = kinds.get(name.lower())
        if kind is None:
            continue
        marked = match["hash"] or match["star"] or ":" in match["end"] or name.isupper()
        if marked or _alone(text, match.start(), match.end()):
            start = _skip(text, match.start())
            by_start[start] = (start, match.end(), kind, name)
    taken = {end for _, end, _, _ in by_start.values()}
    for match in _MARKDOWN_LINE.finditer(text):
        start = _skip(text, match.start())
        # A bold label inside a list (`**Necrosis:** absent`) is no section: only what stands alone or is a `#`.
        stands = "#" in match[0] or text[match.end() : match.end() + 1] in ("", "\n")
        if start not in by_start and match.end() not in taken and stands:
            title = " ".join((match["a"] or match["b"]).split())
            by_start[start] = (start, match.end(), kinds.get(title.lower(), "other"), title)
    ordered: list[tuple[int, int, str, str]] = []
    for start in sorted(by_start):
        if not ordered or start >= ordered[-1][1]:
            ordered.append(by_start[start])
    return ordered


def _alone(text: str, start: int, end: int) -> bool:
    """Whether a stretch of text is a line of its own."""
    return text[end : end + 1] in ("", "\n") and (start == 0 or "\n" in text[start - 1 : start + 1])


def _skip(text: str, start: int) -> int:
    while start < len(text) and text[start] in " \t\n":
        start += 1
    return start


def section_at(parts: list[Section], position: int) -> Section | None:
    """The section a character stands in."""
    at = bisect_right([part.start for part in parts], position) - 1
    return parts[at] if at >= 0 else None


def specimens(text: str) -> list[Specimen]:
    """The parts of the material, each up to the next part or the next heading.

    >>> [(s.label, s.title) for s in specimens("A. Kidney, left: carcinoma. B. Lymph node: benign.")]
    [('A', 'Kidney, left'), ('B', 'Lymph node')]
    """
    matches = [m for m in _SPECIMEN.finditer(text) if m["title"].strip().lower() not in _kinds()]
    heads = [start for start, _, _, _ in headings(text)]
    parts = []
    for i, match in enumerate(matches):
        start = _skip(text, match.start())
        end = _skip(text, matches[i + 1].start()) if i + 1 < len(matches) else len(text)
        at = bisect_right(heads, match.end())
        if at < len(heads):
            end = min(end, heads[at])
        parts.append(Specimen(match["label"], " ".join(match["title"].split()), start, end))
    return parts
