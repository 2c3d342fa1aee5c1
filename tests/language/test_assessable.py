"""What no patch can show, by rule."""

from __future__ import annotations

import pytest

from medassay.language.assessable import why_unseen
from medassay.language.concepts import link
from medassay.language.graph import Entity, Report


def why(text: str, kind: str, whole: str = "") -> str | None:
    whole = whole or text
    start = whole.index(text)
    entity = Entity(start, start + len(text), text, kind, "present", 0.9, link(text, kind))
    return why_unseen(Report(whole, (entity,), ()), [entity])[0]


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("CD20", "marker", "stains and markers"),
        ("positive", "modifier", "stain or marker"),
        ("Gleason 3+4", "grade", "grade and stage"),
        ("poorly differentiated", "descriptor", "qualifier"),
        ("tumor 2.5 cm", "finding", "numbers and sizes"),
        ("surgical margin", "finding", "not something a patch shows"),
        ("lymphovascular invasion", "finding", "matter of place"),
        ("lesion", "diagnosis", "too general"),
        ("mass", "diagnosis", "too general"),
    ],
)
def test_not_assessable(text: str, kind: str, reason: str) -> None:
    assert reason in str(why(text, kind))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("adenocarcinoma", "diagnosis"),
        ("squamous cell carcinoma", "diagnosis"),
        ("necrosis", "finding"),
        ("colon", "site"),
        ("granuloma", "finding"),
    ],
)
def test_assessable_by_rule(text: str, kind: str) -> None:
    assert why(text, kind) is None


def test_history_is_not_this_image() -> None:
    whole = "CLINICAL HISTORY: melanoma of the back.\nDIAGNOSIS: Lung: adenocarcinoma."
    assert "history" in str(why("melanoma", "diagnosis", whole))
    assert why("adenocarcinoma", "diagnosis", whole) is None
