"""False clinical histories for the adversarial half of stability, matched to the organ of the report.

The histories are a versioned table (`prompts/histories-1.tsv`). One is chosen for a case by its organ, must be
false for what the report says, and leans against it where possible: a malignant report gets a benign history
and the other way round. The choice depends on the case's id, its report and the seed, nothing else.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from medassay.cases import Case
from medassay.errors import InputError
from medassay.language.lexicon import read_table

VERSION = "histories-1"
COLUMNS = ("organ", "site", "specimen", "tissue")
"""Case columns that name the organ, looked at before the report itself."""

_MALIGNANT = re.compile(
    r"carcinom|lymphom|sarcom|melanom|malignan|leuk(?:a)?emi|metasta|blastom|myelom|seminom|gliom|cancer", re.I
)
_DENIED = re.compile(r"\b(?:no|not|without|negative for|free of|absen\w+)\b[^.;,]{0,40}$", re.I)


@dataclass(frozen=True, slots=True)
class History:
    """One false history.

    leans: malignant or benign. suggests: a report that matches this pattern may have this history, so that it would
    not be false.
    """

    id: str
    organ: str
    leans: str
    suggests: re.Pattern[str]
    text: str


@lru_cache(maxsize=8)
def histories(version: str = VERSION) -> tuple[History, ...]:
    """The table of a version, or of a file of the same form (`.tsv`)."""
    source = Path(version) if version.endswith(".tsv") else files("medassay.metrics") / "prompts" / f"{version}.tsv"
    try:
        rows = list(read_table(source))
    except OSError as error:
        raise InputError(f"histories: no table '{version}' ({error.strerror}); use {VERSION} or a .tsv file") from error
    wanted = {"id", "organ", "leans", "suggests", "history"}
    if not rows or not wanted <= set(rows[0]):
        raise InputError(f"histories: {version} needs the columns {', '.join(sorted(wanted))}")
    try:
        return tuple(
            History(row["id"], row["organ"], row["leans"], re.compile(row["suggests"], re.I), row["history"])
            for row in rows
        )
    except re.error as error:
        raise InputError(f"histories: {version}: '{error.pattern!r}' is no regular expression ({error})") from error


@lru_cache(maxsize=1)
def _organs() -> tuple[tuple[str, re.Pattern[str]], ...]:
    rows = read_table(files("medassay.metrics") / "prompts" / "organs.tsv")
    return tuple((row["organ"], re.compile(row["words"], re.I)) for row in rows)


def organ_of(*texts: str) -> str | None:
    """The organ that the texts speak of most; None where they name none of the known organs.

    >>> organ_of("Prostate, needle biopsy: adenocarcinoma, Gleason 3+4."), organ_of("Inflammation.")
    ('prostate', None)
    """
    best, most = None, 0
    for organ, words in _organs():
        count = sum(len(words.findall(text)) for text in texts)
        if count > most:
            best, most = organ, count
    return best


def leaning(report: str) -> str:
    """`malignant` where the report affirms a malignancy, else `benign`.

    >>> leaning("Invasive carcinoma."), leaning("No evidence of carcinoma.")
    ('malignant', 'benign')
    """
    affirmed = any(not _DENIED.search(report[: match.start()]) for match in _MALIGNANT.finditer(report))
    return "malignant" if affirmed else "benign"


def choose(case: Case, report: str, seed: int = 0, version: str = VERSION) -> History:
    """The false history for a case: of its organ, false for the report and the references, against its leaning.

    Where no history meets all three, the opposite leaning is dropped first, then the organ.

    Args:
        report: the report under judgement.
        seed: changes the draw among the histories that fit.
        version: a bundled table, or a `.tsv` file.

    Raises:
        InputError: no history of the table would be false for this report.
    """
    named = [str(case.extra[column]) for column in COLUMNS if case.extra.get(column)]
    organ = organ_of(*named) or organ_of(report, *case.references)
    texts = [report, *case.references]
    false_histories = [
        history for history in histories(version) if not any(history.suggests.search(known) for known in texts)
    ]
    opposite = {"malignant": "benign", "benign": "malignant"}[leaning(report)]
    tiers: Sequence[list[History]] = (
        [history for history in false_histories if history.organ == organ and history.leans == opposite],
        [history for history in false_histories if history.organ == organ],
        [history for history in false_histories if history.organ == "any" and history.leans == opposite],
        [history for history in false_histories if history.organ == "any"],
        false_histories,
    )
    eligible = next((tier for tier in tiers if tier), None)
    if eligible is None:
        raise InputError(f"case '{case.id}': its report touches on every history of {version}; none would be false")
    draw = hashlib.blake2b(f"{seed}|{case.id}|{report}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return eligible[int.from_bytes(draw) % len(eligible)]
