"""Concept vectors on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from medassay.errors import ModelError
from medassay.language.terminology import terminology
from medassay.models import load
from medassay.models.graphs import HOME
from medassay.models.kge import quantise, write_kge


def test_written_and_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((5, 16)).astype(np.float32)
    write_kge(
        tmp_path, list("abcde"), quantise(vectors), {"one": 0, "two": 4}, [f"label\n{i}" for i in range(5)], "x", {}
    )
    kge = load("kge", str(tmp_path))
    assert len(kge) == 5 and kge.size == 16 and "a" in kge and "z" not in kge
    exact = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found = kge.vectors(list("abcde"))
    np.testing.assert_allclose(found @ found.T, exact @ exact.T, atol=0.02)
    assert kge.terms is not None
    assert kge.terms.names == {"one": 0, "two": 4} and kge.terms.labels[4] == "label 4"


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    write_kge(tmp_path, ["a"], quantise(np.ones((1, 4), np.float32)), {}, [""], "x", {})
    (tmp_path / "kge.npz").write_bytes(b"something else")
    with pytest.raises(ModelError, match="wrong hash"):
        load("kge", str(tmp_path)).vectors(["a"])


def test_the_embedded_vectors_cover_the_terminology_and_are_small() -> None:
    kge = load("kge")
    store = terminology()
    related = [row for row in range(len(store.ids)) if store.parents.get(row)]
    missing = [store.ids[row] for row in related if store.ids[row] not in kge]
    assert not missing, f"{len(missing)} concepts have relations and no vector: train kge again ({missing[:3]})"
    assert kge.terms is None
    assert (HOME / "kge.npz").stat().st_size < 4_000_000


@pytest.mark.parametrize(
    ("one", "near", "far"),
    [
        ("MONDO:0005148", "MONDO:0005015", "MONDO:0005570"),  # type 2 diabetes; diabetes; hematologic disorder
        ("DRUG:atorvastatin", "DRUG:statin", "DRUG:insulin"),
        ("UBERON:0002113", "UBERON:0001225", "UBERON:0002107"),  # kidney; cortex of kidney; liver
        ("HP:0002094", "HP:0002098", "HP:0002315"),  # dyspnea; respiratory distress; headache
        ("PROCEDURE:appendectomy", "PROCEDURE:cholecystectomy", "DRUG:aspirin"),
    ],
)
def test_relatives_are_nearer(one: str, near: str, far: str) -> None:
    a, b, c = load("kge").vectors([one, near, far])
    assert a @ b > a @ c + 0.1
