"""Profiles of diagnoses, and stages that follow from numbers."""

from __future__ import annotations

import pytest

from medassay.language.knowledge import compatible, fit, named, organs, profiles, ranking, read_findings
from medassay.language.lexicon import read_tsv
from medassay.language.terms import words

BEHAVIOURS = {"malignant", "insitu", "premalignant", "uncertain", "benign", "reactive"}


def test_the_table_is_clean() -> None:
    rows = list(read_tsv("profiles.tsv"))
    assert len(rows) >= 250
    markers = {row["id"].partition(":")[2] for row in read_tsv("markers.tsv")}
    places = {row["organ"] for row in read_tsv("organs.tsv")} | {"any"}
    seen: set[str] = set()
    for row in rows:
        names = [row["name"], *(alias for alias in row["aliases"].split("|") if alias)]
        assert row["behaviour"] in BEHAVIOURS, row["name"]
        assert set(row["organs"].split("/")) <= places, row["name"]
        assert set(f"{row['positive']} {row['negative']}".split()) <= markers, row["name"]
        assert not set(row["positive"].split()) & set(row["negative"].split()), row["name"]
        assert all(words(name) for name in names)
        assert not {name.lower() for name in names} & seen, row["name"]
        seen |= {name.lower() for name in names}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Breast: tumor cells float in pools of extracellular mucin.", "mucinous carcinoma of breast"),
        ("Kidney: plant-like membranes, raisinoid nuclei, haloes.", "chromophobe renal cell carcinoma"),
        ("Ovarian tumour with Schiller-Duval bodies; AFP+, glypican-3+, OCT4−.", "yolk sac tumor"),
        ("Node: small cells CD20+, CD5+, cyclin D1+, SOX11+, CD23−.", "mantle cell lymphoma"),
        ("Oesophageal biopsy: suprabasal acantholysis with a tombstone row of basal cells.", "pemphigus vulgaris"),
    ],
)  # fmt: skip
def test_a_typical_description_ranks_its_diagnosis_first(text: str, expected: str) -> None:
    assert ranking(text)[0][1].name == expected


def test_what_is_denied_speaks_against() -> None:
    profile = next(p for p in profiles() if p.name == "papillary thyroid carcinoma")
    seen = fit(read_findings("Thyroid nodule with nuclear grooves and psammoma bodies."), profile)
    denied = fit(read_findings("Thyroid nodule; no nuclear grooves, no psammoma bodies."), profile)
    assert seen.balance > 0 > denied.balance


def test_nothing_known_ranks_nothing() -> None:
    assert ranking("") == ()
    assert ranking("The specimen was received in formalin.") == ()


def test_in_situ_and_invasive_are_never_one() -> None:
    here = {profile.name: profile for profile in profiles()}
    assert not compatible(here["squamous cell carcinoma"], here["squamous cell carcinoma in situ"])
    assert named("Features of a renal oncocytoma.") is here["oncocytoma"]


def test_organs_in_british_spelling_too() -> None:
    assert "esophagus" in organs("Distal oesophagus")
