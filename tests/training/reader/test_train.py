"""Training of the reader on tiny data: a planted rule is learnt, and a seed fixes the weights."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.hf
torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
from medassay.models.reader_network import Reader as Network  # noqa: E402
from medassay.training.reader.figures import figures  # noqa: E402
from medassay.training.reader.train import Packed, Progress, Recipe, answers, train  # noqa: E402

from .tiny import TINY  # noqa: E402


def test_a_planted_rule_is_learnt(packed: Packed) -> None:
    torch.manual_seed(0)
    network = Network(TINY, dropout=0.0)
    train(network, packed, Recipe(rate=3e-3, tokens=1500, rows=32))
    rows = np.flatnonzero(packed.columns["held_out"])
    for given in answers(network, packed, rows):  # the early heads and the last ones
        table = figures(packed.columns, rows, given)["planted"]
        assert table["accuracy"] > 0.9
        assert table["place"] > 0.9


def test_training_ends_when_its_time_is_over(packed: Packed, capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    train(Network(TINY), packed, Recipe(passes=1000.0, tokens=1500, rows=4, seconds=1e-9))
    passes = float(capsys.readouterr().out.rsplit("\n", 2)[-2].split()[0])
    assert 0 < passes < 1000


def test_progress_goes_by_steps_where_time_is_not_bounded() -> None:
    progress = Progress(200, float("inf"))
    assert [progress.share(step) for step in (0, 50, 199)] == [0.0, 0.25, 0.995]


def test_the_same_seed_gives_the_same_weights(packed: Packed) -> None:
    networks = []
    for _ in range(2):
        torch.manual_seed(0)
        network = Network(TINY)
        train(network, packed, Recipe(passes=0.3, tokens=1500))
        networks.append(network.state_dict())
    assert all(torch.equal(networks[0][name], networks[1][name]) for name in networks[0])
