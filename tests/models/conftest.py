"""Small transformers models, made on the spot: their answers can be worked out by hand."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from medassay.models.graphs import HOME

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
TEXT = (
    "cd20 ki is strongly weak positive negative invasive ductal carcinoma of the left breast kidney high grade "
    "necrosis possible suspicious for tumour no lung e1 e2 [ ] / . , ; : ( ) - ?"
)
BIO = ["O", "B-Anatomical_Site", "I-Anatomical_Site", "B-IHC marker", "I-IHC marker", "B-Person"]
MEANINGS = {"left": "B-Anatomical_Site", "breast": "I-Anatomical_Site", "cd20": "B-IHC marker", "ki": "B-IHC marker"}
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *TEXT.split(), *LETTERS, *(f"##{c}" for c in LETTERS)]


def write_tokenizer(folder: Path) -> None:
    """A lower-casing word-piece tokenizer over `VOCABULARY`."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    ids = {token: i for i, token in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "model_max_length": 64,
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


def by_hand(folder: Path, kind: str, *texts: str) -> Any:
    """The library's own answer to one text or pair."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = getattr(transformers, kind).from_pretrained(folder).eval()
    with torch.inference_mode():
        return model(**tokenizer(*texts, return_tensors="pt"))


class Exploding:
    """What a pickle can do to whoever opens it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return eval, ("open('was-here', 'w')",)


HOSTILE = pickle.dumps({"weight": Exploding()})


@pytest.fixture
def tiny(tmp_path: Path) -> Callable[..., Path]:
    """Save a random BERT: `tiny("BertForTokenClassification", labels)` gives its folder."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")

    def make(kind: str, labels: Sequence[str] = (), where: str = "model", layers: int = 2, **config: Any) -> Path:
        torch.manual_seed(7)
        settings = transformers.BertConfig(
            vocab_size=len(VOCABULARY),
            hidden_size=32,
            num_hidden_layers=layers,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=64,
            id2label=dict(enumerate(labels)) or None,
            label2id={label: i for i, label in enumerate(labels)} or None,
            initializer_range=0.3,
            **config,
        )
        folder = tmp_path / where
        getattr(transformers, kind)(settings).eval().save_pretrained(folder)
        write_tokenizer(folder)
        return folder

    return make


@pytest.fixture
def dictionary(tmp_path: Path) -> Callable[[dict[str, str], Sequence[str]], Path]:
    """Save a token classifier that labels each token by itself: `dictionary({"cd20": "B-marker"}, labels)`."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")

    def make(meanings: dict[str, str], labels: Sequence[str]) -> Path:
        size = len(VOCABULARY) + len(VOCABULARY) % 2
        model = transformers.BertForTokenClassification(
            transformers.BertConfig(
                vocab_size=len(VOCABULARY),
                hidden_size=size,
                num_hidden_layers=0,
                num_attention_heads=2,
                max_position_embeddings=64,
                id2label=dict(enumerate(labels)),
                label2id={label: i for i, label in enumerate(labels)},
            )
        )
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.zero_()
            # A token's state is its own unit vector: the layer norm scales it and moves the zeros to
            # -1 / sqrt(size - 1), which the bias takes back. So the head is a table of tokens.
            model.bert.embeddings.word_embeddings.weight[:, : len(VOCABULARY)] = torch.eye(len(VOCABULARY))
            model.bert.embeddings.LayerNorm.weight.fill_(1.0)
            model.bert.embeddings.LayerNorm.bias.fill_((size - 1) ** -0.5)
            for i, token in enumerate(VOCABULARY):
                model.classifier.weight[labels.index(meanings.get(token, "O")), i] = 1.0
        folder = tmp_path / "dictionary"
        model.eval().save_pretrained(folder)
        write_tokenizer(folder)
        return folder

    return make


@pytest.fixture
def embedded() -> Path:
    """The embedded set's folder."""
    if not (HOME / "manifest.json").is_file():
        pytest.skip("the embedded set has not been built in this checkout")
    return HOME


@pytest.fixture
def tokenizer_folder(tmp_path: Path) -> Path:
    """A folder with the small tokenizer."""
    write_tokenizer(tmp_path)
    return tmp_path
