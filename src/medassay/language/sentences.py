"""Sentences of a report, as spans of the text as given.

nupunkt finds the full stops; report structure (headings, bullets, list labels, line breaks) adds ends that
carry none, and a full stop that OCR put at a line's end in mid-sentence ("negative for. malignancy") is read
over. Time is linear in the text. Every character that is not white space belongs to exactly one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from medassay.language.lexicon import named_pattern
from medassay.language.sections import headings

_BREAK = re.compile(
    r"\n[ \t\r]*(?=\n)"
    r"|\n(?=[ \t]{0,8}(?:[-*•·–#>]|\(?[0-9]{1,2}[.)][ \t]|\(?[A-Za-z][.)][ \t]))"
    r"|(?<=[.;:!?*)])[ \t]{1,4}(?=[-–•·*][ \t]{1,4}\S)"
    r"|(?<=[\w.)%])[ \t]{1,4}(?=[-–•][ \t]{1,4}[A-Z][a-z])"
    r"|(?=[•·][ \t])"
)
"""An empty line, a list item in a new line, a bullet, a dash before a capital."""
_AFTER_NOS = named_pattern("after nos")
_LINE = re.compile(r"\n")
_INK = re.compile(r"\S")
_ENDED = re.compile(r"[.:;!?*)\]\"]\s*$")
_LABEL = named_pattern("list label")
_OPEN = named_pattern("unfinished sentence")
_LOWER = re.compile(r"[\s\"'(]{0,12}+(?:[a-z](?![A-Z])|[,;)])")
"""What goes on with the sentence before: a small letter that begins no name such as pT2, or punctuation."""
LONGEST = 2_000
"""Characters of a sentence: what goes on for longer is cut at white space, so that work on sentences stays bounded."""
_LONG_LINE = 55
"""A line at least this long that does not end a sentence was wrapped: the next one goes on."""


def sentences(text: str) -> list[tuple[int, int]]:
    """Spans [start, end) of the sentences, in order, without white space at their edges.

    >>> text = "Sections are negative for. malignancy. A. Kidney, left: benign."
    >>> [text[a:b] for a, b in sentences(text)]
    ['Sections are negative for. malignancy.', 'A. Kidney, left: benign.']
    """
    return [piece for start, end in _whole(text) for piece in _pieces(text, start, end)]


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A sentence in pieces of at most `LONGEST` characters."""
    while end - start > LONGEST:
        blank = next((at for at in range(start + LONGEST, start + LONGEST // 2, -1) if text[at].isspace()), None)
        cut = start + LONGEST if blank is None else blank
        if start < cut:
            yield _trim(text, start, cut)
        start = cut
        while start < end and text[start].isspace():
            start += 1
    if start < end:
        yield start, end


def _whole(text: str) -> list[tuple[int, int]]:
    hard = _hard_breaks(text)
    ends = sorted(hard | _full_stops(text) | {len(text)})
    spans: list[tuple[int, int]] = []
    start = 0
    for end in ends:
        if end <= start:
            continue
        if _INK.search(text, start, end) is None:
            start = end
        elif end in hard:
            if not _is_label(text, start, end):
                spans.append(_trim(text, start, end))
                start = end
        elif end == len(text) or not _goes_on(text, start, end):
            spans.append(_trim(text, start, end))
            start = end
    if _INK.search(text, start):
        spans.append(_trim(text, start, len(text)))
    return spans


def _full_stops(text: str) -> set[int]:
    """Where nupunkt ends a sentence."""
    import nupunkt

    return {end for _, end in nupunkt.sent_spans(text)}


def _hard_breaks(text: str) -> set[int]:
    """Where the report's structure ends a sentence whatever the punctuation."""
    breaks = {match.end() for pattern in (_BREAK, _AFTER_NOS) for match in pattern.finditer(text)}
    for start, body, _, _ in headings(text):
        breaks.update((start, body))
    line_start = 0
    for match in _LINE.finditer(text):
        line = text[line_start : match.start()]
        ended = len(line) < _LONG_LINE or _ENDED.search(line[-8:])
        if ended and not _LOWER.match(text[match.end() : match.end() + 4]):
            breaks.add(match.end())
        line_start = match.end()
    breaks.discard(0)
    return breaks


def _goes_on(text: str, start: int, end: int) -> bool:
    """Whether a full stop is OCR's, an abbreviation's or a list label's, and the sentence goes on after it."""
    if _is_label(text, start, end):
        return True
    tail = text[max(start, end - 16) : end].rstrip()
    if _OPEN.search(tail):
        return True
    return bool(_LOWER.match(text[end : end + 12])) and not tail.endswith((":", ";"))


def _is_label(text: str, start: int, end: int) -> bool:
    """`A.`, `2)`, `-`, `PART 3:`: what opens a list item and is no sentence."""
    return end - start < 24 and _LABEL.fullmatch(text[start:end].strip()) is not None


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
