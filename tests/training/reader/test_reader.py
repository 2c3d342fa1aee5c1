"""The recipe on tiny data: a planted rule is learnt, and the exported graph answers as the network does."""

from __future__ import annotations

import copy
import json
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
from medassay.models.reader_network import Shape  # noqa: E402
from medassay.training.reader import recipe  # noqa: E402
from medassay.training.reader.export import export_graphs, largest_inputs, scale_layers, tables  # noqa: E402
from medassay.training.reader.figures import area, figures  # noqa: E402
from medassay.training.reader.material import Pair, held_out  # noqa: E402
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
        # Half a step: the row's root mean square over the levels, but never less than its largest number over 127.
        rms, largest = np.sqrt(np.square(values).mean(1)), np.abs(values).max(1)
        assert (error <= 0.5001 * np.maximum(rms / levels, largest / 127)).all()
    # About 4 bits for a number instead of 7.
    assert sizes[1] < 0.65 * sizes[0]


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


def test_weights_come_back_as_they_were_trained(packed: Packed, tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    torch.manual_seed(5)
    start = Network(TINY, dropout=0.0)
    base = as_mpnet(start)
    save_file(base, str(tmp_path / "model.safetensors"))
    np.savez(tmp_path / "pairs.npz", **packed.columns)
    recipe.write_start(tmp_path, tmp_path, levels=32.0)
    reader = recipe.untrained(tmp_path)
    before = {name: value.clone() for name, value in reader.state_dict().items()}
    train(reader, packed, Recipe(passes=0.2, tokens=1500))
    recipe.write_trained(reader, before, tmp_path)
    again = recipe.trained(tmp_path, tmp_path)
    rows = np.arange(8)
    for one, other in zip(answers(reader, packed, rows), answers(again, packed, rows)):
        assert np.allclose(one["verdict"], other["verdict"], atol=0.05)


@pytest.mark.parametrize("further", [False, True])
def test_training_writes_differences_and_figures(packed: Packed, tmp_path: Path, further: bool) -> None:
    from safetensors.numpy import save_file

    torch.manual_seed(5)
    save_file(as_mpnet(Network(TINY)), str(tmp_path / "model.safetensors"))
    np.savez(tmp_path / "pairs.npz", **packed.columns)
    recipe.write_start(tmp_path, tmp_path, levels=32.0)
    recipe.train(tmp_path, tmp_path, passes=0.1, further=further)
    start, trained = recipe.untrained(tmp_path).state_dict(), recipe.trained(tmp_path, tmp_path).state_dict()
    assert not torch.allclose(start["heads.verdict.weight"], trained["heads.verdict.weight"])
    assert set(json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))) == {"early", "last"}


def as_mpnet(network: Network) -> dict[str, Any]:
    """The encoder's weights under the names that transformers gives an MPNet's."""
    state = {name: value.detach().numpy() for name, value in network.encoder.state_dict().items()}
    named = {
        "embeddings.word_embeddings.weight": state["words.weight"],
        "embeddings.position_embeddings.weight": state["positions.weight"],
        "embeddings.LayerNorm.weight": state["norm.weight"],
        "embeddings.LayerNorm.bias": state["norm.bias"],
        "encoder.relative_attention_bias.weight": state["relative.weight"],
    }
    parts = {
        "attention.attn.o": "attention.out",
        "attention.LayerNorm": "attention.norm",
        "intermediate.dense": "inner",
        "output.dense": "outer",
        "output.LayerNorm": "norm",
    }
    for i in range(TINY.layers):
        for kind in ("weight", "bias"):
            for theirs, ours in parts.items():
                named[f"encoder.layer.{i}.{theirs}.{kind}"] = state[f"layers.{i}.{ours}.{kind}"]
            for letter, value in zip("qkv", np.split(state[f"layers.{i}.attention.qkv.{kind}"], 3)):
                named[f"encoder.layer.{i}.attention.attn.{letter}.{kind}"] = np.ascontiguousarray(value)
    return named


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
