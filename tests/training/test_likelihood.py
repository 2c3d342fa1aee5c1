"""The likelihood recipe on a tiny random BERT: it learns to copy and to doubt, and what it writes can be run."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from medassay.errors import InputError

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytestmark = pytest.mark.hf

from medassay.training import likelihood_tasks as tasks  # noqa: E402
from medassay.training.bert import load_encoder  # noqa: E402
from medassay.training.likelihood import loss_of  # noqa: E402
from medassay.training.likelihood_role import read_text_pairs, train_likelihood_role  # noqa: E402
from medassay.training.loop import Schedule  # noqa: E402
from medassay.training.seq2seq import LikelihoodModel, Sizes  # noqa: E402

SMALL = Sizes(reader_layers=1, layers=1, inner=32, narrow=16, copy=16, places=320)
WORDS = ["cd30", "ki67", "positive", "negative", "necrosis", "breast", "kidney", "renal", "ductal", "mitoses"]


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Products this small only wait for each other on several threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def model(base: Path) -> LikelihoodModel:
    torch.manual_seed(0)
    return LikelihoodModel(load_encoder(base, 3), SMALL).eval()


def test_probabilities_over_all_pieces_sum_to_one(tiny_base: Path) -> None:
    net = model(tiny_base)
    source = torch.tensor([[2, 5, 7, 9, 7]])
    mask, given = torch.ones_like(source), torch.tensor([[2, 5, 7]])
    with torch.no_grad():
        memory = net.read(source, mask)
        every = [net.writer(memory, mask, source, given, torch.full_like(given, piece)).exp() for piece in range(60)]
    np.testing.assert_allclose(torch.stack(every).sum(0).numpy(), 1.0, atol=1e-4)


def test_a_piece_knows_nothing_of_what_comes_after_it(tiny_base: Path) -> None:
    net = model(tiny_base)
    windows, places = torch.tensor([[2, 5, 7, 9, 3]]), torch.tensor([[0, 1, 2, 3]])
    one, other = torch.tensor([[5, 7, 9, 6]]), torch.tensor([[5, 7, 12, 13]])
    start = torch.tensor([[2]])
    with torch.no_grad():
        first, second = (
            net(windows, torch.ones_like(windows), places, torch.cat([start, t[:, :-1]], 1), t) for t in (one, other)
        )
    assert torch.allclose(first[:, :2], second[:, :2], atol=1e-6)


def test_changed_places_are_those_of_the_damaged_text() -> None:
    assert tasks.changed_places([1, 2, 3, 4], [1, 9, 3, 4, 8]) == (1, 4)
    assert tasks.changed_places([1, 2, 3], [1, 3]) == ()


def test_packing_keeps_places_targets_and_marks() -> None:
    pairs = (tasks.Pair([5, 6], [7, 8], 1.0, (1,)), tasks.Pair([5, 6], [9], 0.0), tasks.Pair([], [4], 0.5))
    batch = tasks.packed([tasks.Group(pairs, ((0, 1, False),))], tasks.Marks(2, 3, 4))
    # two different sources, so two windows; the equal ones share
    assert batch.windows[:, :4].tolist() == [[2, 5, 6, 3], [2, 3, 0, 0]]
    assert batch.places[:, :4].tolist() == [[0, 1, 2, -1], [0, 1, 2, -1], [8, -1, -1, -1]]
    assert batch.given[:, :3].tolist() == [[2, 7, 8], [2, 9, 0], [2, 4, 0]]
    assert batch.wanted[:, :3].tolist() == [[7, 8, 3], [9, 3, 0], [4, 3, 0]]
    assert batch.wrong.sum() == 1 and batch.wrong[0, 1] == 1
    assert batch.learn == [1.0, 0.0, 0.5] and batch.ranks == [(0, 1, False)]


def test_unlearning_lowers_the_wrong_piece_and_ranks_the_better_one(tiny_base: Path) -> None:
    net = model(tiny_base)
    sound, wrong = tasks.Pair([5, 6, 7], [5, 6, 7]), tasks.Pair([5, 6, 7], [5, 9, 7], 0.0, (1,))
    batch = tasks.packed([tasks.Group((sound, wrong), ((0, 1, True),))], tasks.Marks(2, 3, 4))
    device = torch.device("cpu")
    weights = [w for w in net.parameters() if w.requires_grad]
    optimiser = torch.optim.Adam(weights, lr=3e-3)
    first = None
    for _ in range(60):
        loss = loss_of(net, batch, device, 0.5, 0.25)
        first = float(loss.detach()) if first is None else first
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert float(loss.detach()) < 0.3 * first


def test_all_tasks_make_groups_that_fit(tiny_base: Path) -> None:
    rng = random.Random(0)
    text = [5, 6, 7, 12, 8, 9, 10, 12, 11, 13]
    material = tasks.Material(
        documents=[text * 40],
        damaged=[tasks.Damaged(text, (("value", [*text[:3], 20, *text[4:]]), ("omission", text[:6])), (text[::-1],))],
        notes=[(text * 200, text)],
        marks=tasks.Marks(2, 3, 4, frozenset({12})),
    )
    for make, _, _ in tasks.TASKS:
        for _ in range(30):
            group = make(material, rng)
            assert all(better != worse < len(group.pairs) for better, worse, _ in group.ranks)
    made = tasks.batches(material, 1, 600)
    assert made and all(b.wanted.shape == b.wrong.shape == b.given.shape for b in made)


def test_the_role_is_trained_from_pairs_and_runs(tiny_base: Path, tmp_path: Path) -> None:
    rng = random.Random(1)
    rows = []
    for _ in range(60):
        words = rng.sample(WORDS, 4)
        wrong = [rng.choice([w for w in WORDS if w not in words]), *words[1:]]
        rows.append({"source": " ".join(words), "target": " ".join(words), "wrong": " ".join(wrong)})
    data = tmp_path / "pairs.csv"
    with data.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["source", "target", "wrong"])
        writer.writeheader()
        writer.writerows(rows)
    out = tmp_path / "set"
    out.mkdir()
    plan = Schedule(epochs=1, rate=1e-3, head_rate=3e-3, batch=8)
    figures = train_likelihood_role(data, str(tiny_base), out, plan, 3, 6)
    assert set(figures) == {"log_likelihood", "above_other", "above_wrong"}
    assert figures["above_other"] > 0.8
    assert {p.name for p in out.glob("*.onnx")} == {"trunk.onnx", "likelihood_reader.onnx", "likelihood.onnx"}


def test_a_file_without_targets_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("source,target\na,\n", encoding="utf-8")
    with pytest.raises(InputError, match="row 2: no 'target'"):
        read_text_pairs(path)
