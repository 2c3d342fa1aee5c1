"""Role `image` from a CLIP folder: a small random model of the transformers library."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from medassay.errors import ModelError
from medassay.models.hub_files import open_folder

from .conftest import VOCABULARY, write_tokenizer

pytestmark = pytest.mark.hf


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    """A CLIP of two layers a side, 32 pixels, 16 numbers."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(3)
    common = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    text = {**common, "vocab_size": len(VOCABULARY), "max_position_embeddings": 16, "eos_token_id": 3}
    vision = {**common, "image_size": 32, "patch_size": 8}
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    folder = tmp_path / "clip"
    transformers.CLIPModel(config).eval().save_pretrained(folder)
    write_tokenizer(folder)
    return folder


def test_images_and_texts_as_the_library_embeds_them(clip: Path) -> None:
    import torch
    from transformers import CLIPModel

    from medassay.models import load

    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    model = load("image", str(clip))
    ours = model.embed_images([pixels, pixels[::2, ::2]])
    assert ours.shape == (2, 16)
    assert np.allclose(np.linalg.norm(ours, axis=1), 1, atol=1e-5)
    mean, std = np.array([0.48145466, 0.4578275, 0.40821073]), np.array([0.26862954, 0.26130258, 0.27577711])
    given = torch.tensor(((pixels / 255 - mean) / std).transpose(2, 0, 1)[None], dtype=torch.float32)
    found = CLIPModel.from_pretrained(clip).eval().get_image_features(pixel_values=given)
    theirs = getattr(found, "pooler_output", found)[0].detach().numpy()
    assert np.allclose(ours[0], theirs / np.linalg.norm(theirs), atol=1e-4)
    texts = model.embed_texts(["invasive ductal carcinoma", "kidney", "no " * 40])
    assert texts.shape == (3, 16) and np.allclose(np.linalg.norm(texts, axis=1), 1, atol=1e-5)


def test_no_vocabulary_is_stated(clip: Path) -> None:
    from medassay.models import load

    model = load("image", str(clip))
    assert model.windows and model.least_coverage is None
    read = model.read_phrases(["kidney"])
    assert read.mean.tolist() == [0] and read.spread.tolist() == [1] and not len(read.coverage)


def test_preprocessing_is_the_folders_own(clip: Path) -> None:
    from medassay.models import load

    stated = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "crop_size": {"height": 32, "width": 32}}
    (clip / "preprocessor_config.json").write_text(json.dumps(stated), encoding="utf-8")
    model = load("image", str(clip.rename(clip.with_name("clip2"))))
    assert model.side == 32 and model.mean.tolist() == [0.5, 0.5, 0.5]  # type: ignore[attr-defined]


def test_a_text_encoder_is_no_image_model(tiny, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    from medassay.models import load

    with pytest.raises(ModelError, match="images and texts in one space"):
        load("image", str(tiny("BertModel", where="bert")))


def test_an_open_clip_folder_says_so(tmp_path: Path) -> None:
    (tmp_path / "open_clip_config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match="open_clip library; convert"):
        open_folder("image", str(tmp_path))
