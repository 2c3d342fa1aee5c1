"""Vectors of a graph's concepts: they learn a small tree, and the folder is read back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra train")

from medassay.models import load
from medassay.training.kge import Embedding, Recipe, link_prediction, make_vectors, project, train_kge
from medassay.training.triples import Graph, make_graph

pytestmark = pytest.mark.hf


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """A small graph has no work for two threads; on a busy machine they wait for one another."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def tree() -> Graph:
    """A hundred and twenty leaves under twelve branches under three boughs."""
    labels = {f"L{i:03}": f"leaf {i}" for i in range(120)}
    labels |= {f"B{i:02}": f"branch {i}" for i in range(12)} | {f"T{i}": f"bough {i}" for i in range(3)}
    edges = [(f"L{i:03}", "is_a", f"B{i // 10:02}") for i in range(120)]
    edges += [(f"B{i:02}", "is_a", f"T{i // 4}") for i in range(12)]
    edges += [(f"L{i:03}", "names", f"L{i - 1:03}") for i in range(1, 120) if i % 10]
    return make_graph(labels, edges)


@pytest.mark.parametrize("kind", ["transe", "rotate", "complex"])
def test_a_tree_is_learnt(kind: str) -> None:
    recipe = Recipe(kind=kind, size=16, names=False, epochs=150, batch=256, negatives=32, rate=0.03, held=0.0)  # type: ignore[arg-type]
    vectors, figures = make_vectors(tree(), recipe)
    assert vectors.shape == (135, 16)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-5)
    assert figures["cosine_parent"] > figures["cosine_random"] + 0.3
    assert figures["cosine_sibling"] > figures["cosine_random"] + 0.3


def test_the_same_seed_gives_the_same_vectors() -> None:
    recipe = Recipe(size=8, names=False, epochs=2, held=0.1)
    np.testing.assert_array_equal(make_vectors(tree(), recipe)[0], make_vectors(tree(), recipe)[0])


def test_link_prediction_by_hand() -> None:
    import torch

    edges = [("a", "is_a", "b"), ("c", "is_a", "b"), ("d", "names", "a")]
    graph = make_graph({name: name for name in "abcd"}, edges)
    model = Embedding(4, 2, Recipe(size=2), np.array([[1, 0], [0, 1], [-1, 0], [0.6, 0.8]], np.float32))
    with torch.no_grad():
        model.relations.zero_()
    # Tail of (a, is_a): a is set aside; distances to d √0.8, b √2, c 2, so b is second. Head of (is_a, b): b is set
    # aside, c is known; d at √0.4 is nearer than a at √2. MRR = (1/2 + 1/2) / 2.
    found = link_prediction(model, graph, graph.triples[:1])
    assert found == {"mrr": 0.5, "hits_at_10": 1.0}


def test_project_keeps_the_largest_directions() -> None:
    rows = np.array([[3, 0, 0.1], [-3, 0, -0.1], [0, 1, 0], [0, -1, 0]], np.float32)
    made = project(rows, 2)
    np.testing.assert_allclose(np.abs(made[:2, 0]), 1.0, atol=1e-3)
    np.testing.assert_allclose(np.abs(made[2:, 1]), 1.0, atol=1e-3)


def test_a_folder_of_umls_is_trained_and_scored(release: Path, tmp_path: Path) -> None:
    from medassay.cases import make_cases
    from medassay.metrics.mist import Mist

    out = tmp_path / "model"
    figures = train_kge(out, umls=release, recipe=Recipe(size=8, names=False, epochs=3, held=0.0))
    assert figures["concepts"] == 4
    vectors = load("kge", str(out))
    assert "C1" in vectors and vectors.size == 8
    assert json.loads((out / "training.json").read_text())["role"] == "kge"
    metric = Mist(models=str(out))
    [score] = metric.score(make_cases(["He had a heart attack."], ["Myocardial infarction."]))
    assert score.value == 1.0 and "trained-kge" in str(metric.signature)
