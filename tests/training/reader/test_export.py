"""The exported graphs of the reader answer as the network does."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.hf
torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
from medassay.models import load  # noqa: E402
from medassay.models.graphs import HOME, ModelSet, write_manifest  # noqa: E402
from medassay.models.reader import SHIFT, Reader  # noqa: E402
from medassay.models.reader_network import Reader as Network  # noqa: E402
from medassay.training.reader.export import export_graphs, largest_inputs, scale_layers, tables  # noqa: E402

from .tiny import TINY  # noqa: E402

ORIGIN = {"licence": "none", "source": "random numbers"}


@pytest.fixture(scope="module")
def network() -> Network:
    torch.manual_seed(3)
    return Network(TINY, dropout=0.0).eval()


def inputs(text: Sequence[int], statement: Sequence[int]) -> tuple[Any, Any, Any]:
    row = [0, *(i + SHIFT for i in text), 2, 2, *(i + SHIFT for i in statement), 2]
    ids, mask = torch.tensor([row]), torch.ones(1, len(row), dtype=torch.long)
    own = torch.zeros_like(mask)
    own[0, len(text) + 3 : -1] = 1
    return ids, mask, own


TEXT, STATEMENT = (2053, 3114, 3255), (2053, 3255)


READER = {"early": "reader_early.onnx", "late": "reader_late.onnx", "tables": "reader_tables.npz"}


@pytest.fixture(scope="module")
def folder(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model set that has a checker and nothing else."""
    exported = tmp_path_factory.mktemp("set")
    scaled = copy.deepcopy(network)
    scale_layers(scaled, largest_inputs(scaled, [inputs(TEXT, STATEMENT)]))
    export_graphs(scaled, exported / READER["early"], exported / READER["late"])
    np.savez(exported / READER["tables"], **tables(network))
    (exported / "tokenizer.json").write_bytes((HOME / "tokenizer.json").read_bytes())
    settings = {**READER, "temperature": 1.0, "early_temperature": 1.0}
    write_manifest(exported, "tiny-1", {"reader": settings, "checker": {}}, ORIGIN)
    return exported


def test_scaled_layers_compute_the_same(network: Network) -> None:
    given = inputs(TEXT, STATEMENT)
    scaled = copy.deepcopy(network)
    scale_layers(scaled, largest_inputs(scaled, [given]))
    with torch.no_grad():
        for one, other in zip(network(*given), scaled(*given)):
            assert all(torch.allclose(one[name], other[name], atol=1e-4) for name in one)


def test_the_graphs_answer_as_the_network_does(network: Network, folder: Path) -> None:
    with torch.no_grad():
        expected = network(*inputs(TEXT, STATEMENT))
    for fast, heads in zip((True, False), expected):
        (answer,) = Reader(ModelSet(folder), fast).read([(TEXT, STATEMENT)])
        assert answer.early is fast
        assert np.allclose(answer.verdict, heads["verdict"][0].numpy(), atol=0.05)
        assert np.allclose(answer.place, heads["place"][0, 1:4].numpy(), atol=0.05)


def test_a_checker_judges_texts_of_any_length_and_each_pair_alone(folder: Path) -> None:
    checker = load("checker", str(folder))
    long = "The kidney has a mass. " * 300
    pairs = [("No mass.", "There is a mass."), (long, "The kidney has a mass."), ("", "A mass.")]
    together = checker.probabilities(pairs)
    assert together.shape == (3, 3)
    assert np.allclose(together.sum(1), 1.0, atol=1e-5)
    alone = np.concatenate([checker.probabilities([pair]) for pair in pairs])
    assert np.array_equal(together, alone)
    check = checker.check([pairs[1]])[0]
    assert 0 <= check.start <= check.end <= len(long)
