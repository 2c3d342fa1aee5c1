"""Role `quality` on transformers folders: a plain regression, and BLEURT's own layout as BERT and RemBERT."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medassay.errors import ModelError
from medassay.models import load

from .conftest import VOCABULARY, write_tokenizer

pytestmark = pytest.mark.hf
PAIRS = [("tumour of the left breast", "tumour of the kidney"), ("cd20 is weak", "cd20 is weak")]


def test_a_regression_gives_its_own_number(tiny: Callable[..., Path]) -> None:
    import torch
    import transformers

    folder = tiny("BertForSequenceClassification", ["quality"], problem_type="regression")
    said = load("quality", str(folder)).scores([*PAIRS, PAIRS[0]])
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        wanted = [float(model(**tokenizer(*pair, return_tensors="pt")).logits[0, 0]) for pair in PAIRS]
    assert said.tolist() == pytest.approx([*wanted, wanted[0]], abs=1e-4)


def test_several_outputs_are_refused(tiny: Callable[..., Path]) -> None:
    folder = tiny("BertForSequenceClassification", ["good", "bad"])
    with pytest.raises(ModelError, match="one output"):
        load("quality", str(folder))


def _bleurt(folder: Path, model: Any, family: str, narrow: int | None) -> None:
    """A library model as a BLEURT folder: other names of weights, another config."""
    from safetensors.torch import save_file

    folder.mkdir()
    names = {family: "bleurt", "encoder.embedding_hidden_mapping_in": "encoder.embedding_projection"}
    state = {}
    for name, tensor in model.state_dict().items():
        for ours, theirs in names.items():
            name = name.replace(f"{ours}.", f"{theirs}.")
        state[name] = tensor.contiguous()
    save_file(state, folder / "model.safetensors")
    config = {k: v for k, v in model.config.to_dict().items() if k not in ("id2label", "label2id")}
    config |= {
        "model_type": "bleurt",
        "architectures": ["BleurtForSequenceClassification"],
        "embedding_size": narrow,
        "pad_token_id": 0,
    }
    (folder / "config.json").write_text(json.dumps(config, default=str), encoding="utf-8")
    write_tokenizer(folder)


@pytest.mark.parametrize("narrow", [None, 16])
def test_bleurt_is_opened_as_what_it_is(tmp_path: Path, narrow: int | None) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    sizes = {
        "vocab_size": len(VOCABULARY), "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 64, "max_position_embeddings": 64, "pad_token_id": 0, "num_labels": 1,
        "initializer_range": 0.3,
    }  # fmt: skip
    torch.manual_seed(5)
    if narrow:
        kind, config = (
            "RemBert",
            transformers.RemBertConfig(
                **sizes, input_embedding_size=narrow, output_embedding_size=narrow, bos_token_id=2, eos_token_id=3
            ),
        )
    else:
        kind, config = "Bert", transformers.BertConfig(**sizes)
    model = getattr(transformers, f"{kind}ForSequenceClassification")(config).eval()
    _bleurt(tmp_path / "bleurt", model, kind.lower(), narrow)
    said = load("quality", str(tmp_path / "bleurt")).scores(PAIRS)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tmp_path / "bleurt" / "tokenizer.json"),
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
    with torch.inference_mode():
        wanted = [float(model(**tokenizer(*pair, return_tensors="pt")).logits[0, 0]) for pair in PAIRS]
    assert said.tolist() == pytest.approx(wanted, abs=1e-4)


def test_a_bleurt_without_its_head_is_refused(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=64, num_labels=1,
    )  # fmt: skip
    model = transformers.BertForSequenceClassification(config)
    model.classifier = None
    _bleurt(tmp_path / "bleurt", model, "bert", None)
    with pytest.raises(ModelError, match=r"lack classifier"):
        load("quality", str(tmp_path / "bleurt"))
