"""What a rule finds where it compares two statements."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

ENTAILS, CONTRADICTS = "entailment", "contradiction"

Characters = tuple[int, int]
"""Characters [start, end) of a text."""


class Kind(StrEnum):
    """What a verdict is about; those after `PROFILE` are the kinds of `oppositions.tsv`."""

    MARKER = "marker"
    NUMBER = "number"
    GRADE = "grade"
    GLEASON = "gleason"
    MARGIN = "margin"
    NODE = "node"
    SITE_STATUS = "site status"
    SIDE = "side"
    ASSERTION = "assertion"
    PROFILE = "profile"
    ADEQUACY = "adequacy"
    BENIGNITY = "benignity"
    CAPSULE = "capsule"
    CELLULARITY = "cellularity"
    CLONALITY = "clonality"
    CYTOLOGY = "cytology"
    EXTENT = "extent"
    FOCALITY = "focality"
    INVASION = "invasion"
    KERATIN = "keratin"
    NECROSIS = "necrosis"


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """What a rule found in two statements.

    label: entailment or contradiction. premise, hypothesis: the characters of either text that were compared.
    weight: how sure the rule is, 0–1.
    """

    label: str
    kind: Kind
    premise: Characters
    hypothesis: Characters
    weight: float = 1.0
