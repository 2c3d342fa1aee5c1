"""Site and diagnosis of given readings."""

from __future__ import annotations

import pytest

from medassay.language.graph import Entity, Report
from medassay.language.impression import impression, organ_of, stated_organs, stated_processes


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


NAMES = {
    "colon": ("colon", "large bowel"),
    "bladder": ("bladder",),
    "gallbladder": ("gallbladder",),
    "eso": ("esophagus",),
}


def test_stated_organs_are_those_of_sites_that_are_present() -> None:
    given = report(
        "Large bowel, not the oesophagus; crypts.",
        ("Large bowel", "site", "present"),
        ("oesophagus", "site", "absent"),
        ("crypts", "site", "present"),
    )
    assert stated_organs(given, NAMES) == ("colon",)


@pytest.mark.parametrize(
    ("site", "organ"), [("Gallbladder wall", "gallbladder"), ("lower OESOPHAGUS", "eso"), ("colonoscopy", None)]
)
def test_an_organ_is_named_by_whole_words_in_either_spelling(site: str, organ: str | None) -> None:
    assert organ_of(site, tuple(NAMES.items())) == organ


def test_stated_processes_are_those_of_diagnoses_that_are_present() -> None:
    given = report(
        "Tubular adenoma, no carcinoma. Colitis.",
        ("Tubular adenoma", "diagnosis", "present"),
        ("carcinoma", "diagnosis", "absent"),
        ("Colitis", "diagnosis", "present"),
    )
    assert stated_processes(given, "colon") == ("dysplasia", "inflamed")
    assert stated_processes(given, "kidney") == ("benign", "inflamed")


def test_the_diagnosis_heading_stands_for_a_diagnosis_that_is_not_named() -> None:
    assert stated_processes(report("Specimen: thymus.\nDiagnosis: Normal lobules. No atypia.")) == ("normal",)
    assert stated_processes(report("Thymus with lobules.")) == ()
