"""Samples whose features are a noisy linear image of their texts' vectors, so that a map exists."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from medassay.models.activations import unit_rows
from medassay.training.histology import Sample


def _sample(number: int, text: str) -> Sample:
    organ = "lung" if number % 2 else "liver"
    texts = (("caption", text), ("phrase", text))
    return Sample(Path(f"{number}.jpg"), "pathvqa", "book", f"caption {text}", organ, "i", text, (text,), texts)


def planted_map(count: int = 240) -> tuple[np.ndarray, list[Sample], dict[str, np.ndarray]]:
    """Features that are a noisy linear image of the texts' vectors: a map exists."""
    random = np.random.default_rng(0)
    texts = [f"text {i}" for i in range(count)]
    vectors = unit_rows(random.normal(size=(count, 32)).astype(np.float32))
    mixing = random.normal(size=(32, 60)).astype(np.float32)
    seen = vectors @ mixing + 0.3 * random.normal(size=(count, 60)).astype(np.float32)
    return seen[None], [_sample(i, t) for i, t in enumerate(texts)], dict(zip(texts, vectors))
