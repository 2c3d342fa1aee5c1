"""Keywords of a pathology report, from the list in `lexicons/keywords.tsv`."""

from __future__ import annotations

import re
from functools import lru_cache

from medassay.language.lexicon import expression, read_tsv

_SEPARATOR = re.compile(r"[\s-]")


@lru_cache(maxsize=1)
def _names() -> tuple[re.Pattern[str], dict[str, str]]:
    """One expression over all wordings, the longest first, and the keyword of each wording without punctuation."""
    owners: dict[str, str] = {}
    wordings: list[str] = []
    for row in read_tsv("keywords.tsv"):
        for wording in (row["keyword"], *(variant for variant in row["variants"].split("|") if variant)):
            owners[_bare(wording)] = row["keyword"]
            wordings.append(r"[\s-]".join(map(re.escape, _SEPARATOR.split(wording))))
    longest_first = sorted(wordings, key=len, reverse=True)
    return expression(rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)"), owners


def _bare(wording: str) -> str:
    return _SEPARATOR.sub(" ", wording.lower())


def keywords(text: str) -> dict[str, tuple[int, int]]:
    """The keywords of a text, each with its first mention [start, end); a longer one hides those inside it.

    >>> sorted(keywords("Breast, core-needle biopsy; invasive ductal carcinoma, grade II."))
    ['breast', 'core needle biopsy', 'grade 2', 'invasive carcinoma of no special type']
    """
    pattern, owners = _names()
    mentions: dict[str, tuple[int, int]] = {}
    for match in pattern.finditer(text):
        mentions.setdefault(owners[_bare(match[0])], match.span())
    return mentions
