"""Where a report states the elements of a protocol: fields (`Tumor size: 3 cm`) and free statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from medassay.language.lexicon import named_pattern
from medassay.language.synoptic.protocol import ELEMENTS, Protocol, blank_value, load_protocol, organ_words

LONGEST_TEXT = 60_000
"""Characters that are read: what stands behind them in a text is no report any more."""
_VALUE = 90
"""Characters of a field's value."""
_VALUE_END = re.compile(r"[;\n]|\.(?=\s|$)")
_NEXT_LABEL = re.compile(r"[\s.]{0,3}[A-Z(][\w /()&,'-]{1,60}:")
"""The label of another field, right after this one's: it has no value."""
_ITEM = re.compile(r"\s*\d{1,2}[.)]\s+[A-Z]")
"""The first item of a numbered list, which stands under a heading and is no value."""
_COUNTS = named_pattern("counted field")
_MOST = 200
"""Statements of an element that are looked at."""
_BEFORE = 60
"""Characters before a match that may exclude it."""
_EARLY, _NAMED, _HITS = 2, 2, 40
"""How much more a word for an organ counts in the first third of a report, the least weight of all words for one, and
how many of each are counted. No fit is on record."""


@dataclass(frozen=True, slots=True)
class Mention:
    """One statement of an element: the characters [start, end). rank: 0 for the most telling kind of statement."""

    element: str
    start: int
    end: int
    rank: int


def organ_of(text: str) -> str | None:
    """The organ whose protocol a report is to be held against: the one it names most; None where it names none.

    >>> organ_of("Prostate, biopsy; acinar adenocarcinoma"), organ_of("Well."),
    ('prostate', None)
    """
    weights: dict[str, float] = {}
    head = len(text) // 3 + 200
    for organ, weight, pattern in organ_words():
        hits = [match.start() for match in pattern.finditer(text, 0, LONGEST_TEXT)]
        # Words at the beginning say what was submitted; a list of blocks at the end may name many organs.
        weights[organ] = weights.get(organ, 0.0) + weight * sum(_EARLY if start < head else 1 for start in hits[:_HITS])
    best = max(weights, key=lambda organ: weights[organ])
    return best if weights[best] >= _NAMED else None


@lru_cache(maxsize=2_000)
def read_mentions(text: str, protocol_of: str) -> dict[str, tuple[Mention, ...]]:
    """The statements of every element in a report, those that tell most first; () where it states none."""
    protocol = load_protocol(protocol_of)
    text = text[:LONGEST_TEXT]
    return {element: tuple(_mentions(text, protocol, element)) for element in ELEMENTS}


def _mentions(text: str, protocol: Protocol, element: str) -> Iterator[Mention]:
    """A field of the element, then its free statements; what overlaps an earlier mention is left out."""
    taken: list[tuple[int, int]] = []
    candidates: list[Mention] = []
    label = protocol.labels.get(element)
    if label is not None:
        candidates += (Mention(element, *span, 0) for span in _fields(text, label, protocol.exclusions[element]))
    for rank, pattern in enumerate(protocol.states[element], 1):
        for match in pattern.finditer(text):
            if match.end() > match.start() and _states(text, match, protocol.exclusions[element]):
                candidates.append(Mention(element, match.start(), match.end(), rank))
    for mention in candidates[:_MOST]:
        if not any(start < mention.end and mention.start < end for start, end in taken):
            taken.append((mention.start, mention.end))
            yield mention


def _fields(text: str, label: re.Pattern[str], exclusions: tuple[re.Pattern[str], ...]) -> Iterator[tuple[int, int]]:
    """Fields with a value: from the label to the value's end."""
    for match in label.finditer(text):
        start = match.end()
        if _NEXT_LABEL.match(text, start) or blank_value().match(text[start : start + _VALUE].lstrip(" .\t")):
            continue
        end = _VALUE_END.search(text, start, start + _VALUE)
        stop = end.start() if end else min(len(text), start + _VALUE)
        value = text[start:stop].strip(" .:-")
        numbered = _ITEM.match(text, start) is not None and not _COUNTS.search(match[0])
        if value and not numbered and not any(pattern.search(text[match.start() : stop]) for pattern in exclusions):
            yield match.start(), stop


def _states(text: str, match: re.Match[str], exclusions: tuple[re.Pattern[str], ...]) -> bool:
    """Whether a match says something: its field is not blank, and no exclusion stands before it or in it."""
    before = text[max(0, match.start() - _BEFORE) : match.start()]
    if any(pattern.search(before) or pattern.search(match[0]) for pattern in exclusions):
        return False
    blank = blank_value().search(text, match.start(), match.end() + 20)
    return blank is None or blank.start() >= match.end()
