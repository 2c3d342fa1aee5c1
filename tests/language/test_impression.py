"""Site and diagnosis of given readings."""

from __future__ import annotations

import pytest

from medassay.language.graph import Entity, Report
from medassay.language.impression import impression


def report(text: str, *marked: tuple[str, str, str]) -> Report:
    """A report whose entities are given as words, type and assertion, in the order of the text."""
    entities = []
    for words, kind, assertion in marked:
        start = text.index(words)
        entities.append(Entity(start, start + len(words), words, kind, assertion, 1.0, None))
    return Report(text, tuple(entities), ())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            report(
                "Colon: tubular adenoma.", ("Colon", "site", "present"), ("tubular adenoma", "diagnosis", "present")
            ),
            "Colon, tubular adenoma",
        ),
        (
            report(
                "Lung: no tumour, but tuberculosis.",
                ("Lung", "site", "present"),
                ("tumour", "diagnosis", "absent"),
                ("tuberculosis", "diagnosis", "present"),
            ),
            "Lung, tuberculosis",
        ),
        (
            report("Specimen: thymus.\nDiagnosis: Normal lobules. No atypia.", ("thymus", "site", "present")),
            "thymus, Normal lobules.",
        ),
        (report("Thymus with normal lobules.", ("Thymus", "site", "present")), None),
        (report("Tubular adenoma.", ("Tubular adenoma", "diagnosis", "present")), None),
    ],
)
def test_site_and_diagnosis(given: Report, expected: str | None) -> None:
    assert impression(given) == expected
