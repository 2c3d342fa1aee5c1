"""Role `image` from any model of the transformers library in CLIP's form (PLIP and its kind), extra `hf`.

A folder holds `config.json`, safetensors weights, a tokenizer and `preprocessor_config.json`. Such models were
trained on windows of 224 pixels and have no vocabulary; similarities are compared with those of the embedded set's
phrases.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from medassay.errors import ModelError
from medassay.models.activations import unit_rows
from medassay.models.base import ImageConcepts, Matrix, Phrases, Pictures
from medassay.models.graphs import HOME, ModelSet
from medassay.models.hub import first_line, quiet
from medassay.models.hub_files import HubFolder
from medassay.models.image import as_square, read_vocabulary

AT_ONCE = 32
OPENAI_MEAN, OPENAI_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
"""Means and deviations of CLIP's own training images, for folders that state none."""


class HubImage:
    """Images and texts through a CLIP model: unit vectors, on CUDA where there is one."""

    windows = True
    least_coverage: float | None = None
    concepts: ImageConcepts | None = None

    def __init__(self, folder: HubFolder) -> None:
        import torch

        self.folder, self.name = folder, folder.name
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = _open_model(folder.path).eval().to(self.device)
        self.tokenizer = _open_tokenizer(folder.path)
        self.side, self.mean, self.std = _preparation(folder)

    def embed_images(self, images: Sequence[Any]) -> Matrix:
        """Unit vectors [images, size] of pixel arrays (height × width × 3, bytes) or Pillow images."""
        import torch

        rows = []
        for start in range(0, len(images), AT_ONCE):
            pixels = np.stack([as_square(image, self.side) for image in images[start : start + AT_ONCE]])
            prepared = ((pixels.astype(np.float32) / 255 - self.mean) / self.std).transpose(0, 3, 1, 2)
            with torch.inference_mode():
                tensor = torch.from_numpy(np.ascontiguousarray(prepared, np.float32)).to(self.device)
                rows.append(unit_rows(_features(self.model.get_image_features(pixel_values=tensor))))
        return np.concatenate(rows) if rows else np.zeros((0, self._size), np.float32)

    def read_images(self, images: Sequence[Any]) -> Pictures:
        """Vectors alone: such a model does not estimate which images it was not made for."""
        return Pictures(self.embed_images(images))

    def embed_texts(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors [texts, size]; a text longer than the model reads is cut."""
        import torch

        rows = []
        for start in range(0, len(texts), AT_ONCE):
            batch = list(texts[start : start + AT_ONCE])
            encoded = self.tokenizer(
                batch, padding=True, truncation=True, max_length=self._longest, return_tensors="pt"
            )
            with torch.inference_mode():
                features = self.model.get_text_features(
                    input_ids=encoded["input_ids"].to(self.device),
                    attention_mask=encoded["attention_mask"].to(self.device),
                )
            rows.append(unit_rows(_features(features)))
        return np.concatenate(rows) if rows else np.zeros((0, self._size), np.float32)

    def read_phrases(self, texts: Sequence[str]) -> Phrases:
        """Vectors alone: the cosines of these models with images in general were never measured."""
        vectors = self.embed_texts(texts)
        count = len(vectors)
        return Phrases(vectors, np.zeros(count, np.float32), np.ones(count, np.float32), np.zeros(0, np.float32))

    def bank(self) -> Phrases:
        """The embedded vocabulary's phrases through this model."""
        return self._bank

    @cached_property
    def _bank(self) -> Phrases:
        embedded = ModelSet(HOME)
        return self.read_phrases(read_vocabulary(embedded.file(embedded.role("image")["vocabulary"])))

    @property
    def _size(self) -> int:
        return int(self.model.config.projection_dim)

    @property
    def _longest(self) -> int:
        text = getattr(self.model.config, "text_config", self.model.config)
        return int(min(getattr(text, "max_position_embeddings", 77), self.tokenizer.model_max_length))


def _open_model(folder: Path) -> Any:
    from transformers import AutoModel

    try:
        with quiet():
            model, report = AutoModel.from_pretrained(
                folder, use_safetensors=True, local_files_only=True, trust_remote_code=False, output_loading_info=True
            )
    except Exception as error:  # broken weights raise many types: safetensors', torch's, the library's
        raise ModelError(f"{folder}: its weights cannot be opened ({first_line(error)})") from error
    if not (hasattr(model, "get_image_features") and hasattr(model, "get_text_features")):
        raise ModelError(
            f"{folder}: the role 'image' needs a model of images and texts in one space (CLIPModel and its kind), "
            f"but this is a {type(model).__name__}"
        )
    missing = sorted(report["missing_keys"])
    if missing:
        raise ModelError(
            f"{folder}: the weights lack {missing[0]} ({len(missing)} in all); copy the whole folder again"
        )
    return model


def _open_tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    try:
        with quiet():
            return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # the library raises anything from KeyError to its backend's own type
        raise ModelError(f"{folder}: its tokenizer cannot be opened ({first_line(error)})") from error


def _preparation(folder: HubFolder) -> tuple[int, Matrix, Matrix]:
    """Side in pixels, mean and deviation of each colour (0–1), as `preprocessor_config.json` says."""
    path = folder.path / "preprocessor_config.json"
    try:
        stated: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except ValueError as error:
        raise ModelError(f"{path}: not JSON ({error}). Copy the whole folder again") from error
    vision = folder.config.get("vision_config") or {}
    crop = stated.get("crop_size") or stated.get("size") or vision.get("image_size", 224)
    side = crop.get("height") or crop.get("shortest_edge") or 224 if isinstance(crop, dict) else crop
    mean, std = stated.get("image_mean") or OPENAI_MEAN, stated.get("image_std") or OPENAI_STD
    return int(side), np.asarray(mean, np.float32), np.asarray(std, np.float32)


def _features(output: Any) -> Matrix:
    """The vectors of an output: a tensor, or from transformers 5 on an object that holds it."""
    tensor = output if hasattr(output, "float") else output.pooler_output
    vectors: Matrix = tensor.float().cpu().numpy()
    return vectors
