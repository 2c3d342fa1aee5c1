"""Material for the `quality` role: notes with a known number of typed errors, and counted facts.

ClinicalBLEURT's recipe: quality = 1 − error score / max(sentences in candidate, in reference), an error
score of 1 for a critical error, 1/3 for a non-critical one, 1/12 for a slip of spelling or grammar (Ben Abacha
et al. 2023, section 4). The paper's errors were made by people; here they are made by rule in public notes.
"""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medassay.errors import InputError
from medassay.language.sentences import sentences
from medassay.study.changes import change

NAN = float("nan")
CRITICAL, NON_CRITICAL, SPELLING = 1.0, 1 / 3, 1 / 12
SHARES = ("precision", "recall", "hallucination", "omission")
"""What the counted facts of a candidate give: two shares that should be high, two that should be low."""

_CRITICAL = ("negation", "laterality", "diagnosis", "drug", "marker", "measurement", "grade", "site")
_UNREMARKABLE = re.compile(r"\b(no|denies|negative|normal|unremarkable|none|without)\b", re.I)
_AGE = re.compile(r"\b\d{1,3}(?=[- ]years?[- ]old|[- ]?y/?o\b)|\b(?:19|20)\d\d\b", re.I)


@dataclass(frozen=True, slots=True)
class QualityPair:
    """A reference, a candidate and the candidate's quality (0–1, higher is better)."""

    reference: str
    candidate: str
    quality: float


def quality_of(reference: str, candidate: str, errors: float) -> float:
    """The published quality: 1 − error score / max(sentences), never below 0.

    >>> quality_of("One. Two.", "One. Too.", 1 / 12)
    0.9583333333333334
    """
    count = max(len(sentences(reference)), len(sentences(candidate)), 1)
    return max(0.0, 1.0 - errors / count)


def damaged(text: str, others: Sequence[str], chooser: random.Random) -> QualityPair:
    """`text` as reference against itself with none to four errors of mixed weight."""
    made, errors = text, 0.0
    for _ in range(chooser.choices(range(5), (2, 3, 3, 2, 2))[0]):
        roll = chooser.random()
        changed: str | None
        if roll < 0.5:
            changed, weight = _critical(made, others, chooser), CRITICAL
        elif roll < 0.75:
            changed, weight = _non_critical(made, chooser), NON_CRITICAL
        else:
            slip = change(made, "spelling", chooser.randrange(10**6))
            changed, weight = (slip if isinstance(slip, str) else None), SPELLING
        if changed and changed != made:
            made, errors = changed, errors + weight
    return QualityPair(text, made, quality_of(text, made, errors))


def _critical(text: str, others: Sequence[str], chooser: random.Random) -> str | None:
    roll = chooser.random()
    spans = sentences(text)
    if roll < 0.15 and len(spans) > 2:
        a, b = chooser.choice(spans)
        return f"{text[:a].rstrip()} {text[b:].lstrip()}".strip()
    if roll < 0.3 and others:
        other = chooser.choice(others)
        a, b = chooser.choice(sentences(other) or [(0, len(other))])
        cut = chooser.choice([end for _, end in spans] or [len(text)])
        return f"{text[:cut].rstrip()} {other[a:b].strip()} {text[cut:].lstrip()}".strip()
    for kind in chooser.sample(_CRITICAL, len(_CRITICAL)):
        made = change(text, kind, chooser.randrange(10**6))
        if isinstance(made, str):
            return made
    return None


def _non_critical(text: str, chooser: random.Random) -> str | None:
    """A normal finding left out, an age or a year off, a sentence said twice."""
    spans = sentences(text)
    normal = [(a, b) for a, b in spans if _UNREMARKABLE.search(text[a:b])]
    numbers = list(_AGE.finditer(text))
    roll = chooser.random()
    if roll < 0.4 and numbers:
        found = chooser.choice(numbers)
        digit = str((int(found[0][-1]) + chooser.randint(1, 8)) % 10)
        return text[: found.end() - 1] + digit + text[found.end() :]
    if roll < 0.8 and normal and len(spans) > 2:
        a, b = chooser.choice(normal)
        return f"{text[:a].rstrip()} {text[b:].lstrip()}".strip()
    if spans:
        a, b = chooser.choice(spans)
        return f"{text[:b]} {text[a:b].strip()} {text[b:].lstrip()}".strip()
    return None


@dataclass(frozen=True, slots=True)
class FactPair:
    """A candidate with its reference, its source, and the shares of `SHARES` (NaN: unknown)."""

    id: str
    reference: str
    candidate: str
    source: str
    shares: tuple[float, float, float, float]
    weight: float = 1.0


def shares_of(counts: dict[str, Any]) -> tuple[float, float, float, float]:
    """Shares from counted facts; omission counts the critical facts that are missing where they are known."""
    said = counts["correct"] + counts["incorrect"] + counts["hallucinated"]
    whole = max(counts["ref_facts"], 1)
    return (
        counts["correct"] / said if said else NAN,
        min(1.0, counts["correct"] / whole),
        counts["hallucinated"] / said if said else NAN,
        min(1.0, counts["omitted"] / whole),
    )


def read_facts(path: Path, weight: float = 1.0) -> list[FactPair]:
    """Counted facts of a JSONL file, or scored rows of a CSV with `factual_precision` … `omission_rate`."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as lines:
            return [_scored(row, path, number, weight) for number, row in enumerate(csv.DictReader(lines), 2)]
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [
        FactPair(str(row["id"]), row["reference"], row["candidate"], row["source"], shares_of(row), weight)
        for row in rows
    ]


def _scored(row: dict[str, str], path: Path, number: int, weight: float) -> FactPair:
    columns = ("factual_precision", "factual_recall", "hallucination_rate", "omission_rate")
    try:
        precision, recall, invented, omitted = (float(row[name]) if row[name] else NAN for name in columns)
    except (KeyError, ValueError) as error:
        raise InputError(f"{path}: row {number}: needs numbers in {', '.join(columns)} ({error})") from error
    shares = (precision, recall, invented, omitted)
    return FactPair(row["id"], row["reference"], row["candidate"], row["source"], shares, weight)
