"""Graphs to train on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from medassay.errors import InputError
from medassay.training.triples import make_graph, name_edges, obo_graph, terminology_graph

OBO = """format-version: 1.2
data-version: x/releases/2026-01-02

[Term]
id: X:1
name: Pain

[Term]
id: X:2
name: Headache
synonym: "Pain in the head" EXACT []
synonym: "Suffering" BROAD []
is_a: X:1 ! Pain
relationship: located_in X:3 ! head

[Term]
id: X:3
name: head

[Term]
id: X:4
name: gone
is_obsolete: true
is_a: X:1

[Typedef]
id: located_in
name: located in
"""


def test_obo(tmp_path: Path) -> None:
    (tmp_path / "x.obo").write_text(OBO)
    graph = obo_graph([tmp_path / "x.obo"])
    assert list(graph.ids) == ["X:1", "X:2", "X:3"]
    said = {(graph.ids[h], graph.relations[r], graph.ids[t]) for h, r, t in graph.triples.tolist()}
    assert said == {("X:2", "is_a", "X:1"), ("X:2", "related", "X:3")}
    assert graph.names["head pain"] == 1 and "suffering" not in graph.names


def test_no_obo(tmp_path: Path) -> None:
    (tmp_path / "y.obo").write_text("nothing here")
    with pytest.raises(InputError, match=r"holds no \[Term\]"):
        obo_graph([tmp_path / "y.obo"])
    with pytest.raises(InputError, match="cannot be read"):
        obo_graph([tmp_path / "absent.obo"])


def test_name_edges_take_the_longest_part() -> None:
    labels = {"1": "kidney stone pain", "2": "kidney stone", "3": "kidney", "4": "pain"}
    first = {"kidney pain stone": "1", "kidney stone": "2", "kidney": "3", "pain": "4"}
    edges = name_edges(labels, first)
    assert ("1", "names", "2") in edges and ("1", "names", "4") in edges
    assert ("1", "names", "3") not in edges  # the kidney is in `kidney stone` already


def test_split_keeps_every_concept_in_training() -> None:
    labels = {str(i): f"thing {i}" for i in range(40)}
    edges = [(str(i), "is_a", str(i // 3)) for i in range(1, 40)] + [(str(i), "is_a", "0") for i in range(5, 40)]
    graph = make_graph(labels, edges)
    train, test = graph.split(0.2, seed=1)
    assert len(test) == int(0.2 * len(graph.triples)) + (0.2 * len(graph.triples) % 1 > 0)
    assert len(train) + len(test) == len(graph.triples)
    assert set(np.unique(train[:, [0, 2]])) == set(range(len(graph.ids)))


def test_the_terminology_joins_its_ontologies() -> None:
    graph = terminology_graph()
    row = {identity: i for i, identity in enumerate(graph.ids)}
    said = set(map(tuple, graph.triples.tolist()))
    place = {relation: i for i, relation in enumerate(graph.relations)}
    assert (row["MONDO:0005148"], place["is_a"], row["MONDO:0005015"]) in said  # type 2 diabetes, diabetes
    assert (row["DRUG:atorvastatin"], place["is_a"], row["DRUG:statin"]) in said
    assert (row["HP:0030157"], place["names"], row["HP:0012531"]) in said  # flank pain, pain
