"""Does a text read like a pathology report? A warning for people, never a score.

A logistic regression over the presence of single words (`lexicons/report_words.tsv`, fitted by `tools/report_words.py`,
which prints how well it does on documents that it was not fitted on; docs/metrics/hare.md has the figures).
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

from medassay.language.lexicon import read_tsv

PATHOLOGY = "pathology report"
"""What HARE and the expert estimate are made for."""

LONGEST = 20_000
"""Characters of a text that are looked at."""

_WORD = re.compile(r"[a-z]{3,}")


def words(text: str) -> frozenset[str]:
    """The distinct words of a text, lower case, three letters and more."""
    return frozenset(_WORD.findall(text[:LONGEST].lower()))


@lru_cache(maxsize=1)
def _weights() -> tuple[dict[str, float], float]:
    rows = {row["word"]: float(row["weight"]) for row in read_tsv("report_words.tsv")}
    return rows, rows.pop("(constant)")


def report_probability(text: str) -> float:
    """How much a text reads like a pathology report, 0 to 1.

    >>> report_probability("Colon, biopsy: tubular adenoma with low-grade dysplasia. No carcinoma.") > 0.9
    True
    >>> report_probability("Patient complains of chest pain and takes aspirin daily. Blood pressure 140/90.") < 0.1
    True
    """
    weights, constant = _weights()
    z = math.fsum([constant, *(weights.get(word, 0.0) for word in words(text))])  # in any order the same
    return 1.0 / (1.0 + math.exp(-max(min(z, 60.0), -60.0)))


def reads_as_report(text: str) -> bool:
    """Whether a text reads like a pathology report."""
    return report_probability(text) >= 0.5
