"""Opening transformers models for any role: families, precision, and what is wrong with a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from medassay.errors import ModelError
from medassay.models.hub import load_hub

from .conftest import BIO, MEANINGS, VOCABULARY, write_tokenizer

pytestmark = pytest.mark.hf
Tiny = Callable[..., Path]
Dictionary = Callable[[dict[str, str], Sequence[str]], Path]


def test_a_fetched_model_is_found_by_its_name(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = "0123456789" * 4
    store = tmp_path / "cache" / "models--some--model"
    (store / "refs").mkdir(parents=True)
    (store / "refs" / "main").write_text(commit)
    folder = tiny("BertModel", where=f"cache/models--some--model/snapshots/{commit}")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    model = load_hub("encoder", "some/model")
    assert model.name == "some/model@01234567"
    np.testing.assert_array_equal(model.embed(["ki"]), load_hub("encoder", str(folder)).embed(["ki"]))


def test_the_paper_family_of_encoders_is_read(tmp_path: Path) -> None:
    """GatorTron is a Megatron BERT."""
    transformers = pytest.importorskip("transformers")
    config = transformers.MegatronBertConfig(
        vocab_size=len(VOCABULARY), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64
    )
    transformers.MegatronBertModel(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    assert load_hub("encoder", str(tmp_path)).embed(["cd20 is weak", ""]).shape == (2, 32)


def test_half_precision_answers_are_close(tiny: Tiny, dictionary: Dictionary) -> None:
    """What runs on a GPU, on the CPU: every role takes the model's half-precision outputs."""
    folders = {
        "encoder": tiny("BertModel"),
        "ner": dictionary(MEANINGS, BIO),
        "expert": tiny("BertForSequenceClassification", ["LABEL_0"], "expert", problem_type="regression"),
    }
    whole, half = (
        {role: load_hub(role, str(folder), dtype=dtype) for role, folder in folders.items()}
        for dtype in ("float32", "bfloat16")
    )
    texts, pairs = ["cd20 is weak"], [("no tumour", "tumour")]
    np.testing.assert_allclose(half["encoder"].embed(texts), whole["encoder"].embed(texts), atol=0.05)
    found = [[(s.start, s.end, s.type) for s in some["ner"].spans(["left breast"])[0]] for some in (whole, half)]
    assert found[0] == found[1] != []
    scores = [some["expert"].judge(pairs)[0].score for some in (whole, half)]
    assert scores[1] == pytest.approx(scores[0], abs=0.1)


def test_an_untrained_head_is_refused(tiny: Tiny) -> None:
    folder = tiny("BertModel")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["BertForTokenClassification"]}))
    with pytest.raises(ModelError, match=r"weights lack classifier.* not trained for the role 'ner'"):
        load_hub("ner", str(folder))


def test_broken_weights_and_tokenizers_are_named(tiny: Tiny) -> None:
    folder = tiny("BertModel")
    (folder / "model.safetensors").write_bytes(b"\x01" * 100)
    with pytest.raises(ModelError, match="its weights cannot be opened"):
        load_hub("encoder", str(folder))
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="its tokenizer cannot be opened"):
        load_hub("encoder", str(folder))


def test_other_families_of_models_read_any_length(tmp_path: Path) -> None:
    """Byte-level pieces with the space inside, and positions counted from after the padding index."""
    transformers = pytest.importorskip("transformers")
    from tokenizers import ByteLevelBPETokenizer

    backend = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    backend.train_from_iterator(["cd20 is positive in the left breast"] * 9, vocab_size=320, special_tokens=special)
    tokenizer = transformers.RobertaTokenizerFast(tokenizer_object=backend._tokenizer, model_max_length=10**9)
    config = transformers.RobertaConfig(
        vocab_size=320,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=66,
        type_vocab_size=1,
        id2label={0: "site", 1: "marker"},
        label2id={"site": 0, "marker": 1},
    )
    torch = pytest.importorskip("torch")
    torch.manual_seed(7)
    transformers.RobertaForTokenClassification(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model = load_hub("ner", str(tmp_path))
    assert model.network.limit == 64
    text = "cd20 is positive in the left breast é😀 " * 50
    spans = model.spans([text])[0]
    assert spans[0].start == 0
    assert all(text[s.start : s.end] == text[s.start : s.end].strip() != "" for s in spans)
