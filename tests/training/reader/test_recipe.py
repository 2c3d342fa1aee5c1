"""The steps of the recipe: weights are written and come back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.hf
torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
from medassay.models.reader_network import Reader as Network  # noqa: E402
from medassay.training.reader import recipe  # noqa: E402
from medassay.training.reader.train import Packed, Recipe, answers, train  # noqa: E402

from .tiny import TINY, as_mpnet  # noqa: E402


def test_weights_come_back_as_they_were_trained(packed: Packed, tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    torch.manual_seed(5)
    start = Network(TINY, dropout=0.0)
    base = as_mpnet(start)
    save_file(base, str(tmp_path / "model.safetensors"))
    np.savez(tmp_path / "pairs.npz", **packed.columns)
    recipe.write_start(tmp_path, tmp_path, levels=32.0)
    reader = recipe.untrained(tmp_path)
    train(reader, packed, Recipe(passes=0.2, tokens=1500))
    recipe.write_trained(reader, tmp_path)
    again = recipe.trained(tmp_path, tmp_path)
    rows = np.arange(8)
    for one, other in zip(answers(reader, packed, rows), answers(again, packed, rows)):
        assert np.allclose(one["verdict"], other["verdict"], atol=0.02)  # the start's word vectors are rounded


@pytest.mark.parametrize("round", recipe.ROUNDS)
def test_training_writes_weights_and_figures(packed: Packed, tmp_path: Path, round: str) -> None:
    from safetensors.numpy import save_file

    torch.manual_seed(5)
    save_file(as_mpnet(Network(TINY)), str(tmp_path / "model.safetensors"))
    np.savez(tmp_path / "pairs.npz", **packed.columns)
    recipe.write_start(tmp_path, tmp_path, levels=32.0)
    recipe.train(tmp_path, tmp_path, round=round, passes=0.1)
    start, trained = recipe.untrained(tmp_path).state_dict(), recipe.trained(tmp_path, tmp_path).state_dict()
    assert not torch.allclose(start["heads.verdict.weight"], trained["heads.verdict.weight"])
    assert set(json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))) == {"early", "last"}
