"""A report laid out for a reader with little room: clean, on one line, its diagnosis first.

Experts weigh the diagnosis most, and long reports end with it, where a fixed window would cut it off.
So template lines and mark-up are dropped and the diagnosis section moves to the front. The expert
metric and the recipe of its model both read reports in this layout.
"""

from __future__ import annotations

import re

from medassay.language.lexicon import named_pattern, ordered_words

_PLACEHOLDER = re.compile(r"\[[^\[\]\n]{0,120}\]|<[^<>\n]{0,60}>|_{3,}")
_MARKUP = re.compile(r"[*#`]+")
_HEADING = re.compile(r"^\s?[-•]?\s?([A-Za-z][A-Za-z0-9 /&()'-]{1,48}?)\s?:")
"""A label at the beginning of a line, and its colon."""
_ADMIN = named_pattern("administrative heading")
_WORD_CHARACTER = re.compile(r"\w")


def clean_lines(text: str) -> list[str]:
    """Lines of `text` without mark-up, placeholders, empty lines and administrative fields."""
    lines = []
    for raw in text.splitlines():
        line = _MARKUP.sub("", _PLACEHOLDER.sub(" ", raw))
        line = " ".join(line.split()).strip(" -•\t")
        if not _WORD_CHARACTER.search(line):
            continue
        heading = _HEADING.match(line)
        if heading and _ADMIN.match(heading.group(1).lower()):
            continue
        lines.append(line)
    return lines


def diagnosis_first(text: str) -> str:
    """`text` on one line with its diagnosis section moved to the front; order is kept otherwise.

    >>> diagnosis_first("**Findings:** atypical glands.\\n**Final Diagnosis:** Adenocarcinoma.\\n**Date:** [Date]")
    'Final Diagnosis: Adenocarcinoma. Findings: atypical glands.'
    """
    lines = clean_lines(text)
    headings = [_heading_of(line) for line in lines]
    for wanted in ordered_words("diagnosis heading"):
        matching = [i for i, name in enumerate(headings) if name == wanted]
        if matching:
            first = matching[-1]
            last = first + 1
            while last < len(lines) and headings[last] is None:
                last += 1
            return " ".join(lines[first:last] + lines[:first] + lines[last:])
    return " ".join(lines)


def _heading_of(line: str) -> str | None:
    match = _HEADING.match(line)
    if match is None:
        return None
    name = match.group(1).lower().strip()
    # "Invasive carcinoma: present" is a finding, not a heading: headings of sections are short.
    return name if len(name.split()) <= 4 else None
