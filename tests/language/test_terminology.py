"""The terminology and its files: enough entries, no name twice, every parent, expansion and stored form in order."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files

import numpy as np
import pytest

from medassay.language.lexicon import read_tsv
from medassay.language.terminology import form_of, terminology
from medassay.language.terms import key, words

LISTS = {"diagnoses.tsv": ("D", 400), "findings.tsv": ("F", 200), "sites.tsv": ("S", 150), "markers.tsv": ("K", 250)}


def names(row: dict[str, str]) -> list[str]:
    return [row["name"], *(alias for alias in row["aliases"].split("|") if alias)]


@pytest.mark.parametrize("file", LISTS)
def test_no_id_and_no_name_stands_twice(file: str) -> None:
    letter, least = LISTS[file]
    rows = list(read_tsv(file))
    assert len(rows) >= least
    ids = Counter(row["id"] for row in rows)
    assert [i for i, n in ids.items() if n > 1] == []
    owners: dict[str, set[str]] = {}
    for row in rows:
        for name in names(row):
            owners.setdefault(form_of(name, letter), set()).add(row["id"])
    assert {form: who for form, who in owners.items() if len(who) > 1} == {}


@pytest.mark.parametrize("file", LISTS)
def test_every_cell_is_clean(file: str) -> None:
    for row in read_tsv(file):
        assert row["id"] and row["name"]
        assert not any(cell != cell.strip() or "  " in cell for cell in row.values())
        assert all(form_of(name, LISTS[file][0]) for name in names(row))


def test_behaviours_are_the_six() -> None:
    known = {"malignant", "insitu", "premalignant", "uncertain", "benign", "reactive", ""}
    assert {row["behaviour"] for row in read_tsv("diagnoses.tsv")} <= known


def test_acronyms_expand_to_the_term_they_name() -> None:
    store = terminology()
    rows = list(read_tsv("acronyms.tsv"))
    assert len(rows) >= 200
    assert len({(row["acronym"].lower(), row["type"]) for row in rows}) == len(rows)
    for row in rows:
        found = store.find(key(row["expansion"]), row["type"])
        assert found is not None and store.ids[found] == row["id"], row


def test_stored_normal_forms_are_those_of_today() -> None:
    """The ontology file holds forms made when it was compiled; a change of the lemmas must renew it."""
    with (files("medassay.language") / "lexicons" / "ontologies.npz").open("rb") as stream:
        arrays = np.load(stream, allow_pickle=False)
        ids = arrays["ids"].tobytes().decode().split("\n")
        labels = arrays["labels"].tobytes().decode().split("\n")
        index = dict(zip(arrays["keys"].tobytes().decode().split("\n"), arrays["key_term"].tolist()))
        releases = json.loads(arrays["releases"].tobytes())
    assert set(releases) == {"MONDO", "UBERON", "CL", "HP"}
    for row in range(0, len(ids), 97):
        if len(labels[row]) <= 110 and 1 <= len(words(labels[row])) <= 10:
            assert ids[row][0] + key(labels[row]) in index, labels[row]


def test_no_term_is_its_own_ancestor() -> None:
    store = terminology()
    for row in range(len(store.ids)):
        for parent in store.parents.get(row, ()):
            assert parent != row and row not in store.above(parent), store.ids[row]


def test_the_ontology_file_is_small() -> None:
    with (files("medassay.language") / "lexicons" / "ontologies.npz").open("rb") as stream:
        assert len(stream.read()) < 4_000_000
