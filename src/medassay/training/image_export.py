"""`medassay train image`: histology folder and tower weights in, graphs with a manifest and held-out figures out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medassay.models.graphs import HOME, ModelSet, write_manifest, write_record
from medassay.models.image import encoder_mark
from medassay.models.roles import EmbeddedEncoder
from medassay.training.export import export_image, export_image_text
from medassay.training.histology import Sample, read_samples, words
from medassay.training.image import (
    SIDE,
    Floats,
    ImageGraph,
    Maps,
    TextGraph,
    features,
    fit,
    vocabulary_of,
)
from medassay.training.image_figures import across_sources, cross_validate
from medassay.training.image_refusal import train_refusal
from medassay.training.refusal import Refusal, refusal_settings
from medassay.training.tower import Tower, load_tower

LEAST_COVERAGE = 0.7
"""Cosine with the nearest phrase learnt from, below which a text counts as outside the vocabulary (MODEL_CARD.md)."""


def train_image(data: Path, base: Path, out: Path, seed: int = 0) -> dict[str, float]:
    """Fit the image role on the sets in `data` with the tower of `base` (.pth); five-fold figures come back.

    Texts go through the embedded encoder; the folder names it, and only with that encoder can it be used.
    """
    samples = read_samples(data)
    tower = load_tower(base)
    models = ModelSet(HOME)
    vectors = text_vectors(samples, EmbeddedEncoder(models, "encoder"))
    seen = features(samples, tower, seed=seed)
    figures = {
        f"{name}_by_{by}": value
        for by in ("image", "caption")
        for name, value in cross_validate(seen, samples, vectors, by, seed).items()
    }
    figures |= across_sources(seen, samples, vectors)
    refusal, refused = train_refusal(data, tower, samples, seed)
    figures |= refused
    out.mkdir(parents=True, exist_ok=True)
    settings = write_graphs(tower, fit(seen, samples, vectors), samples, vectors, out, refusal)
    settings["encoder"] = encoder_mark(models)
    origin = {"licence": "Apache-2.0", "source": f"EfficientNet-Lite0 ({base.name}) and the images in {data.name}"}
    write_manifest(out, "trained-image", {"image": settings}, origin)
    write_record(out, "image", figures)
    return figures


def text_vectors(samples: Sequence[Sample], encoder: EmbeddedEncoder) -> dict[str, Floats]:
    """The encoder's vector of every text of the samples, and of the phrasings that test them."""
    texts = {text for sample in samples for _, text in sample.texts} | {s.caption for s in samples if s.caption}
    texts |= {text for asked in words("asked").values() for text in asked}
    ordered = sorted(texts)
    return dict(zip(ordered, encoder.embed(ordered)))


def write_graphs(
    tower: Tower,
    maps: Maps,
    samples: Sequence[Sample],
    vectors: Mapping[str, Floats],
    out: Path,
    refusal: Refusal | None = None,
) -> dict[str, Any]:
    """image.onnx, image_text.onnx and image_vocabulary.tsv; the role's settings for a manifest."""
    known = vocabulary_of(samples)
    lines = ["# Phrases that the image model learnt from, the kind of phrase, and how many images show it."]
    lines += [f"{text}\t{kind}\t{count}" for text, kind, count in known]
    (out / "image_vocabulary.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    vocabulary = np.stack([vectors[text] for text, _, _ in known])
    export_image(ImageGraph(tower, maps, refusal), SIDE, out)
    export_image_text(TextGraph(maps, vocabulary), vocabulary.shape[1], out)
    stated = {"refusal": refusal_settings(refusal)} if refusal else {}
    return {
        **stated,
        "graph": "image.onnx",
        "text_graph": "image_text.onnx",
        "vocabulary": "image_vocabulary.tsv",
        "side": SIDE,
        "size": maps.head.shape[1],
        "least_coverage": LEAST_COVERAGE,
    }
