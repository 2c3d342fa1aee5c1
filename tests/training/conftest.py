"""A BERT of four tiny random layers with a small vocabulary, as a base folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from medassay.training.annotation import Entity, Segment

CONFIG = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "hidden_size": 32,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 60,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "hidden_act": "gelu",
    "pad_token_id": 0,
}
WORDS = [
    "cd30",
    "ki67",
    "is",
    "was",
    "positive",
    "negative",
    ".",
    "no",
    "necrosis",
    "breast",
    "carcinoma",
    "grade",
    "2",
    "3",
    "consistent",
    "with",
    "of",
    "the",
    "kidney",
    "renal",
    "cell",
    "ductal",
    "invasive",
    "mitoses",
    "##s",
    "##a",
]


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """config.json, model.safetensors and tokenizer.json of a random BERT."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    from medassay.training.bert import SplitEncoder, save_encoder

    folder = tmp_path_factory.mktemp("base")
    torch.manual_seed(0)
    save_encoder(SplitEncoder(CONFIG, -1), folder, half=False)
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    names += [f"[unused{i}]" for i in range(60 - len(names))]
    tokenizer = Tokenizer(models.WordPiece({n: i for i, n in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "unk_token": "[UNK]"})
    )
    return folder


@pytest.fixture
def segments() -> list[Segment]:
    """Sixty short segments of thirty documents with entities, a relation and an absence."""
    out = []
    for i in range(60):
        if i % 2:
            text = "CD30 is positive ."
            found = (Entity(0, 4, "marker"), Entity(8, 16, "modifier"))
            links = frozenset({(0, 1)})
        else:
            text = "No necrosis . Breast carcinoma grade 2"
            found = (
                Entity(3, 11, "finding", "absent"),
                Entity(14, 20, "site"),
                Entity(21, 30, "diagnosis"),
                Entity(31, 38, "grade"),
            )
            links = frozenset({(2, 3)})
        out.append(Segment(f"s{i}", text, found, links, f"doc{i // 2}"))
    return out
