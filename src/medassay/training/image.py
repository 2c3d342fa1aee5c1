"""The image role: a frozen vision tower, a ridge map of its features into the text encoder's space, two graphs.

With a few thousand images a tower that is trained further memorises captions; frozen features with a linear map do
not. What an image is mapped to is the mean of all that is said of it (caption, statements, tagged phrases, organ,
process), each text whitened a little, so that frequent turns of phrase count less. Features are means and
deviations over the image of five stages: colour and texture from the lower, shapes from the upper ones. Part of what
images of one source have in common is taken out before the map is fitted: a laboratory's colours and magnification
would otherwise stand for the organs it sent.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from medassay.models.activations import unit_rows
from medassay.models.image import as_square
from medassay.slides.image import read_image
from medassay.training.augmentation import augment
from medassay.training.familiarity import Familiarity
from medassay.training.histology import WEIGHTS, Sample
from medassay.training.refusal import Refusal
from medassay.training.tower import Tower

if TYPE_CHECKING:
    from medassay.training.concepts import Concepts

Floats = NDArray[np.float32]

SIDE = 224
SIZE = 256
"""Numbers of a vector in the shared space."""
FIRST_STAGE = 2
"""Stages pooled: from the third to the seventh; the head, made for ImageNet's classes, was no help."""
RIDGE = 0.5
"""Strength of the ridge, as a multiple of the mean eigenvalue of the samples' kernel."""
WHITENING, FLOOR = 0.25, 0.3
"""Power by which text directions are whitened, and the floor of their variance (share of the mean)."""
LEAST_IMAGES = 5
"""Images that have to show a diagnosis before it is part of the vocabulary."""
VIEWS = 3
"""Views of each image: the image itself, and augmented copies (`augmentation.py`)."""
CENTRING = 0.4
"""Share of the mean of a source's images, and of what is said of them, that is taken out."""
PLAIN = 0.75
"""Weight of the images themselves; their augmented copies share the rest."""
SOURCES = {"pathvqa": 4.0, "lc25000": 2.0}
"""Sources that count for more than the square root of their size: they name diagnoses of all organs, and of lung."""


class Pooled(nn.Module):
    """A tower's stage features, pooled: means, then deviations."""

    def __init__(self, tower: Tower) -> None:
        super().__init__()
        self.tower = tower

    def forward(self, pixels: Tensor) -> Tensor:
        """Bytes [images, side, side, 3] to [images, features]."""
        maps = self.tower.lower((pixels.float().permute(0, 3, 1, 2) - 127.0) / 128.0)[FIRST_STAGE:]
        means = [stage.mean((2, 3)) for stage in maps]
        spreads = [
            ((stage - mean[:, :, None, None]).pow(2).mean((2, 3)) + 1e-8).sqrt() for stage, mean in zip(maps, means)
        ]
        return torch.cat([*means, *spreads], 1)


@dataclass(frozen=True, slots=True, eq=False)
class Maps:
    """From features and text vectors into the shared space.

    centre, scale: of the features. head: [features, size]. text_mean: of the texts learnt from; text_map:
    [encoder's size, size]. bank_mean, bank_root: mean of the unit vectors of the training images, and a root of
    their covariance, which give the mean and spread of any text's cosine with images in general.
    """

    centre: Floats
    scale: Floats
    head: Floats
    text_mean: Floats
    text_map: Floats
    bank_mean: Floats
    bank_root: Floats

    def images(self, features: Floats) -> Floats:
        """Unit vectors of images."""
        return unit_rows(np.asarray((features - self.centre) * self.scale @ self.head, np.float32))

    def texts(self, embeddings: Floats) -> Floats:
        """Unit vectors of texts."""
        return unit_rows(np.asarray((embeddings - self.text_mean) @ self.text_map, np.float32))


def read_pixels(file: Path) -> NDArray[np.uint8]:
    """The pixels of an image file, squeezed to the tower's input size."""
    return as_square(read_image(file), SIDE)


def features(samples: Sequence[Sample], tower: Tower, views: int = VIEWS, seed: int = 0, batch: int = 32) -> Floats:
    """Pooled features [views, samples, features]; the first view is the image as it is."""
    pooled = Pooled(tower).eval().to(memory_format=torch.channels_last)
    batches_of_views: list[list[Floats]] = [[] for _ in range(views)]
    random = torch.Generator().manual_seed(seed)
    for start in range(0, len(samples), batch):
        pixels = torch.from_numpy(np.stack([read_pixels(sample.file) for sample in samples[start : start + batch]]))
        with torch.inference_mode():
            for view in range(views):
                batches_of_views[view].append(pooled(augment(pixels, random) if view else pixels).numpy())
        if sys.stderr.isatty():
            print(f"features {min(start + batch, len(samples))}/{len(samples)}", end="\r", file=sys.stderr)
    return np.stack([np.concatenate(view_batches) for view_batches in batches_of_views])


def fit(seen: Floats, samples: Sequence[Sample], vectors: Mapping[str, Floats], ridge: float = RIDGE) -> Maps:
    """The maps that bring images and what is said of them together, by ridge regression.

    seen: features [views, samples, features]. vectors: the encoder's vector of every text of the samples.
    """
    mean, text_map = text_space(samples, vectors)
    texts = sorted({text for sample in samples for _, text in sample.texts})
    mapped = dict(zip(texts, unit_rows((np.stack([vectors[text] for text in texts]) - mean) @ text_map)))
    share = shares(samples)
    targets = np.stack([_shown(sample, mapped, text_map.shape[1]) for sample in samples])
    targets -= np.average(targets, axis=0, weights=share)
    centre, scale = standard(seen[0], share)
    targets = _less_source(targets, samples, share)
    inner = np.zeros((seen.shape[2], seen.shape[2]), np.float64)
    outer = np.zeros((seen.shape[2], targets.shape[1]), np.float64)
    for view, weight in zip(seen, view_weights(len(seen))):
        rows = _less_source((view - centre) * scale, samples, share)
        weighted = (weight * share[:, None] * rows).T
        inner += weighted @ rows
        outer += weighted @ targets
    inner[np.diag_indices_from(inner)] += ridge * np.trace(inner) / len(samples)
    head = np.linalg.solve(inner, outer).astype(np.float32)
    return complete(centre, scale, head, mean, text_map, seen[0], share)


def view_weights(views: int) -> list[float]:
    """The weight of each view of an image: the image itself, then its augmented copies."""
    return [PLAIN] + [(1 - PLAIN) / (views - 1)] * (views - 1) if views > 1 else [1.0]


def _less_source(rows: Floats, samples: Sequence[Sample], share: Floats) -> Floats:
    """Rows without `CENTRING` of the mean of their source."""
    centred = rows.copy()
    names = np.array([sample.source for sample in samples])
    for name in set(names.tolist()):
        inside = names == name
        if share[inside].sum() > 0:
            centred[inside] -= CENTRING * np.average(rows[inside], axis=0, weights=share[inside]).astype(np.float32)
    return centred


def shares(samples: Sequence[Sample]) -> Floats:
    """The weight of each image: every source by the square root of its size; 0 for images without texts."""
    counts = Counter(sample.source for sample in samples if sample.texts)
    weight = {source: SOURCES.get(source, 1.0) * count**-0.5 for source, count in counts.items()}
    weights = np.array([weight[s.source] if s.texts else 0.0 for s in samples], np.float32)
    return np.asarray(weights / weights.sum(), np.float32)


def text_space(samples: Sequence[Sample], vectors: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """Mean of the texts learnt from, and the map of a text vector to the shared space, whitened a little."""
    texts = sorted({text for sample in samples for _, text in sample.texts})
    stacked = np.stack([vectors[text] for text in texts])
    mean = stacked.mean(0)
    _, values, axes = np.linalg.svd(stacked - mean, full_matrices=False)
    variance = values**2 / len(texts)
    return mean, (axes.T / (variance + FLOOR * variance.mean()) ** WHITENING)[:, :SIZE].astype(np.float32)


def standard(features: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Centre of the features, and what brings each to unit deviation."""
    centre = np.average(features, axis=0, weights=share)
    spread = np.sqrt(np.average((features - centre) ** 2, axis=0, weights=share))
    return np.asarray(centre, np.float32), np.asarray(1 / (spread + 1e-3), np.float32)


def complete(
    centre: Floats, scale: Floats, head: Floats, text_mean: Floats, text_map: Floats, features: Floats, share: Floats
) -> Maps:
    """Maps with the mean and covariance of the image vectors."""
    vectors = unit_rows((features - centre) * scale @ head)
    bank_mean = np.average(vectors, axis=0, weights=share)
    spread = ((vectors - bank_mean) * share[:, None]).T @ (vectors - bank_mean) / share.sum()
    values, axes = np.linalg.eigh(spread)
    root = axes * np.sqrt(np.maximum(values, 0))
    numbers = (centre, scale, head, text_mean, text_map, bank_mean, root)
    return Maps(*(np.asarray(array, np.float32) for array in numbers))


def _shown(sample: Sample, mapped: Mapping[str, Floats], size: int) -> Floats:
    """The weighted mean of a sample's texts; zeros where it has none."""
    if not sample.texts:
        return np.zeros(size, np.float32)
    kinds = [kind for kind, _ in sample.texts]
    weights = np.array([WEIGHTS[kind] / kinds.count(kind) for kind in kinds], np.float32)
    rows = np.stack([mapped[text] for _, text in sample.texts])
    mean: Floats = weights @ rows / weights.sum()
    return mean


class ImageGraph(nn.Module):
    """pixels (bytes) → vector, odds against H&E by features (0 without), distance from the known, organ, process."""

    def __init__(
        self, tower: Tower, maps: Maps, known: Familiarity, concepts: Concepts, refusal: Refusal | None = None
    ) -> None:
        super().__init__()
        features = len(maps.centre)
        self.deep = nn.Parameter(_tensor(refusal.deep if refusal else np.zeros(features))[:, None])
        self.bias = nn.Parameter(_tensor([refusal.bias if refusal else 0.0]))
        self.pooled = Pooled(tower)
        self.centre, self.scale = nn.Parameter(_tensor(maps.centre)), nn.Parameter(_tensor(maps.scale))
        self.head = nn.Parameter(_tensor(maps.head))
        # Distances in units of the known: coordinates and centres are scaled alike.
        self.parts, self.shift = (
            nn.Parameter(_tensor(known.parts / known.unit)),
            nn.Parameter(_tensor(known.shift / known.unit)),
        )
        self.sources = nn.Parameter(_tensor(known.centres / known.unit))
        self.concepts, self.concept_bias = nn.Parameter(_tensor(concepts.weight)), nn.Parameter(_tensor(concepts.bias))
        self.organs = len(concepts.organs)

    def forward(self, pixels: Tensor) -> tuple[Tensor, ...]:
        """Unit vectors, log odds against H&E, distance from the known sources, chances of organs and of processes."""
        pooled = self.pooled(pixels)
        vectors = _normal(((pooled - self.centre) * self.scale) @ self.head)
        coordinates = pooled @ self.parts - self.shift
        distance = (coordinates[:, None] - self.sources[None]).pow(2).sum(2).min(1).values.sqrt()
        answers = pooled @ self.concepts + self.concept_bias
        organs, processes = answers[:, : self.organs].softmax(1), answers[:, self.organs :].softmax(1)
        return vectors, (pooled @ self.deep)[:, 0] + self.bias, distance, organs, processes


class TextGraph(nn.Module):
    """The encoder's vectors → vector, mean and spread of its cosine with images at large, coverage, nearest phrase."""

    def __init__(self, maps: Maps, vocabulary: Floats) -> None:
        super().__init__()
        self.mean, self.map = nn.Parameter(_tensor(maps.text_mean)), nn.Parameter(_tensor(maps.text_map))
        self.bank, self.root = nn.Parameter(_tensor(maps.bank_mean)), nn.Parameter(_tensor(maps.bank_root))
        self.vocabulary = nn.Parameter(_tensor(vocabulary))

    def forward(self, embedding: Tensor) -> tuple[Tensor, ...]:
        """Vectors, mean, spread, coverage and nearest of the texts; vectors, mean and spread of the vocabulary."""
        coverage, nearest = (_normal(embedding) @ _normal(self.vocabulary).T).max(1)
        return (*self._standing(embedding), coverage, nearest, *self._standing(self.vocabulary))

    def _standing(self, embedding: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        vectors = _normal((embedding - self.mean) @ self.map)
        return vectors, vectors @ self.bank, (vectors @ self.root).pow(2).sum(1).sqrt()


def _tensor(values: Any) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, np.float32))


def _normal(rows: Tensor) -> Tensor:
    return rows / rows.norm(dim=-1, keepdim=True).clamp(min=1e-12)


def vocabulary_of(samples: Sequence[Sample], least: int = 1) -> list[tuple[str, str, int]]:
    """(phrase, kind, images) of every organ and process, and of tagged phrases that `least` images show.

    The most frequent come first.
    """
    counts: dict[str, tuple[str, int]] = {}
    for sample in samples:
        for kind, text in sample.texts:
            if kind in ("phrase", "organ", "process") and sample.process != "G":
                counts[text] = (counts.get(text, (kind, 0))[0], counts.get(text, (kind, 0))[1] + 1)
    known = ((text, kind, n) for text, (kind, n) in counts.items() if kind != "phrase" or n >= least)
    return sorted(known, key=lambda row: (-row[2], row[0]))
