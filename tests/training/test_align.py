"""The alignment recipe on a tiny random BERT."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytestmark = pytest.mark.hf
from medassay.training import align  # noqa: E402
from medassay.training.loop import Schedule  # noqa: E402


def test_alignment_brings_synonyms_together(tiny_base: Path) -> None:
    concepts = [align.Concept("1", ("renal", "kidney")), align.Concept("2", ("ductal", "breast"))]
    concepts += [align.Concept(f"x{i}", (a, b)) for i, (a, b) in enumerate([("cd30", "ki67"), ("is", "was")])]
    plan = Schedule(epochs=40, rate=2e-3, batch=8)
    weights = align.AlignPlan(keep=0.1)
    model, texts = align.train_align(concepts, ["no necrosis", "grade 2"], tiny_base, plan, 2, weights=weights)
    vectors = align.embed(model, texts, ["renal", "kidney", "breast"])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
