"""A UMLS release read as a graph: a folder made by hand in Rich Release Format."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.errors import InputError
from medassay.training.umls import read_umls


def test_names_and_relations(release: Path) -> None:
    graph = read_umls(release)
    assert list(graph.ids) == ["C1", "C2", "C3", "C5"]  # C4 is suppressed, C6 has no relation
    assert list(graph.labels) == ["Myocardial infarction", "Heart disease", "Heart", "Kidney"]
    said = {(graph.ids[h], graph.relations[r], graph.ids[t]) for h, r, t in graph.triples.tolist()}
    # PAR: the second is a parent of the first. RELA tells what the second is to the first; this one is rare.
    assert said == {("C1", "is_a", "C2"), ("C5", "is_a", "C3"), ("C3", "related", "C1")}


def test_names_fold_and_english_alone(release: Path) -> None:
    graph = read_umls(release)
    assert graph.names["infarction myocardial"] == 0
    assert graph.names["attack heart"] == 0  # C6 has the name too, but the first in the file keeps it
    assert "infarto miocardio" not in " ".join(graph.names)


def test_sources(release: Path) -> None:
    with pytest.raises(InputError, match="no relation between two concepts"):
        read_umls(release, ["MSH"])
    with pytest.raises(InputError, match="no English name of RXNORM"):
        read_umls(release, ["RXNORM"])


def test_a_broken_line_is_named(release: Path) -> None:
    with (release / "MRREL.RRF").open("a") as file:
        file.write("C1|A1|AUI|PAR\n")
    with pytest.raises(InputError, match=r"MRREL\.RRF, line 10: 3 columns where 16"):
        read_umls(release)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"MRCONSO\.RRF: cannot be read"):
        read_umls(tmp_path)
