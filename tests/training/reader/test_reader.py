"""The recipe on tiny data: a planted rule is learnt, and the exported graph answers as the network does."""

from __future__ import annotations

import json
from dataclasses import asdict
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
from medassay.training.reader import recipe  # noqa: E402
from medassay.training.reader.export import export_graphs, largest_inputs, scale_layers, tables  # noqa: E402
from medassay.training.reader.figures import area, figures  # noqa: E402
from medassay.training.reader.material import Pair, held_out  # noqa: E402
from medassay.training.reader.model import Reader as Network  # noqa: E402
from medassay.training.reader.model import Shape  # noqa: E402
from medassay.training.reader.pack import Encoded, pack  # noqa: E402
from medassay.training.reader.shards import read_shards, write_shards  # noqa: E402
from medassay.training.reader.train import Packed, Recipe, answers, train  # noqa: E402

ORIGIN = {"licence": "none", "source": "random numbers"}
TINY = Shape(vocabulary=30527, hidden=24, layers=2, heads=12, inner=48, early=1)


def encode(texts: Any) -> list[Encoded]:
    tokenizer = ModelSet(HOME).tokenizer
    return [Encoded([i + SHIFT for i in found.ids], found.offsets) for found in tokenizer(texts)]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Packed:
    """A statement is supported if it says `yes`, not stated if `maybe`, contradicted if `no`."""
    rows = []
    for i in range(240):
        word = ("yes", "maybe", "no")[i % 3]
        text = f"case {i} has a mass of {i % 40} mm in the kidney"
        pair = Pair("planted", text, text, f"{word} mass", i % 3, 0 if i % 3 == 2 else None, i % 2, (0, 4), passes=8)
        rows.append((pair, held_out(text)))
    path = tmp_path_factory.mktemp("packed") / "pairs.npz"
    pack(rows, encode, path)
    return Packed(path)


def test_a_planted_rule_is_learnt(packed: Packed) -> None:
    torch.manual_seed(0)
    network = Network(TINY, dropout=0.0)
    train(network, packed, Recipe(rate=3e-3, tokens=1500, rows=32))
    rows = np.flatnonzero(packed.columns["held_out"])
    for given in answers(network, packed, rows):  # the early heads and the last ones
        table = figures(packed.columns, rows, given)["planted"]
        assert table["accuracy"] > 0.9
        assert table["place"] > 0.9


def test_the_same_seed_gives_the_same_weights(packed: Packed) -> None:
    networks = []
    for _ in range(2):
        torch.manual_seed(0)
        network = Network(TINY)
        train(network, packed, Recipe(passes=0.3, tokens=1500))
        networks.append(network.state_dict())
    assert all(torch.equal(networks[0][name], networks[1][name]) for name in networks[0])


def test_shards_give_back_what_was_written(tmp_path: Path) -> None:
    weights = {
        "large": np.linspace(-1, 1, 200_000, dtype=np.float32).reshape(400, 500),
        "small": np.ones(3, np.float32),
    }
    write_shards(weights, tmp_path, "w")
    again = read_shards(tmp_path, "w")
    assert np.abs(again["large"] - weights["large"]).max() <= 1 / 254 + 1e-6
    assert np.array_equal(again["small"], weights["small"])


def test_fewer_levels_take_fewer_bytes_and_keep_outliers(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(400, 500)).astype(np.float32)
    values[0, 0] = 20.0
    sizes = []
    for levels in (32.0, 4.0):
        paths = write_shards({"large": values}, tmp_path, "w", levels)
        sizes.append(sum(path.stat().st_size for path in paths))
        error = np.abs(read_shards(tmp_path, "w")["large"] - values).max(1)
        # Half a step: the root mean square, about 1, over the levels, but never less than the largest over 127.
        assert error[1:].max() <= 0.55 / min(levels, 127 / 4)
        assert error[0] <= 0.5 * max(20.0 / 127, 1.4 / levels)
    # About 4 bits for a number instead of 7.
    assert sizes[1] < 0.65 * sizes[0]


@pytest.fixture(scope="module")
def network() -> Network:
    torch.manual_seed(3)
    return Network(TINY, dropout=0.0).eval()


@pytest.fixture(scope="module")
def folder(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model set that has a checker and nothing else."""
    weights, made = tmp_path_factory.mktemp("weights"), tmp_path_factory.mktemp("set")
    write_shards({name: value.numpy() for name, value in network.state_dict().items()}, weights, "reader")
    (weights / "reader.json").write_text(json.dumps({"shape": asdict(TINY)}), encoding="utf-8")
    recipe.export(weights, made)
    (made / "tokenizer.json").write_bytes((HOME / "tokenizer.json").read_bytes())
    roles = {"checker": {"graph": "reader.onnx", "tables": "reader_tables.npz", "temperature": 1.0}}
    write_manifest(made, "tiny-1", roles, ORIGIN)
    return made


def test_the_graph_answers_as_the_network_does(network: Network, tmp_path: Path) -> None:
    export_graph(network, tmp_path / "reader.onnx")
    np.savez(tmp_path / "reader_tables.npz", **tables(network))
    (tmp_path / "tokenizer.json").write_bytes((HOME / "tokenizer.json").read_bytes())
    write_manifest(tmp_path, "tiny-2", {}, ORIGIN)
    reader = Reader(ModelSet(tmp_path), "reader.onnx", "reader_tables.npz")
    text, statement = (2053, 3114, 3255), (2053, 3255)
    row = [0, *(i + SHIFT for i in text), 2, 2, *(i + SHIFT for i in statement), 2]
    ids, mask = torch.tensor([row]), torch.ones(1, len(row), dtype=torch.long)
    own = torch.zeros_like(mask)
    own[0, 6:8] = 1
    with torch.no_grad():
        expected = network(ids, mask, own)
    (answer,) = reader.read([(text, statement)])
    assert np.allclose(answer.verdict, expected["verdict"][0].numpy(), atol=0.05)
    assert np.allclose(answer.place, expected["place"][0, 1:4].numpy(), atol=0.05)


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


def test_area_by_hand() -> None:
    # Of 2 × 2 pairs, three are in order and one is a tie.
    assert area(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0, 0, 1, 1])) == pytest.approx(3.5 / 4)
    assert np.isnan(area(np.array([0.1]), np.array([1])))
