"""Statements of a report that cannot both hold, on given facts."""

from __future__ import annotations

import pytest

from medassay.language.synoptic import ELEMENTS, load_protocol, read_mentions
from medassay.language.synoptic.conflicts import find_conflicts
from medassay.language.synoptic.facts import facts_of


def conflicts(text: str, organ: str = "breast") -> list[tuple[str, str]]:
    """(element, kind) of each conflict in a text."""
    mentions = read_mentions(text, organ)
    facts = {element: facts_of(text, element, mentions[element]) for element in ELEMENTS}
    return [(conflict.element, conflict.kind) for conflict in find_conflicts(text, facts, load_protocol(organ))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Carcinoma, grade 1. Carcinoma, grade 3.", [("grade", "contradicted")]),
        ("Carcinoma, grade 1, poorly differentiated.", [("grade", "inconsistent")]),
        ("Carcinoid, grade 2, well differentiated.", []),
        ("Margins are free. Margins are involved.", [("margins", "contradicted")]),
        ("Tumor size: 31 mm. pT1c.", [("ptnm", "inconsistent")]),
        ("Tumor size: 15 mm. pT1c.", []),
        ("pT1 pN0. One of two lymph nodes is positive.", [("nodes", "inconsistent")]),
        ("Lymph nodes: 5/2 positive.", [("nodes", "inconsistent")]),
        ("Multifocal. Carcinoma, grade 1. Carcinoma, grade 3.", []),
    ],
)
def test_conflicts(text: str, expected: list[tuple[str, str]]) -> None:
    assert conflicts(text) == expected


def test_gleason_scores_and_groups() -> None:
    assert conflicts("Adenocarcinoma, Gleason score 3+4=7, grade group 4.", "prostate") == [("grade", "inconsistent")]
    assert conflicts("Adenocarcinoma, Gleason score 3+4=7, grade group 2.", "prostate") == []


def test_a_conflict_quotes_both_statements() -> None:
    text = "Tumor size: 31 mm. pT1c."
    mentions = read_mentions(text, "breast")
    facts = {element: facts_of(text, element, mentions[element]) for element in ELEMENTS}
    (conflict,) = find_conflicts(text, facts, load_protocol("breast"))
    assert text[slice(*conflict.first)] == "pT1c" and "31 mm" in text[slice(*conflict.second)]
    assert conflict.reason == "pT1c is 10 to 20 mm, not 31 mm"
