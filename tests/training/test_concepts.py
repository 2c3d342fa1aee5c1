"""Organ and process of an image from its features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
from medassay.language.processes import GROUPS
from medassay.training.concepts import fit_concepts, held_out_concepts
from medassay.training.histology import Sample

pytestmark = pytest.mark.hf


def sample(number: int, organ: str, process: str) -> Sample:
    texts = (("organ", organ),)
    return Sample(Path(f"{number}.png"), f"lab {number % 2}", "", str(number), organ, process, "", (), texts)


def test_planted_organs_and_processes_are_told_apart() -> None:
    random = np.random.default_rng(0)
    kinds = [("colon", "a"), ("colon", "n"), ("lung", "q"), ("lung", "i"), ("none", "n")]
    samples = [sample(i, *kinds[i % 5]) for i in range(200)]
    features = random.normal(size=(2, 200, 12)).astype(np.float32)
    for i in range(200):
        features[:, i, i % 5] += 6.0
    concepts = fit_concepts(features, samples, ridge=0.01)
    assert set(concepts.organs) == {"colon", "lung"}
    organs, processes = concepts.chances(features[0])
    assert np.allclose(organs.sum(1), 1) and np.allclose(processes.sum(1), 1)
    known = [i for i in range(200) if samples[i].organ != "none"]
    assert [concepts.organs[k] for k in organs[known].argmax(1)] == [samples[i].organ for i in known]
    held_out = held_out_concepts(features, samples)
    assert held_out["organ_accuracy"] > 0.9 and held_out["process_accuracy"] > 0.9
    wanted = {"a": "malignant", "q": "malignant", "n": "normal", "i": "inflamed"}
    assert np.mean([GROUPS[k] == wanted[s.process] for k, s in zip(processes.argmax(1), samples)]) > 0.95


def test_settings_name_every_organ() -> None:
    samples = [sample(0, "colon", "n"), sample(1, "lung", "a")]
    settings = fit_concepts(np.eye(2, dtype=np.float32)[None], samples).settings()
    assert settings["processes"] == list(GROUPS)
    assert all("colon" in names or "lung" in names for names in settings["organs"].values())
