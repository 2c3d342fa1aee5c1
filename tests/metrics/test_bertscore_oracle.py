"""The same numbers as the package `bert-score`, for the same local model and layer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from medassay.cases import make_cases
from medassay.metrics.registry import load_metric
from medassay.models.graphs import HOME

pytestmark = pytest.mark.hf

CANDIDATES = [
    "No evidence of malignancy in the left kidney.",
    "Chest pain for two days, no fever.",
    "Carcinoma",
    "  Invasive ductal carcinoma, grade 2; margins are free.  ",
    "Kein Anhalt für Malignität 未见",
    "pain " * 120,
]
REFERENCES = [
    "The left kidney shows no malignant tumour.",
    "Two days of chest pain and nausea.",
    "Invasive carcinoma of the breast with necrosis, left.",
    "Invasive ductal carcinoma of the breast, grade 3, margins involved.",
    "No malignancy.",
    "The patient has had pain. " * 30,
]


def write_model(path: Path, kind: str) -> Path:
    """A random encoder of four layers with the embedded set's word pieces."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(3)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=30522,
        hidden_size=32,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=160,
        initializer_range=0.2,
        pad_token_id=0,
    )
    getattr(transformers, f"{kind}Model")(config).save_pretrained(path)
    shutil.copy(HOME / "tokenizer.json", path)
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 128,
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        **{f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")},
    }
    (path / "tokenizer_config.json").write_text(json.dumps(settings))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("bert"), "Bert")


def same(folder: Path, layer: int, idf: bool = False) -> None:
    bert_score = pytest.importorskip("bert_score")
    wanted = bert_score.score(
        CANDIDATES, REFERENCES, model_type=str(folder), num_layers=layer, idf=idf, nthreads=0, use_fast_tokenizer=True
    )
    metric = load_metric("bertscore", models=str(folder), layer=layer, idf=idf)
    found = metric.score(make_cases(CANDIDATES, REFERENCES))
    for part, values in zip(("precision", "recall", "f1"), wanted):
        assert [one.parts[part] for one in found] == pytest.approx(values.tolist(), abs=1e-5)
    assert found[-1].parts["cut"] > 0  # longer than the model reads: both packages cut it


@pytest.mark.parametrize("idf", [False, True])
@pytest.mark.parametrize("layer", [0, 2, 4])
def test_same_numbers(folder: Path, layer: int, idf: bool) -> None:
    same(folder, layer, idf)


@pytest.mark.parametrize("kind", ["Roberta", "Deberta", "DistilBert"])
def test_same_numbers_with_other_architectures(tmp_path: Path, kind: str) -> None:
    same(write_model(tmp_path, kind), 3)


def test_same_rescaled_numbers(folder: Path, tmp_path: Path) -> None:
    bert_score = pytest.importorskip("bert_score")
    file = tmp_path / "base.tsv"
    file.write_text("LAYER,P,R,F\n" + "".join(f"{k},0.{k}1,0.{k}2,0.{k}3\n" for k in range(5)))
    wanted = bert_score.score(
        CANDIDATES,
        REFERENCES,
        model_type=str(folder),
        num_layers=2,
        lang="en",
        rescale_with_baseline=True,
        baseline_path=str(file),
        use_fast_tokenizer=True,
    )
    metric = load_metric("bertscore", models=str(folder), layer=2, baseline=str(file))
    found = metric.score(make_cases(CANDIDATES, REFERENCES))
    for part, values in zip(("precision", "recall", "f1"), wanted):
        assert [one.parts[part] for one in found] == pytest.approx(values.tolist(), abs=1e-5)


def test_the_encoder_is_whole_again_after_a_layer_was_chosen(folder: Path) -> None:
    from medassay.models import load

    encoder = load("encoder", str(folder))
    before = encoder.embed(["tumour"])
    encoder.token_states(["tumour"], layer=1)
    assert (encoder.embed(["tumour"]) == before).all()
    assert "layer:3" in load_metric("bertscore", models=str(folder)).signature
