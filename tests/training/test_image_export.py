"""`medassay train image` writes a folder that serves the role."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("PIL")
from medassay.cases import Case
from medassay.metrics.grounding import Grounding
from medassay.slides import read_image
from medassay.training.histology import read_samples
from medassay.training.image import Maps, fit

pytestmark = pytest.mark.hf


def test_a_trained_folder_serves_the_role(image_sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnx")
    import torch

    from medassay.models import load
    from medassay.models.image import confidence
    from medassay.training import image_export
    from medassay.training.familiarity import fit_familiarity
    from medassay.training.image import features
    from medassay.training.tower import Tower

    torch.manual_seed(0)
    tower = Tower().eval()
    torch.save(tower.state_dict(), tmp_path / "tower.pth")
    monkeypatch.setattr(image_export, "cross_validate", lambda *_: {"caption_auc": 0.5})
    monkeypatch.setattr(image_export, "held_out_concepts", lambda *_: {"organ_accuracy": 0.6})
    monkeypatch.setattr(image_export, "leave_sources_out", lambda *_: {"lab": {"organ": 0.7}})
    kept: list[Maps] = []
    monkeypatch.setattr(image_export, "fit", lambda *given: kept.append(fit(*given)) or kept[-1])
    out = tmp_path / "out"
    figures = image_export.train_image(image_sets, tmp_path / "tower.pth", out)
    expected = {
        "caption_auc_by_image": 0.5,
        "caption_auc_by_caption": 0.5,
        "organ_accuracy": 0.6,
        "organ_lab_unseen": 0.7,
    }
    assert figures == expected
    curve = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["roles"]["image"]["confidence"]
    assert curve[0][1] == 1 and all(0 <= height <= 1 for _, height in curve)
    model = load("image", str(out))
    samples = read_samples(image_sets)
    wanted = kept[0].images(features(samples, tower, views=1)[0])
    cosines = (model.embed_images([read_image(s.file) for s in samples]) * wanted).sum(1)
    assert cosines.min() > 0.9  # weights of 8 bits
    seen = features(samples, tower, views=1)[0]
    distances = fit_familiarity(seen, [s.source for s in samples]).distances(seen)
    found = model.read_images([read_image(s.file) for s in samples]).confidence
    assert found == pytest.approx(confidence(distances, curve), abs=0.1)
    assert model.read_phrases(["lung"]).nearest == ("lung",)
    assert model.concepts is not None and "lung" in model.concepts.organs
    assert model.read_images([read_image(samples[0].file)]).organs.shape == (1, len(model.concepts.organs))
    # Reports are read by the embedded roles: the image_sets has the image role alone.
    (score,) = Grounding(models=str(out)).measure([Case(id="1", candidate="Lung, biopsy.", image=str(samples[0].file))])
    assert score.evidence["groundings"][0]["text"].lower() == "lung"
