"""The expert recipe on a tiny random BERT, and its input file."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from medassay.errors import InputError

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytestmark = pytest.mark.hf
from medassay.training import expert  # noqa: E402
from medassay.training.loop import Schedule  # noqa: E402

QUICK = Schedule(epochs=12, rate=3e-3, head_rate=1e-2, batch=8)


def test_expert_orders_pairs(tiny_base: Path) -> None:
    pairs = [expert.ScoredPair("breast carcinoma", "breast carcinoma", 5.0, "exact")] * 20
    pairs += [expert.ScoredPair("breast carcinoma", "no necrosis", 0.0, "wrong")] * 20
    model, texts = expert.train_expert(pairs, tiny_base, QUICK, limit=64)
    items = [expert.scored_item(pair, texts) for pair in (pairs[0], pairs[-1])]
    said = expert.predict_expert(model, items) @ expert.BINS
    assert said[0] > 3.5 > 1.5 > said[1]


def test_expert_csv_errors_name_row_and_column(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([["reference", "candidate", "score"], ["a", "b", "7"]])
    with pytest.raises(InputError, match=r"row 2: score 7\.0 lies outside"):
        expert.read_pairs(path)
    path.write_text("reference,candidate\na,b\n", encoding="utf-8")
    with pytest.raises(InputError, match="no column 'score'"):
        expert.read_pairs(path)
