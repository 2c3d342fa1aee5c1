"""`medassay train likelihood`: the input file, and the role end to end."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest

from medassay.errors import InputError

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytestmark = [pytest.mark.hf, pytest.mark.usefixtures("one_thread")]
from medassay.training.likelihood_role import read_text_pairs, train_likelihood_role  # noqa: E402
from medassay.training.loop import Schedule  # noqa: E402

WORDS = ["cd30", "ki67", "positive", "negative", "necrosis", "breast", "kidney", "renal", "ductal", "mitoses"]


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
