"""The refusal of what is not H&E, trained on H&E of all sources, other stains and painted images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from medassay.models.image import coarse
from medassay.models.stains import stain_colours
from medassay.slides.image import Pixels
from medassay.training.foreign_images import KINDS, make_foreign_image
from medassay.training.histology import Sample, read_others
from medassay.training.image import Floats, Pooled, read_pixels
from medassay.training.refusal import LEAST, Refusal, fit_refusal, held_out
from medassay.training.tower import Tower

PAINTED_EACH = 50
"""Painted images of each kind."""


def train_refusal(
    data: Path, tower: Tower, samples: Sequence[Sample], seen: Floats, seed: int = 0
) -> tuple[Refusal | None, dict[str, float]]:
    """The refusal and its held-out figures; None where the folder has no images that are not H&E.

    samples: H&E of all sources; those tagged as gross photographs are left out. seen: their features.
    """
    others = read_others(data)
    if not others:
        return None, {}
    chosen = [i for i, s in enumerate(samples) if s.process != "G" and not s.test_only]
    images = [samples[i] for i in chosen]
    colours = [stain_colours(coarse(read_pixels(sample.file))) for sample in images]
    random = np.random.default_rng(seed)
    drawn = [read_pixels(images[i].file) for i in random.integers(0, len(images), PAINTED_EACH)]
    foreign_images = [(f"!{source}", read_pixels(file)) for file, source in others]
    foreign_images += [(f"~{kind}", make_foreign_image(kind, section, random)) for kind in KINDS for section in drawn]
    deep = np.concatenate([seen[chosen], _features([pixels for _, pixels in foreign_images], tower)])
    known = np.stack([*colours, *(stain_colours(coarse(pixels)) for _, pixels in foreign_images)])
    sources = [sample.source for sample in images] + [source for source, _ in foreign_images]
    foreign = [False] * len(images) + [True] * len(foreign_images)
    odds = held_out(deep, known, sources, foreign, seed=seed)
    figures = {
        "sections_refused": float((odds[: len(images)] >= LEAST).mean()),
        "others_refused": float((odds[len(images) :] >= LEAST).mean()),
        "real_others_refused": float((odds[len(images) : len(images) + len(others)] >= LEAST).mean()),
    }
    return fit_refusal(deep, known, sources, foreign), figures


def _features(images: Sequence[Pixels], tower: Tower, batch: int = 32) -> Floats:
    """Features of the tower."""
    pooled = Pooled(tower).eval().to(memory_format=torch.channels_last)
    deep = []
    for start in range(0, len(images), batch):
        with torch.inference_mode():
            deep.append(pooled(torch.from_numpy(np.stack(images[start : start + batch]))).numpy())
    return np.concatenate(deep)
