"""A BERT of four tiny random layers with a small vocabulary as a base folder; a small UMLS release."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from medassay.training.annotation import Entity, Segment

if TYPE_CHECKING:
    from medassay.training.seq2seq import LikelihoodModel

IMAGE_SIDE = 224
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
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    folder = tmp_path_factory.mktemp("base")
    torch.manual_seed(0)
    transformers.BertModel(transformers.BertConfig(**CONFIG)).save_pretrained(folder)
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


def conso(cui: str, text: str, *, lat: str = "ENG", ts: str = "P", sab: str = "SNOMEDCT_US", sup: str = "N") -> str:
    return f"{cui}|{lat}|{ts}|L1|PF|S1|Y|A1||1|1|{sab}|PT|1|{text}|0|{sup}|256|\n"


def rel(
    one: str, rel: str, two: str, rela: str = "", *, sab: str = "SNOMEDCT_US", dir: str = "Y", sup: str = "N"
) -> str:
    return f"{one}|A1|AUI|{rel}|{two}|A2|AUI|{rela}|R1||{sab}|{sab}||{dir}|{sup}||\n"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    (tmp_path / "MRCONSO.RRF").write_text(
        conso("C1", "Myocardial infarction")
        + conso("C1", "Heart attack", ts="S")
        + conso("C1", "Infarto de miocardio", lat="SPA")
        + conso("C2", "Heart disease")
        + conso("C3", "Heart")
        + conso("C4", "Obsolete thing", sup="O")
        + conso("C5", "Kidney", sab="MSH")
        + conso("C6", "Heart attack", ts="S", sab="MSH"),
        encoding="utf-8",
    )
    (tmp_path / "MRREL.RRF").write_text(
        rel("C1", "PAR", "C2", "inverse_isa")
        + rel("C2", "CHD", "C1", "isa")
        + rel("C3", "RO", "C1", "finding_site_of", dir="N")
        + rel("C1", "RO", "C3", "has_finding_site")
        + rel("C1", "PAR", "C4")
        + rel("C2", "PAR", "C3", sup="O")
        + rel("C3", "SIB", "C2")
        + rel("C5", "RB", "C3", sab="MSH")
        + rel("C1", "PAR", "C1"),
        encoding="utf-8",
    )
    return tmp_path


@pytest.fixture
def image_sets(tmp_path: Path) -> Path:
    """Three small sets: five captioned images, two of each class."""
    import numpy as np
    from PIL import Image

    random = np.random.default_rng(0)

    def save(path: Path, colour: tuple[int, int, int]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.clip(random.integers(-40, 40, (IMAGE_SIDE, IMAGE_SIDE, 3)) + np.array(colour), 0, 255).astype(
            np.uint8
        )
        Image.fromarray(pixels).save(path, quality=95)

    lines = []
    for i, (organ, said) in enumerate([("liver", "steatosis"), ("lung", "emphysema"), ("brain", "infarct")] * 2):
        name = f"train_{i:04d}.jpg"
        save(tmp_path / "pathvqa" / name, (200, 120 + 10 * i, 170))
        text = f"what does this image show? {organ} does this image show {organ}, {said}? yes is spleen present? no"
        lines.append({"image": name, "split": "train", "shows": [organ], "present": [organ], "text": text})
    (tmp_path / "pathvqa" / "captions.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    for n, label in enumerate(("colon_aca", "colon_n", "lung_aca", "lung_n", "lung_scc")):
        for i in range(2):
            save(tmp_path / "lc25000" / label / f"g{i}_{label}{i}.jpeg", (150 + 20 * n, 100, 160))
    return tmp_path


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Matrix products this small only wait for each other on several threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def tiny_likelihood(tiny_base: Path) -> LikelihoodModel:
    """A random encoder–decoder on the tiny BERT."""
    import torch

    from medassay.training.bert import load_encoder
    from medassay.training.seq2seq import LikelihoodModel, Sizes

    torch.manual_seed(0)
    sizes = Sizes(reader_layers=1, layers=1, inner=32, narrow=16, copy=16, places=320)
    encoder = load_encoder(tiny_base, 3)
    return LikelihoodModel(encoder, sizes).eval()
