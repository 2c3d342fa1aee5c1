"""Gleason patterns: present, absent, or all there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from medassay.language.graph import Report
from medassay.language.lexicon import named_pattern
from medassay.language.rules.base import Rule
from medassay.language.rules.verdict import CONTRADICTS, Kind, RuleVerdict

_SUM = named_pattern("gleason sum")
_ZERO_PERCENT = re.compile(r"\s*[:=]?\s*0\s*%")
"""Right after a pattern: none of the tumour has it."""
_CONTEXT = named_pattern("gleason context")
_PATTERN = named_pattern("gleason pattern")
_ONLY = named_pattern("nothing but")
_NONE = named_pattern("none of it")


class GleasonRule(Rule):
    """A pattern that makes up a score cannot be absent, nor the other one be all there is."""

    name = "gleason"

    def compare(self, premise: Report, hypothesis: Report) -> Iterator[RuleVerdict]:
        ours, theirs = dict(gleason_patterns(premise.text)), dict(gleason_patterns(hypothesis.text))
        if _excludes(ours, theirs) or _excludes(theirs, ours):
            spans = (0, len(premise.text)), (0, len(hypothesis.text))
            yield RuleVerdict(CONTRADICTS, Kind.GLEASON, *spans, self.weights["excluded pattern"])


@lru_cache(maxsize=20_000)
def gleason_patterns(text: str) -> tuple[tuple[int, str], ...]:
    """The Gleason patterns a text speaks of, each present, absent or only (nothing but this one).

    >>> gleason_patterns("Gleason score 7 (3+4)"), gleason_patterns("No Gleason pattern 4 is identified.")
    (((3, 'present'), (4, 'present')), ((4, 'absent'),))
    """
    patterns: dict[int, str] = {}
    for match in _SUM.finditer(text):
        if _CONTEXT.search(text):
            patterns.update((int(pattern), "present") for pattern in match.groups())
    for match in _PATTERN.finditer(text):
        around = text[max(0, match.start() - 30) : match.end() + 25]
        absent = _NONE.search(around) or _ZERO_PERCENT.match(text, match.end())
        patterns.setdefault(int(match[1]), "absent" if absent else "only" if _ONLY.search(around) else "present")
    return tuple(sorted(patterns.items()))


def _excludes(patterns: dict[int, str], others: dict[int, str]) -> bool:
    """Whether a pattern that is present on one side is absent on the other, or another is all there is."""
    only = {pattern for pattern, status in others.items() if status == "only"}
    return any(
        status == "present" and (others.get(pattern) == "absent" or only - {pattern})
        for pattern, status in patterns.items()
    )
