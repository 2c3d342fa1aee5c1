"""Linking mentions to concepts: load, speed, and the share linked on the annotated segments where they are there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, seconds
from medassay.language.concepts import LINKED_TYPES, link
from medassay.language.terminology import terminology

SEGMENTS = Path("../shared/data/pathology_entities/dev.jsonl")
TERMS = ["left kidney", "invasive ductal carcinoma", "HER-2/neu", "LVI", "squamous cell. carcinoma", "pT2 pN0"]
TYPES = ["site", "diagnosis", "marker", "finding", "diagnosis", "grade"]


def run() -> Iterator[Figure]:
    """Load, cached speed, coverage by type."""
    took = seconds(terminology)
    yield Figure("load the terminology", f"{took:.2f} s", "< 0.5 s", took < 0.5)
    many = 20_000
    took = seconds(lambda: [link(text, type) for _ in range(many) for text, type in zip(TERMS, TYPES)])
    rate = many * len(TERMS) / took
    yield Figure("mentions linked per second, seen before", f"{rate:,.0f}", "≥ 50,000", rate >= 50_000)
    if not SEGMENTS.exists():
        yield Figure("share of annotated mentions linked", "not assessed: no annotated segments here", "")
        return
    lines = SEGMENTS.read_text(encoding="utf-8").splitlines()
    mentions = [(e["text"], e["type"]) for line in lines for e in json.loads(line)["entities"]]
    all_of = Counter(type for _, type in mentions)
    linked = Counter(type for text, type in mentions if link(text, type) is not None)
    for type in LINKED_TYPES:
        yield Figure(f"{type} mentions linked, of {all_of[type]:,}", f"{linked[type] / all_of[type]:.1%}", "")
