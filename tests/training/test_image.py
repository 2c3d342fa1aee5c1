"""The image recipe: reading the sets, the tower, the ridge map, and a model folder that loads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("PIL")

from medassay.cases import Case
from medassay.errors import InputError, ModelError
from medassay.metrics.grounding import Grounding
from medassay.models.activations import unit_rows
from medassay.slides import read_image
from medassay.training import histology, image_figures
from medassay.training.histology import Sample, questions, read_samples, words
from medassay.training.image import SIDE, Maps, fit

pytestmark = pytest.mark.hf


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three small sets: five captioned images, two of each class."""
    from PIL import Image

    random = np.random.default_rng(0)

    def save(path: Path, colour: tuple[int, int, int]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.clip(random.integers(-40, 40, (SIDE, SIDE, 3)) + np.array(colour), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(path, quality=95)

    lines = []
    for i, (organ, said) in enumerate([("liver", "steatosis"), ("lung", "emphysema"), ("brain", "infarct")] * 2):
        name = f"train_{i:04d}.jpg"
        save(tmp_path / "pathvqa" / name, (200, 120 + 10 * i, 170))
        text = f"what does this image show? {organ} does this image show {organ}, {said}? yes is spleen present? no"
        lines.append({"image": name, "split": "train", "shows": [organ], "present": [organ], "text": text})
    (tmp_path / "pathvqa" / "captions.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    for n, label in enumerate(("colon_aca", "colon_n", "lung_aca", "lung_n", "lung_scc")):
        for i in range(2):
            save(tmp_path / "lc25000" / label / f"g{i}_{label}{i}.jpeg", (150 + 20 * n, 100, 160))
    return tmp_path


def test_questions_and_answers_are_told_apart() -> None:
    text = "what is seen? large cells is necrosis seen? yes are mitoses seen? no where is this? lung"
    assert questions(text) == [
        ("what is seen", "large cells"),
        ("is necrosis seen", "yes"),
        ("are mitoses seen", "no"),
        ("where is this", "lung"),
    ]


def test_samples_know_what_is_said_of_them(folder: Path) -> None:
    samples = read_samples(folder)
    assert len(samples) == 16
    first = samples[0]
    assert first.caption == "liver, steatosis, liver" and first.label == "library"
    assert ("statement", "liver, steatosis") in first.texts
    assert not any("spleen" in text for _, text in first.texts)
    tile = next(s for s in samples if s.label == "lung_scc")
    assert tile.group == "lung_scc g0" and ("organ", "lung") in tile.texts
    with pytest.raises(InputError, match="no pathvqa"):
        read_samples(folder / "lc25000" / "lung_n")


def test_tags_and_words_agree() -> None:
    organs, processes = words("organ"), words("process")
    rows = list(histology._table("tags.tsv"))
    assert all(row["organ"] in organs and row["process"] in processes for row in rows)
    images = [image for row in rows for image in row["images"].split(" ")]
    assert len(images) == len(set(images)) == 1345
    assert set(words("asked")) == set(words("class"))
    learnt = {text for texts in words("class").values() for text in texts}
    assert not learnt & {text for texts in words("asked").values() for text in texts}


def test_another_look_is_seeded_and_shows_the_same_tissue() -> None:
    import torch

    from medassay.training.looks import look_again

    plain = torch.zeros(6, 64, 64, 3, dtype=torch.uint8) + torch.tensor((150, 60, 140), dtype=torch.uint8)
    plain[3:] = torch.tensor((225, 200, 215), dtype=torch.uint8)
    one, two, other = (look_again(plain, torch.Generator().manual_seed(seed)) for seed in (5, 5, 6))
    assert torch.equal(one, two) and one.shape == plain.shape and one.dtype == torch.uint8
    assert not torch.equal(one, other)
    means = one.float().mean((1, 2, 3))
    assert means[:3].max() < means[3:].min()  # dark stays darker than pale
    assert (means - plain.float().mean((1, 2, 3))).abs().min() > 0.5


def sample(number: int, text: str) -> Sample:
    organ = "lung" if number % 2 else "liver"
    texts = (("caption", text), ("phrase", text))
    return Sample(Path(f"{number}.jpg"), "pathvqa", "book", f"caption {text}", organ, "i", text, (text,), texts)


def planted(count: int = 240) -> tuple[np.ndarray, list[Sample], dict[str, np.ndarray]]:
    """Features that are a noisy linear image of the texts' vectors: a map exists."""
    random = np.random.default_rng(0)
    texts = [f"text {i}" for i in range(count)]
    vectors = unit_rows(random.normal(size=(count, 32)).astype(np.float32))
    mixing = random.normal(size=(32, 60)).astype(np.float32)
    seen = vectors @ mixing + 0.3 * random.normal(size=(count, 60)).astype(np.float32)
    return seen[None], [sample(i, t) for i, t in enumerate(texts)], dict(zip(texts, vectors))


def test_a_planted_map_is_found_on_unseen_captions() -> None:
    seen, samples, vectors = planted()
    figures = image_figures.cross_validate(seen, samples, vectors, "caption")
    assert figures["unseen_caption_auc"] > 0.9
    shuffled = np.random.default_rng(1).permutation(len(samples))
    control = image_figures.cross_validate(seen[:, shuffled], samples, vectors, "caption")
    assert abs(control["unseen_caption_auc"] - 0.5) < 0.1


def test_standing_of_a_text_is_its_cosine_with_the_images() -> None:
    seen, samples, vectors = planted()
    maps = fit(seen, samples, vectors)
    text = maps.texts(np.stack(list(vectors.values()))[:1])
    cosines = (maps.images(seen[0]) @ text.T)[:, 0]
    assert float(text[0] @ maps.bank_mean) == pytest.approx(float(cosines.mean()), abs=1e-4)
    assert float(np.linalg.norm(text @ maps.bank_root)) == pytest.approx(float(cosines.std()), rel=1e-3)


def test_the_tower_wants_its_own_weights(tmp_path: Path) -> None:
    import torch

    from medassay.training.tower import Tower, load_tower

    with pytest.raises(ModelError, match="no such file"):
        load_tower(tmp_path / "missing.pth")
    torch.save({"other": torch.zeros(1)}, tmp_path / "other.pth")
    with pytest.raises(ModelError, match="not the weights"):
        load_tower(tmp_path / "other.pth")
    torch.manual_seed(0)
    tower = Tower().eval()
    torch.save(tower.state_dict(), tmp_path / "right.pth")
    pixels = torch.randn(1, 3, 64, 64)
    assert torch.equal(load_tower(tmp_path / "right.pth")(pixels), tower(pixels))
    assert tower(pixels).shape == (1, 320)


def test_a_trained_tower_keeps_its_size(tmp_path: Path) -> None:
    import torch

    from medassay.training.tower import Tower, load_tower, save_tower

    torch.manual_seed(0)
    for size in ("lite0", "lite2"):
        tower = Tower(size).eval()
        save_tower(tower, tmp_path / f"{size}.npz")
        again = load_tower(tmp_path / f"{size}.npz")
        pixels = torch.randn(1, 3, 64, 64)
        assert len(again._blocks) == len(tower._blocks)
        assert torch.allclose(again(pixels), tower(pixels), atol=0.02)


def test_a_trained_folder_serves_the_role(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setattr(image_export, "leave_sources_out", lambda *_: {"lab": {"organ": 0.7}})
    kept: list[Maps] = []
    monkeypatch.setattr(image_export, "fit", lambda *given: kept.append(fit(*given)) or kept[-1])
    out = tmp_path / "out"
    figures = image_export.train_image(folder, tmp_path / "tower.pth", out)
    assert figures == {"caption_auc_by_image": 0.5, "caption_auc_by_caption": 0.5, "organ_lab_unseen": 0.7}
    curve = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["roles"]["image"]["confidence"]
    assert curve[0][1] == 1 and all(0 <= height <= 1 for _, height in curve)
    model = load("image", str(out))
    samples = read_samples(folder)
    wanted = kept[0].images(features(samples, tower, views=1)[0])
    cosines = (model.embed_images([read_image(s.file) for s in samples]) * wanted).sum(1)
    assert cosines.min() > 0.9  # weights of 8 bits
    seen = features(samples, tower, views=1)[0]
    distances = fit_familiarity(seen, [s.source for s in samples]).distances(seen)
    found = model.read_images([read_image(s.file) for s in samples]).confidence
    assert found == pytest.approx(confidence(distances, curve), abs=0.1)
    assert model.read_phrases(["lung"]).nearest == ("lung",)
    # Reports are read by the embedded roles: the folder has the image role alone.
    (score,) = Grounding(models=str(out)).measure([Case(id="1", candidate="Lung, biopsy.", image=str(samples[0].file))])
    assert score.evidence["groundings"][0]["text"].lower() == "lung"


def test_the_refusal_learns_from_other_stains(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from PIL import Image

    from medassay.training import image_refusal
    from medassay.training.image import features
    from medassay.training.tower import Tower

    torch.manual_seed(0)
    tower = Tower().eval()
    samples = read_samples(folder)
    seen = features(samples, tower, views=1)[0]
    assert image_refusal.train_refusal(folder, tower, samples, seen) == (None, {})
    (folder / "other").mkdir()
    random = np.random.default_rng(3)
    for i in range(4):
        pixels = np.clip(random.integers(-30, 30, (SIDE, SIDE, 3)) + np.array((60, 160, 90)), 0, 255)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / "other" / f"{i}.png")
    lines = ["image,source", *(f"{i}.png,green" for i in range(4))]
    (folder / "other" / "labels.csv").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(image_refusal, "PAINTED_EACH", 1)
    refusal, figures = image_refusal.train_refusal(folder, tower, samples, seen)
    assert refusal is not None and set(figures) == {"sections_refused", "others_refused", "real_others_refused"}
    assert refusal.deep.shape == (1488,) and np.isfinite(refusal.deep).all()
