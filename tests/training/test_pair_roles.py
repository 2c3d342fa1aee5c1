"""`medassay train quality` and `nli` on a tiny random BERT: read, train, measure, and the folder serves its role."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from medassay.errors import InputError, ModelError

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
pytestmark = pytest.mark.hf

from medassay.models import load  # noqa: E402
from medassay.models.graphs import ModelSet  # noqa: E402
from medassay.models.pairs_model import open_pairs  # noqa: E402
from medassay.training import cross, export  # noqa: E402
from medassay.training.bert import load_encoder, load_tokenizer  # noqa: E402
from medassay.training.command import train_role  # noqa: E402
from medassay.training.pair_roles import read_quality  # noqa: E402

SITES = ("breast", "kidney", "renal cell", "ductal carcinoma", "invasive carcinoma", "cell")


def _write(path: Path, rows: list[dict[str, object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def quality_csv(tmp_path: Path) -> Path:
    rows: list[dict[str, object]] = []
    for site in SITES:
        text = f"{site} is positive . no necrosis"
        rows += [
            {"reference": text, "candidate": text, "quality": 1.0},
            {"reference": text, "candidate": f"{site} is negative", "quality": 0.1},
        ]
    return _write(tmp_path / "quality.csv", rows)


def test_quality_from_own_pairs(tiny_base: Path, quality_csv: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    figures = train_role("quality", quality_csv, str(tiny_base), out, epochs=2)
    assert figures["mean_absolute_error"] < 0.6
    model = load("quality", str(out))
    good, bad = model.scores([("breast is positive", "breast is positive"), ("breast is positive", "no")])
    assert 0.0 <= bad <= 1.0 and 0.0 <= good <= 1.0
    assert json.loads((out / "training.json").read_text())["held_out"] == figures
    with pytest.raises(ModelError, match="no head 'nli'; it has quality"):
        open_pairs(ModelSet(out), "quality").run([("a", "b")], "nli")


def test_nli_from_own_pairs(tiny_base: Path, tmp_path: Path) -> None:
    rows: list[dict[str, object]] = []
    for site in SITES:
        premise = f"{site} is positive"
        rows += [
            {"premise": premise, "hypothesis": premise, "label": "entailment"},
            {"premise": premise, "hypothesis": f"{site} is negative", "label": "contradiction"},
            {"premise": premise, "hypothesis": "no necrosis", "label": "neutral"},
        ]
    out = tmp_path / "model"
    figures = train_role("nli", _write(tmp_path / "nli.csv", rows), str(tiny_base), out, epochs=3)
    assert 0.0 <= figures["accuracy"] <= 1.0
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["roles"]["nli"]["outputs"] == ["nli"]


def test_the_graph_says_what_the_module_says(tiny_base: Path, tmp_path: Path) -> None:
    torch.manual_seed(1)
    model = cross.PairModel(load_encoder(tiny_base, 0), {"nli": 3, "quality": 1}).eval()
    outputs = export.export_pairs(model, tmp_path / "pairs.onnx")
    assert outputs == ["nli", "quality"]
    export.export_trunk(model.encoder, tmp_path)
    settings = {"graph": "pairs.onnx", "outputs": outputs, "max_tokens": 64}
    export.write_set(tmp_path, str(tiny_base), "quality", settings, {})
    texts = cross.PairTexts(load_tokenizer(tiny_base), 64)
    pairs = [("cd30 is positive", "no necrosis of the kidney"), ("breast carcinoma", "breast")]
    wanted = cross.predict_logits(model, "quality", [cross.PairItem(*texts.join(*pair)) for pair in pairs])[:, 0]

    read = open_pairs(ModelSet(tmp_path), "quality").run(pairs, "quality")
    assert read[:, 0].tolist() == pytest.approx(wanted.tolist(), abs=2e-2)


@pytest.mark.parametrize(("quality", "message"), [("high", "row 2: quality 'high'"), ("4", "outside 0–1")])
def test_a_bad_row_is_named(tmp_path: Path, quality: str, message: str) -> None:
    path = _write(tmp_path / "q.csv", [{"reference": "a", "candidate": "b", "quality": quality}])
    with pytest.raises(InputError, match=message):
        read_quality(path)
    path.write_text("reference,candidate\na,b\n")
    with pytest.raises(InputError, match="no column 'quality'"):
        read_quality(path)
