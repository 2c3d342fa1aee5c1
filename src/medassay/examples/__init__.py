"""Bundled example cases.

Every text was written for medassay; no patient stands behind any of them. `pathology.csv` and
`notes.csv` hold 36 cases each with a text by each of two invented systems: `alder` is careful and
words things its own way, `birch` repeats the reference and gets facts wrong. The column `error` names
the kind and severity of each planted error (its words are in `corpus/demo/errors.jsonl` of the
repository); `human_score` (0 to 5, higher is better) is made up to illustrate and is no study.
`references.jsonl` holds cases with several references.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from medassay.cases import Case, read_cases
from medassay.errors import InputError

FILES = ("pathology.csv", "notes.csv")
"""The case files that the demonstration scores."""
ALL_FILES = (*FILES, "references.jsonl")
"""Every bundled case file."""
TRUST_FILE = "trust.csv"
"""Made-up reports about drawn pictures, for the demonstration of trust: numbers on them mean nothing."""
TRUST_PICTURES: dict[str, tuple[Literal["glands", "sheets", "pearls"], int]] = {
    "glands-1.png": ("glands", 1),
    "sheets-1.png": ("sheets", 2),
    "pearls-1.png": ("pearls", 3),
}
"""The pictures that it speaks of: kind and seed for `tissue.draw_tissue`."""


def example(name: str) -> Path:
    """The path of a bundled case file: `pathology.csv`, `notes.csv` or `references.jsonl`.

    >>> sum(1 for row in read_cases(example("pathology.csv")))
    72
    """
    path = Path(__file__).with_name(name)
    if not path.is_file():
        raise InputError(f"no example '{name}'; there are {', '.join(ALL_FILES)}")
    return path


def load(name: str) -> list[Case]:
    """The cases of a bundled file."""
    return [row.case for row in read_cases(example(name), strict=True) if row.case is not None]
