"""The embedded `image` role: a small vision tower and a map of the encoder's text vectors into one space.

The tower sees an image as 224 × 224 pixels, squeezed where it is not square; the stage features it was
trained on are pooled inside the graph. Texts go through the `encoder` role first. The text graph also gives the
similarity of each text to histology images in general and to the phrases of the training data, so that a similarity
can be standardised and a text outside the vocabulary refused (`Phrases`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from medassay.errors import InputError, ModelError
from medassay.models import stains
from medassay.models.base import ImageConcepts, Matrix, Phrases, Pictures
from medassay.models.graphs import HOME, ModelSet
from medassay.models.roles import EmbeddedEncoder

Pixels = npt.NDArray[np.uint8]
"""Height × width × 3, RGB."""

AT_ONCE = 16
"""Images per run of the tower: its largest layer then holds 100 MB."""


class EmbeddedImage:
    """Role `image`: unit vectors of images and texts in one space."""

    windows = False

    def __init__(self, models: ModelSet) -> None:
        self.models = models
        self.settings = models.role("image")
        self.name = f"{models.name}/image"
        self.side = int(self.settings["side"])
        self.least_coverage: float | None = float(self.settings["least_coverage"])
        self.concepts = _concepts(self.settings)
        self.encoder = EmbeddedEncoder(_encoder_set(models, str(self.settings["encoder"])), "encoder")

    def embed_images(self, images: Sequence[Any]) -> Matrix:
        """Unit vectors [images, size] of pixel arrays (height × width × 3, bytes) or Pillow images."""
        return self.read_images(images).vectors

    def read_images(self, images: Sequence[Any]) -> Pictures:
        """Vectors of images; where the role knows them, log odds against H&E, confidence, and organs and processes."""
        refusal, curve = self.settings.get("refusal"), self.settings.get("confidence")
        rows = [np.zeros((0, int(self.settings["size"])), np.float32)]
        foreign, distances = [np.zeros(0, np.float32)], [np.zeros(0, np.float32)]
        organs, processes = ([np.zeros((0, size), np.float32)] for size in self._classes)
        for start in range(0, len(images), AT_ONCE):
            pixels = np.stack([as_square(image, self.side) for image in images[start : start + AT_ONCE]])
            vectors, *scores = self.models.run(self.settings["graph"], {"pixels": pixels})
            rows.append(vectors)
            if refusal:
                colours = np.stack([stains.stain_colours(coarse(square)) for square in pixels])
                foreign.append(scores[0] + colours @ np.array(refusal["stains"], np.float32))
            if curve:
                distances.append(scores[1])
            if self.concepts:
                organs.append(scores[2])
                processes.append(scores[3])
        return Pictures(
            np.concatenate(rows),
            np.concatenate(foreign) if refusal else None,
            float(refusal["least"]) if refusal else None,
            confidence(np.concatenate(distances), curve) if curve else None,
            np.concatenate(organs) if self.concepts else None,
            np.concatenate(processes) if self.concepts else None,
        )

    @property
    def _classes(self) -> tuple[int, int]:
        """How many organs and groups of processes the role tells apart."""
        return (len(self.concepts.organs), len(self.concepts.processes)) if self.concepts else (0, 0)

    def embed_texts(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors [texts, size]."""
        return self.read_phrases(texts).vectors

    def read_phrases(self, texts: Sequence[str]) -> Phrases:
        """Vectors of texts, with their similarity to histology images in general and to the vocabulary."""
        vectors, mean, spread, coverage, nearest = self._run(self.encoder.embed(texts))
        return Phrases(vectors, mean, spread, coverage, tuple(self.vocabulary[i] for i in nearest.tolist()))

    def bank(self) -> Phrases:
        """The phrases of the vocabulary, which a similarity is compared with."""
        return self._bank

    @cached_property
    def _bank(self) -> Phrases:
        # One dummy row: the graph returns its vocabulary for any input.
        size = int(self.encoder.settings["size"])
        *_, vectors, mean, spread = self._outputs(np.zeros((1, size), np.float32))
        return Phrases(vectors, mean, spread, np.ones(len(vectors), np.float32), self.vocabulary)

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The phrases that the model learnt from, in the order of the text graph."""
        return read_vocabulary(self.models.file(self.settings["vocabulary"]))

    def _run(self, embeddings: Matrix) -> list[Any]:
        if not len(embeddings):
            empty = np.zeros(0, np.float32)
            return [np.zeros((0, int(self.settings["size"])), np.float32), empty, empty, empty, np.zeros(0, np.int64)]
        return self._outputs(embeddings)[:5]

    def _outputs(self, embeddings: Matrix) -> list[Any]:
        """vectors, mean, spread, coverage, nearest of the texts; vectors, mean, spread of the vocabulary."""
        return self.models.run(self.settings["text_graph"], {"embedding": embeddings})


def _concepts(settings: Mapping[str, Any]) -> ImageConcepts | None:
    """The organs and processes of a manifest; None where it has none."""
    if "organs" not in settings:
        return None
    organs = {str(key): tuple(names) for key, names in settings["organs"].items()}
    return ImageConcepts(organs, tuple(settings["processes"]))


def confidence(distances: Matrix, curve: Sequence[Sequence[float]]) -> Matrix:
    """Confidence (0–1) at distances from the known sources, between the points (distance, confidence) of a curve.

    >>> confidence(np.array([0.5, 1.5, 9.0]), [(1.0, 1.0), (2.0, 0.5)]).tolist()
    [1.0, 0.75, 0.5]
    """
    places, heights = np.array(curve, np.float64).T
    return np.asarray(np.interp(distances, places, heights), np.float32)


def encoder_mark(models: ModelSet) -> str:
    """Twelve hex digits of the hash of a set's encoder: an image model's text map works with that encoder only."""
    graph = models.role("encoder")["graph"]
    return next(str(entry["sha256"])[:12] for entry in models.manifest["files"] if entry["name"] == graph)


def _encoder_set(models: ModelSet, mark: str) -> ModelSet:
    """The set whose encoder the image model was trained with: its own, or the embedded one."""
    encoder_set = models if "encoder" in models.manifest["roles"] else ModelSet(HOME)
    actual = encoder_mark(encoder_set)
    if actual != mark:
        raise ModelError(
            f"{models.folder}: trained with the encoder {mark}, but {encoder_set.folder} has {actual}; "
            "train the role 'image' again with this version"
        )
    return encoder_set


def read_vocabulary(path: Path) -> tuple[str, ...]:
    """The phrases of a vocabulary file: one phrase per line; columns after a tab are for human readers."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(line.partition("\t")[0] for line in lines if line and not line.startswith("#"))


def as_square(image: Any, side: int) -> Pixels:
    """An array or Pillow image as `side` × `side` pixels: squeezed where it is not square, never cropped."""
    if hasattr(image, "convert"):
        image = image.convert("RGB")
    pixels = np.asarray(image)
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8 or 0 in pixels.shape:
        raise InputError(
            f"an image is height × width × 3 bytes (RGB), not {pixels.dtype} of shape {pixels.shape}; "
            "read files with medassay.slides.read_image, which converts them"
        )
    return pixels if pixels.shape[:2] == (side, side) else resize(np.ascontiguousarray(pixels), side, side)


def coarse(pixels: Pixels) -> Pixels:
    """An image as `stain_colours` reads it."""
    from PIL import Image

    return np.asarray(Image.fromarray(pixels).resize((stains.SIDE, stains.SIDE), Image.Resampling.BOX))


def resize(pixels: Pixels, width: int, height: int) -> Pixels:
    """Antialiased resize (bilinear)."""
    from PIL import Image

    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.BILINEAR))
