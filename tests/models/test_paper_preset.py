"""The papers' set-up end to end: small models of the published architectures and file layouts, on a hub of our own.

Each is laid out as its authors published it (pickled or not, word pieces, byte pairs or sentence pieces), fetched by
`models fetch paper`, and every metric is loaded on the folder and scores.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medassay.cases import make_cases
from medassay.errors import ModelError
from medassay.metrics.registry import load_metric
from medassay.models import load
from medassay.models.converting import convert_file
from medassay.models.fetching import fetch
from medassay.models.loading import PAPER

from .conftest import HOSTILE, TEXT, VOCABULARY, write_tokenizer
from .hub_server import Hub, serving

pytestmark = pytest.mark.hf
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
sentencepiece = pytest.importorskip("sentencepiece")

SIZES = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
    "initializer_range": 0.3,
}  # fmt: skip
ENTITY_LABELS = ["O", "B-Pathological_Diagnosis", "I-Pathological_Diagnosis", "B-IHC_Marker", "B-IHC_Modifier"]
REFERENCE, CANDIDATE = (
    "invasive ductal carcinoma of the left breast . cd20 is weak",
    "tumour of the kidney . no necrosis",
)


def pickled(model: Any, rename: Callable[[str], str] = str) -> bytes:
    """Weights as `pytorch_model.bin` holds them."""
    file = io.BytesIO()
    torch.save({rename(name): tensor for name, tensor in model.state_dict().items()}, file)
    return file.getvalue()


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def saved(model: Any, folder: Path) -> dict[str, bytes]:
    """A model as the library writes it, with a word-piece tokenizer."""
    model.eval().save_pretrained(folder)
    write_tokenizer(folder)
    return files_of(folder)


def megatron(head: str, folder: Path, labels: list[str] | None = None) -> dict[str, bytes]:
    """GatorTronS' family, as HARE's three models are published: safetensors and word pieces."""
    named = {"id2label": dict(enumerate(labels)), "label2id": {n: i for i, n in enumerate(labels)}} if labels else {}
    config = transformers.MegatronBertConfig(vocab_size=len(VOCABULARY), max_position_embeddings=128, **SIZES, **named)
    return saved(getattr(transformers, head)(config), folder)


def byte_pairs() -> dict[str, bytes]:
    """GPT-2's files: every byte, no merge."""
    from tokenizers.pre_tokenizers import ByteLevel

    letters = sorted(ByteLevel.alphabet())
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", "<|startoftext|>", "<|endoftext|>"]
    ends = [f"{letter}</w>" for letter in letters]
    vocabulary = {token: i for i, token in enumerate([*special, *letters, *ends])}
    return {"vocab.json": json.dumps(vocabulary).encode(), "merges.txt": b"#version: 0.2\n"}


def sentence_pieces(folder: Path) -> bytes:
    """A small sentence-piece model with the frame tokens of DeBERTa-v3 and BLEURT-20."""
    folder.mkdir(parents=True, exist_ok=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([TEXT, REFERENCE, CANDIDATE] * 20), model_prefix=str(folder / "spm"), vocab_size=60,
        pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]",
        unk_piece="[UNK]", hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    return (folder / "spm.model").read_bytes()


def deberta_xlarge_mnli(folder: Path) -> dict[str, bytes]:
    """microsoft/deberta-xlarge-mnli: pickled weights, GPT-2's byte pairs, and a pickled tokenizer nobody needs."""
    text = byte_pairs()
    config = transformers.DebertaConfig(
        vocab_size=len(json.loads(text["vocab.json"])), max_position_embeddings=128, type_vocab_size=0,
        relative_attention=True, position_biased_input=False, pos_att_type="c2p|p2c", max_relative_positions=-1,
        num_labels=3, **SIZES,
    )  # fmt: skip
    model = transformers.DebertaForSequenceClassification(config)
    stated = json.dumps({**config.to_dict(), "architectures": ["DebertaForSequenceClassification"]}, default=str)
    settings = {"do_lower_case": False, "vocab_type": "gpt2"}
    return {
        "config.json": stated.encode(), "pytorch_model.bin": pickled(model), "bpe_encoder.bin": HOSTILE,
        "tokenizer_config.json": json.dumps(settings).encode(), **text,
    }  # fmt: skip


def deberta_v3_nli(folder: Path) -> dict[str, bytes]:
    """cross-encoder/nli-deberta-v3-base: sentence pieces, labels contradiction, entailment, neutral."""
    labels = ["contradiction", "entailment", "neutral"]
    config = transformers.DebertaV2Config(
        vocab_size=80, max_position_embeddings=128, type_vocab_size=0, relative_attention=True,
        position_biased_input=False, pos_att_type=["p2c", "c2p"], share_att_key=True, norm_rel_ebd="layer_norm",
        position_buckets=16, max_relative_positions=-1, id2label=dict(enumerate(labels)),
        label2id={n: i for i, n in enumerate(labels)}, **SIZES,
    )  # fmt: skip
    model = transformers.DebertaV2ForSequenceClassification(config)
    stated = json.dumps({**config.to_dict(), "architectures": ["DebertaV2ForSequenceClassification"]}, default=str)
    settings = {"tokenizer_class": "DebertaV2Tokenizer", "do_lower_case": False, "vocab_type": "spm"}
    return {
        "config.json": stated.encode(), "pytorch_model.bin": pickled(model), "spm.model": sentence_pieces(folder),
        "tokenizer_config.json": json.dumps(settings).encode(),
    }  # fmt: skip


def bleurt_20(folder: Path) -> dict[str, bytes]:
    """lucadiliello/BLEURT-20: a RemBERT under BLEURT's own names, pickled, with sentence pieces."""
    pieces = sentence_pieces(folder)
    config = transformers.RemBertConfig(
        vocab_size=80, max_position_embeddings=128, num_labels=1, input_embedding_size=16, output_embedding_size=16,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, **SIZES,
    )  # fmt: skip
    model = transformers.RemBertForSequenceClassification(config)

    def rename(name: str) -> str:
        name = name.replace("rembert.", "bleurt.")
        return name.replace("encoder.embedding_hidden_mapping_in", "encoder.embedding_projection")

    stated = {k: v for k, v in config.to_dict().items() if k not in ("id2label", "label2id")}
    stated |= {"model_type": "bleurt", "architectures": ["BleurtForSequenceClassification"], "embedding_size": 16}
    return {
        "config.json": json.dumps(stated, default=str).encode(), "pytorch_model.bin": pickled(model, rename),
        "spm.model": pieces,
    }  # fmt: skip


def plip(folder: Path) -> dict[str, bytes]:
    """vinid/plip: CLIP, pickled weights, CLIP's byte pairs, preprocessor_config.json."""
    text = byte_pairs()
    common = {k: v for k, v in SIZES.items() if k != "initializer_range"}
    size = len(json.loads(text["vocab.json"]))
    words = {**common, "vocab_size": size, "max_position_embeddings": 77, "bos_token_id": 5, "eos_token_id": 6}
    config = transformers.CLIPConfig(
        text_config=words, vision_config={**common, "image_size": 32, "patch_size": 8}, projection_dim=16
    )
    stated = json.dumps({**config.to_dict(), "architectures": ["CLIPModel"]}, default=str)
    settings = {"tokenizer_class": "CLIPTokenizer", "model_max_length": 77, "unk_token": "<|endoftext|>"}
    colours = {"crop_size": 32, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    return {
        "config.json": stated.encode(), "pytorch_model.bin": pickled(transformers.CLIPModel(config)),
        "preprocessor_config.json": json.dumps(colours).encode(),
        "tokenizer_config.json": json.dumps(settings).encode(), **text,
    }  # fmt: skip


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """The papers' models by hub name."""
    folder = tmp_path_factory.mktemp("published")
    torch.manual_seed(11)
    models = {
        PAPER["ner"]: megatron("MegatronBertForTokenClassification", folder / "ner", ENTITY_LABELS),
        PAPER["re"]: megatron("MegatronBertForSequenceClassification", folder / "re", ["LABEL_0", "LABEL_1"]),
        PAPER["align"]: megatron("MegatronBertModel", folder / "align"),
        PAPER["encoder"]: deberta_xlarge_mnli(folder / "encoder"),
        PAPER["nli"]: deberta_v3_nli(folder / "nli"),
        PAPER["quality"]: bleurt_20(folder / "quality"),
        PAPER["image"]: plip(folder / "image"),
    }
    assert set(models) == set(PAPER.values())
    return models


@pytest.fixture
def hub(published: dict[str, dict[str, bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    with serving(published, tmp_path / "cache", monkeypatch) as server:
        yield server


@pytest.fixture
def fetched(hub: type[Hub], tmp_path: Path) -> Path:
    fetch("paper", tmp_path / "paper")
    return tmp_path / "paper"


def test_all_of_the_paper_lands_as_safetensors(fetched: Path, hub: type[Hub]) -> None:
    assert sorted(path.name for path in fetched.iterdir()) == sorted([*PAPER, "models.toml"])
    for role in PAPER:
        kinds = {path.suffix for path in (fetched / role).iterdir() if path.is_file()}
        assert ".safetensors" in kinds and ".bin" not in kinds
    assert not any(path.endswith("bpe_encoder.bin") for path in hub.asked)


CASES = make_cases([CANDIDATE, REFERENCE], [REFERENCE, REFERENCE])


@pytest.mark.parametrize(
    ("request_", "model"),
    [
        ("hare(mode=paper)", "knowlab-research/HARE-alignment@"),
        ("bertscore", "microsoft/deberta-xlarge-mnli@"),
        ("medbertscore", "microsoft/deberta-xlarge-mnli@"),
        ("bleurt", "lucadiliello/BLEURT-20@"),
        ("clinicalbleurt", "embedded"),
        ("logic(mode=paper)", "cross-encoder/nli-deberta-v3-base@"),
        ("mist", "embedded"),
    ],
)
def test_each_metric_takes_its_own_model(fetched: Path, request_: str, model: str) -> None:
    metric = load_metric(request_, models=str(fetched))
    assert f"models:{model}" in metric.signature
    scores = metric.score(CASES)
    assert len(scores) == 2 and not any(score.failed for score in scores)


def test_the_same_by_name_from_the_cache(hub: type[Hub]) -> None:
    fetch("paper")
    for request_, model in (("bertscore", "microsoft/deberta-xlarge-mnli@"), ("bleurt", "lucadiliello/BLEURT-20@")):
        assert f"models:{model}" in load_metric(request_, models="paper").signature


def test_comb2_has_the_papers_bleurt(fetched: Path) -> None:
    assert "members:mist+rouge1_r+bleurt|" in load_metric("mist-comb2", models=str(fetched)).signature
    assert "members:mist+rouge1_r+clinicalbleurt|" in load_metric("mist-comb2").signature
    own = load_metric("mist-comb2(bleurt=clinicalbleurt)", models=str(fetched))
    assert "clinicalbleurt" in own.signature


def test_converted_weights_give_the_numbers_of_the_pickle(
    fetched: Path, published: dict[str, dict[str, bytes]]
) -> None:
    original = torch.load(io.BytesIO(published[PAPER["nli"]]["pytorch_model.bin"]), weights_only=True)
    model = transformers.DebertaV2ForSequenceClassification.from_pretrained(fetched / "nli")
    assert all(torch.equal(original[name], tensor) for name, tensor in model.state_dict().items())
    chances = load("nli", str(fetched / "nli")).probabilities([(REFERENCE, CANDIDATE)])
    assert chances.shape == (1, 3) and float(chances.sum()) == pytest.approx(1.0, abs=1e-5)


def test_images_go_through_plip(fetched: Path) -> None:
    model = load("image", str(fetched))
    pixels = np.zeros((32, 32, 3), np.uint8)
    assert model.embed_images([pixels]).shape == model.embed_texts(["kidney"]).shape == (1, 16)


def test_a_hostile_model_is_not_fetched(hub: type[Hub], tmp_path: Path) -> None:
    hub.models["some/model"] = {"config.json": b"{}", "tokenizer.json": b"{}", "pytorch_model.bin": HOSTILE}
    with pytest.raises(ModelError, match=r"pytorch_model.bin: its pickled weights are refused"):
        fetch("some/model", tmp_path / "some")
    assert not list((tmp_path / "some").glob("*.safetensors"))


def test_the_file_of_bartscore_becomes_the_likelihood(
    fetched: Path, tmp_path: Path, medassay: Callable[..., Any]
) -> None:
    """BARTScore's ParaBank2 weights are one pickled state dict for BART's architecture."""
    base = tmp_path / "bart"
    config = transformers.BartConfig(
        vocab_size=len(VOCABULARY), d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=128, pad_token_id=0,
        bos_token_id=2, eos_token_id=3, decoder_start_token_id=3, forced_eos_token_id=3,
    )  # fmt: skip
    transformers.BartForConditionalGeneration(config).save_pretrained(base)
    write_tokenizer(base)
    tuned = transformers.BartForConditionalGeneration(config)
    torch.save(tuned.state_dict(), tmp_path / "bart_score.pth")
    ran = medassay("models", "convert", tmp_path / "bart_score.pth", "--base", base, "--to", fetched / "likelihood")
    assert (ran.code, ran.err) == (0, "")
    metric = load_metric("bartscore", models=str(fetched))
    assert "models:likelihood@" in metric.signature
    assert all(score.value is not None for score in metric.score(CASES))
    again = transformers.BartForConditionalGeneration.from_pretrained(fetched / "likelihood")
    assert torch.equal(again.model.shared.weight, tuned.model.shared.weight)
    with pytest.raises(Exception, match="not an empty folder"):
        convert_file(tmp_path / "bart_score.pth", base, fetched / "likelihood")
