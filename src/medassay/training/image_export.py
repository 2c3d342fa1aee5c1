"""`medassay train image`: histology folder and tower weights in, graphs with a manifest and held-out figures out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from medassay.models.graphs import HOME, ModelSet, write_manifest, write_record
from medassay.models.image import encoder_mark
from medassay.models.roles import EmbeddedEncoder
from medassay.training.concepts import Concepts, fit_concepts, held_out_concepts
from medassay.training.export import export_image, export_image_text
from medassay.training.familiarity import Familiarity, fit_familiarity
from medassay.training.histology import Sample, read_many, read_samples, words
from medassay.training.image import (
    LEAST_IMAGES,
    SIDE,
    Floats,
    ImageGraph,
    Maps,
    TextGraph,
    features,
    fit,
    vocabulary_of,
)
from medassay.training.image_figures import cross_validate
from medassay.training.image_refusal import train_refusal
from medassay.training.image_sources import asked_texts, learn_confidence, leave_sources_out
from medassay.training.refusal import Refusal, refusal_settings
from medassay.training.tower import Tower, load_tower

LEAST_COVERAGE = 0.7
"""Cosine with the nearest phrase learnt from, below which a text counts as outside the vocabulary (MODEL_CARD.md)."""


def train_image(data: Path, base: Path, out: Path, seed: int = 0) -> dict[str, float]:
    """Fit the image role on the sets in `data` with the tower of `base` (.pth or .npz); held-out figures come back.

    Texts go through the embedded encoder; the folder names it, and only with that encoder can it be used.
    """
    every = one_tile_each([sample for sample in (*read_samples(data), *read_many(data)) if sample.process != "G"])
    tower = load_tower(base)
    models = ModelSet(HOME)
    vectors = text_vectors(every, EmbeddedEncoder(models, "encoder"))
    views = features(every, tower, seed=seed)
    # Sources whose licence keeps them out of weights that are passed on are tested, never learnt from.
    learnt = [i for i, sample in enumerate(every) if not sample.test_only]
    samples = [every[i] for i in learnt]
    figures = {
        f"{name}_by_{by}": value
        for by in ("image", "caption")
        for name, value in cross_validate(views[:, learnt], samples, vectors, by, seed).items()
    }
    figures |= held_out_concepts(views[:, learnt], samples, seed)
    for source, source_figures in leave_sources_out(views, every, vectors, fit).items():
        figures |= {f"{name}_{source}_unseen": value for name, value in source_figures.items()}
    refusal, refused = train_refusal(data, tower, samples, views[0, learnt], seed)
    figures |= refused
    out.mkdir(parents=True, exist_ok=True)
    maps = fit(views[:, learnt], samples, vectors)
    familiarity = fit_familiarity(views[0, learnt], [sample.source for sample in samples])
    concepts = fit_concepts(views[:, learnt], samples)
    settings = write_graphs(tower, maps, familiarity, concepts, samples, vectors, out, refusal) | concepts.settings()
    settings["confidence"] = learn_confidence(views, every, vectors, fit, seed)
    settings["encoder"] = encoder_mark(models)
    origin = {"licence": "Apache-2.0", "source": f"EfficientNet-Lite ({base.name}) and the images in {data.name}"}
    write_manifest(out, "trained-image", {"image": settings}, origin)
    write_record(out, "image", figures)
    return figures


def one_tile_each(samples: Sequence[Sample]) -> list[Sample]:
    """Samples with one tile of each source group of LC25000, whose others are the same tile turned and sheared."""
    groups: set[str] = set()
    kept = []
    for sample in samples:
        if sample.source != "lc25000" or sample.group not in groups:
            kept.append(sample)
        groups.add(sample.group)
    return kept


def text_vectors(samples: Sequence[Sample], encoder: EmbeddedEncoder) -> dict[str, Floats]:
    """The encoder's vector of every text of the samples, and of the phrasings that test them."""
    texts = {text for sample in samples for _, text in sample.texts} | {s.caption for s in samples if s.caption}
    texts |= {text for phrasings in words("asked").values() for text in phrasings} | {*asked_texts()}
    ordered = sorted(texts)
    return dict(zip(ordered, encoder.embed(ordered)))


def write_graphs(
    tower: Tower,
    maps: Maps,
    known: Familiarity,
    concepts: Concepts,
    samples: Sequence[Sample],
    vectors: Mapping[str, Floats],
    out: Path,
    refusal: Refusal | None = None,
) -> dict[str, Any]:
    """image.onnx, image_text.onnx and image_vocabulary.tsv; the role's settings for a manifest."""
    phrases = vocabulary_of(samples, LEAST_IMAGES)
    lines = ["# Phrases that the image model learnt from, the kind of phrase, and how many images show it."]
    lines += [f"{text}\t{kind}\t{count}" for text, kind, count in phrases]
    (out / "image_vocabulary.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    vocabulary = np.stack([vectors[text] for text, _, _ in phrases])
    export_image(ImageGraph(tower, maps, known, concepts, refusal), SIDE, out)
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
