"""Visual hallucinations by rule: what a report says it sees gives way to what its image does not show.

Every visible name that the table knows (`rules/visible.tsv`) is replaced by one of its class from a group that
the text does not mention and that could not pass for the original; one group is replaced by one other
throughout, so that the report stays coherent and only the image can give it away. Seeded by the text.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from medassay.study.changes import NotMade, _applied, _Edit, _plural, _rows


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
    """The report as if written about another image.

    >>> hallucinate("Colon: adenocarcinoma with irregular glands.") != "Colon: adenocarcinoma with irregular glands."
    True
    >>> hallucinate("No specimen received.")
    NotMade(reason='no visible finding that the table knows')
    """
    known, pattern = visible()
    random = np.random.default_rng([seed, zlib.crc32(text.encode("utf-8", "replace"))])
    found = [(match, known[match[0].lower()]) for match in pattern.finditer(text)]
    if not found:
        return NotMade("no visible finding that the table knows")
    spoken = {one.group for _, one in found}
    instead: dict[tuple[str, str], str] = {}
    for _, one in found:
        if (one.kind, one.group) not in instead:
            fit = sorted(
                {
                    other.group
                    for other in known.values()
                    if other.kind == one.kind
                    and other.group not in spoken | one.unlike
                    and one.group not in other.unlike
                }
                - set(instead.values())
            )
            if fit:
                instead[one.kind, one.group] = str(random.choice(fit))
    made = text
    for match, one in reversed(found):
        group = instead.get((one.kind, one.group))
        if group is None:
            continue
        names = sorted(v.name for v in known.values() if v.kind == one.kind and v.group == group)
        alike = [name for name in names if _plural(name) == _plural(one.name)] or names
        made = _applied(made, _Edit(match.start(), match.end(), ()), str(random.choice(alike)))
    return made if made != text else NotMade("every group of the table is spoken of already")
