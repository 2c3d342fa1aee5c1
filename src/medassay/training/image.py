"""The image role: a frozen vision tower, a ridge map of its features into the text encoder's space, two graphs.

With a few thousand images a tower that is trained further memorises captions; frozen features with a linear map do
not. What an image is mapped to is the mean of all that is said of it (caption, statements, tagged phrases, organ,
process), each text whitened a little, so that frequent turns of phrase count less. Features are means and
deviations over the image of five stages: colour and texture from the lower, shapes from the upper ones.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from medassay.models.activations import unit_rows
from medassay.models.image import as_square, resize
from medassay.slides.image import read_image
from medassay.training.histology import WEIGHTS, Sample
from medassay.training.refusal import Refusal
from medassay.training.tower import Tower

Floats = NDArray[np.float32]

SIDE = 224
SIZE = 256
"""Numbers of a vector in the shared space."""
FIRST_STAGE = 2
"""Stages pooled: from the third to the seventh; the head, made for ImageNet's classes, was no help."""
RIDGE = 0.8
"""Strength of the ridge, as a multiple of the mean eigenvalue of the samples' kernel."""
WHITENING, FLOOR = 0.25, 0.3
"""Power by which text directions are whitened, and the floor of their variance (share of the mean)."""
SHARES = {"pathvqa": 1.0, "lc25000": 0.15, "oral": 0.8}
"""Weight of an image of each set: LC25000 has many near-equal tiles of five classes."""
VIEWS = 2
"""Times each image is seen: as it is, and once jittered in stain, crop and orientation."""


class Pooled(nn.Module):
    """A tower's stage features, pooled: means, then deviations."""

    def __init__(self, tower: Tower) -> None:
        super().__init__()
        self.tower = tower

    def forward(self, pixels: Tensor) -> Tensor:
        """Bytes [images, side, side, 3] to [images, features]."""
        maps = self.tower.lower((pixels.float().permute(0, 3, 1, 2) - 127.0) / 128.0)[FIRST_STAGE:]
        means = [one.mean((2, 3)) for one in maps]
        spreads = [((one - mean[:, :, None, None]).pow(2).mean((2, 3)) + 1e-8).sqrt() for one, mean in zip(maps, means)]
        return torch.cat([*means, *spreads], 1)


@dataclass(frozen=True, slots=True, eq=False)
class Maps:
    """From features and text vectors into the shared space.

    centre, scale: of the features. head: [features, size]. text_mean: of the texts learnt from; text_map:
    [encoder's size, size]. bank_mean, bank_root: mean of the unit vectors of the training images, and a root of
    their covariance: how any text stands to images at large.
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
    """An image as the tower sees it."""
    return as_square(read_image(file), SIDE)


def jittered(pixels: NDArray[np.uint8], random: np.random.Generator) -> NDArray[np.uint8]:
    """Another look at the same tissue: stains stronger or weaker, a part of the field, turned and mirrored."""
    density = -np.log((pixels.astype(np.float32) + 1) / 256)
    density = density * random.uniform(0.75, 1.3) * random.uniform(0.85, 1.18, 3) + random.uniform(-0.03, 0.03)
    made = np.clip(np.exp(-density) * 256 - 1, 0, 255).astype(np.uint8)
    side = int(random.integers(150, SIDE + 1))
    top, left = random.integers(0, SIDE - side + 1, 2)
    made = np.rot90(made[top : top + side, left : left + side], int(random.integers(4)))
    if random.random() < 0.5:
        made = made[:, ::-1]
    return np.asarray(resize(np.ascontiguousarray(made), SIDE, SIDE))


def features(samples: Sequence[Sample], tower: Tower, views: int = VIEWS, seed: int = 0, batch: int = 32) -> Floats:
    """Pooled features [views, samples, features]; the first view is the image as it is."""
    pooled = Pooled(tower).eval().to(memory_format=torch.channels_last)
    made: list[list[Floats]] = [[] for _ in range(views)]
    for start in range(0, len(samples), batch):
        some = [read_pixels(sample.file) for sample in samples[start : start + batch]]
        for view in range(views):
            seen = some
            if view:
                seen = [jittered(p, np.random.default_rng([seed, view, start + i])) for i, p in enumerate(some)]
            with torch.inference_mode():
                made[view].append(pooled(torch.from_numpy(np.stack(seen))).numpy())
        if sys.stderr.isatty():
            print(f"features {min(start + batch, len(samples))}/{len(samples)}", end="\r", file=sys.stderr)
    return np.stack([np.concatenate(one) for one in made])


def fit(seen: Floats, samples: Sequence[Sample], vectors: Mapping[str, Floats], ridge: float = RIDGE) -> Maps:
    """The maps that bring images and what is said of them together.

    seen: features [views, samples, features]. vectors: the encoder's vector of every text of the samples.
    """
    texts = sorted({text for sample in samples for _, text in sample.texts})
    stacked = np.stack([vectors[text] for text in texts])
    mean = stacked.mean(0)
    _, values, axes = np.linalg.svd(stacked - mean, full_matrices=False)
    variance = values**2 / len(texts)
    text_map = (axes.T / (variance + FLOOR * variance.mean()) ** WHITENING)[:, :SIZE].astype(np.float32)
    mapped = dict(zip(texts, unit_rows((stacked - mean) @ text_map)))
    share = np.array([SHARES[s.source] if s.texts else 0.0 for s in samples], np.float32)
    wanted = np.stack([_shown(sample, mapped, text_map.shape[1]) for sample in samples])
    wanted -= np.average(wanted, axis=0, weights=share)
    centre = np.average(seen[0], axis=0, weights=share)
    scale = 1 / (np.sqrt(np.average((seen[0] - centre) ** 2, axis=0, weights=share)) + 1e-3)
    inner = np.zeros((seen.shape[2], seen.shape[2]), np.float64)
    outer = np.zeros((seen.shape[2], wanted.shape[1]), np.float64)
    for view in seen:
        rows = (view - centre) * scale
        inner += (rows * share[:, None]).T @ rows
        outer += (rows * share[:, None]).T @ wanted
    inner[np.diag_indices_from(inner)] += ridge * np.trace(inner) / len(samples)
    head = np.linalg.solve(inner, outer).astype(np.float32)
    found = unit_rows((seen[0] - centre) * scale @ head)
    bank_mean = np.average(found, axis=0, weights=share)
    spread = ((found - bank_mean) * share[:, None]).T @ (found - bank_mean) / share.sum()
    values, axes = np.linalg.eigh(spread)
    root = axes * np.sqrt(np.maximum(values, 0))
    numbers = (centre, scale, head, mean, text_map, bank_mean, root)
    return Maps(*(np.asarray(one, np.float32) for one in numbers))


def _shown(sample: Sample, mapped: Mapping[str, Floats], size: int) -> Floats:
    """The weighted mean of a sample's texts; zeros where nothing is said."""
    if not sample.texts:
        return np.zeros(size, np.float32)
    weights = np.array([WEIGHTS[kind] for kind, _ in sample.texts], np.float32)
    rows = np.stack([mapped[text] for _, text in sample.texts])
    made: Floats = weights @ rows / weights.sum()
    return made


class ImageGraph(nn.Module):
    """pixels (bytes) → vector, and the part of the log odds against H&E that the features speak for (0 without)."""

    def __init__(self, tower: Tower, maps: Maps, refusal: Refusal | None = None) -> None:
        super().__init__()
        features = len(maps.centre)
        self.deep = nn.Parameter(_tensor(refusal.deep if refusal else np.zeros(features))[:, None])
        self.bias = nn.Parameter(_tensor([refusal.bias if refusal else 0.0]))
        self.pooled = Pooled(tower)
        self.centre, self.scale = nn.Parameter(_tensor(maps.centre)), nn.Parameter(_tensor(maps.scale))
        self.head = nn.Parameter(_tensor(maps.head))

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        pooled = self.pooled(pixels)
        return _normal(((pooled - self.centre) * self.scale) @ self.head), (pooled @ self.deep)[:, 0] + self.bias


class TextGraph(nn.Module):
    """The encoder's vectors → vector, mean and spread of its cosine with images at large, coverage, nearest phrase."""

    def __init__(self, maps: Maps, vocabulary: Floats) -> None:
        super().__init__()
        self.mean, self.map = nn.Parameter(_tensor(maps.text_mean)), nn.Parameter(_tensor(maps.text_map))
        self.bank, self.root = nn.Parameter(_tensor(maps.bank_mean)), nn.Parameter(_tensor(maps.bank_root))
        self.vocabulary = nn.Parameter(_tensor(vocabulary))

    def forward(self, embedding: Tensor) -> tuple[Tensor, ...]:
        coverage, nearest = (_normal(embedding) @ _normal(self.vocabulary).T).max(1)
        return (*self._standing(embedding), coverage, nearest, *self._standing(self.vocabulary))

    def _standing(self, embedding: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        vectors = _normal((embedding - self.mean) @ self.map)
        return vectors, vectors @ self.bank, (vectors @ self.root).pow(2).sum(1).sqrt()


def _tensor(values: Any) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, np.float32))


def _normal(rows: Tensor) -> Tensor:
    return rows / rows.norm(dim=-1, keepdim=True).clamp(min=1e-12)


def vocabulary_of(samples: Sequence[Sample]) -> list[tuple[str, str, int]]:
    """(phrase, kind, images) of every tagged phrase, organ and process, the most frequent first."""
    counts: dict[str, tuple[str, int]] = {}
    for sample in samples:
        for kind, text in sample.texts:
            if kind in ("phrase", "organ", "process") and sample.process != "G":
                counts[text] = (counts.get(text, (kind, 0))[0], counts.get(text, (kind, 0))[1] + 1)
    return sorted(((text, kind, n) for text, (kind, n) in counts.items()), key=lambda row: (-row[2], row[0]))
