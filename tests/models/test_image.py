"""Role `image` of the embedded set: contracts, and what it must tell apart on any machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("PIL")

from medassay.errors import InputError, ModelError
from medassay.models.graphs import HOME, ModelSet
from medassay.models.image import EmbeddedImage, as_square, read_vocabulary

DATA = Path(__file__).parents[3] / "shared" / "data" / "histology"


@pytest.fixture(scope="module")
def model() -> EmbeddedImage:
    if "image" not in ModelSet(HOME).manifest["roles"]:
        pytest.skip("the embedded set has no image model in this checkout")
    return EmbeddedImage(ModelSet(HOME))


def made(seed: int, height: int = 224, width: int = 224) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def test_images_and_texts_are_unit_vectors_of_one_space(model: EmbeddedImage) -> None:
    images, texts = model.embed_images([made(1), made(2, 100, 300)]), model.embed_texts(["lung", "adenocarcinoma"])
    assert images.shape == texts.shape == (2, 256)
    assert np.allclose(np.linalg.norm(images, axis=1), 1, atol=1e-4)
    assert np.allclose(np.linalg.norm(texts, axis=1), 1, atol=1e-4)


def test_organs_and_processes_are_chances(model: EmbeddedImage) -> None:
    assert model.concepts is not None
    pictures = model.read_images([made(1), made(2)])
    assert pictures.organs is not None and pictures.processes is not None
    assert pictures.organs.shape == (2, len(model.concepts.organs))
    assert pictures.processes.shape == (2, len(model.concepts.processes))
    for chances in (pictures.organs, pictures.processes):
        assert np.allclose(chances.sum(1), 1, atol=1e-4) and chances.min() >= 0


def test_an_image_alone_and_in_a_batch_is_the_same(model: EmbeddedImage) -> None:
    together = model.embed_images([made(i) for i in range(20)])
    assert np.allclose(together[17], model.embed_images([made(17)])[0], atol=1e-4)


def test_nothing_in_nothing_out(model: EmbeddedImage) -> None:
    assert model.embed_images([]).shape == (0, 256)
    assert model.embed_texts([]).shape == (0, 256)
    assert model.read_phrases([]).nearest == ()


def test_arrays_pillow_images_and_files_that_were_read_are_the_same(model: EmbeddedImage, tmp_path: Path) -> None:
    from PIL import Image

    from medassay.slides import read_image

    pixels = made(3)
    Image.fromarray(pixels).save(tmp_path / "one.png")
    vectors = model.embed_images([pixels, Image.fromarray(pixels), read_image(tmp_path / "one.png")])
    assert np.allclose(vectors, vectors[0], atol=1e-5)


def test_the_bank_is_the_vocabulary_as_texts(model: EmbeddedImage) -> None:
    bank = model.bank()
    assert bank.nearest == model.vocabulary
    some = model.read_phrases(model.vocabulary[:5])
    assert np.allclose(some.vectors, bank.vectors[:5], atol=0.05)
    assert some.nearest == model.vocabulary[:5]
    assert (some.coverage > 0.98).all()
    assert (bank.spread > 0).all()


def test_texts_outside_the_vocabulary_are_known_as_such(model: EmbeddedImage) -> None:
    read = model.read_phrases(["adenocarcinoma", "quarterly tax return"])
    assert model.least_coverage is not None
    assert read.coverage[0] > model.least_coverage > read.coverage[1]


def test_another_encoder_is_refused(model: EmbeddedImage) -> None:
    other = ModelSet(HOME)
    other.manifest["roles"]["image"] = {**other.manifest["roles"]["image"], "encoder": "0" * 12}
    with pytest.raises(ModelError, match="trained with the encoder 000000000000"):
        EmbeddedImage(other)


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason="needs the shared data folder beside the checkout")
def test_lung_and_colon_are_told_apart(model: EmbeddedImage) -> None:
    from medassay.slides import read_image

    files = [sorted((DATA / "lc25000" / name).iterdir())[0] for name in ("lung_n", "colon_aca")]
    scores = (
        model.embed_images([read_image(file) for file in files])
        @ model.embed_texts(["benign lung tissue", "colon adenocarcinoma"]).T
    )
    assert scores[0, 0] > scores[0, 1] and scores[1, 1] > scores[1, 0]


@pytest.mark.parametrize(
    "image", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8), "one.png"]
)
def test_what_is_no_rgb_image_is_refused(image: object) -> None:
    with pytest.raises(InputError, match=r"height × width × 3 bytes.*medassay\.slides\.read_image"):
        as_square(image, 4)


def test_squeezing_keeps_what_fits() -> None:
    pixels = made(1, 32, 32)
    assert as_square(pixels, 32) is pixels
    assert as_square(pixels, 16).shape == (16, 16, 3)


def test_vocabulary_lines(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.tsv"
    path.write_text("# comment\nlung\torgan\t7\nsquamous cell carcinoma\tphrase\t3\n", encoding="utf-8")
    assert read_vocabulary(path) == ("lung", "squamous cell carcinoma")


def test_what_is_no_section_is_refused(model: EmbeddedImage) -> None:
    grey = np.repeat(np.random.default_rng(4).integers(0, 90, (224, 224, 1), np.uint8), 3, axis=2)
    read = model.read_images([grey, made(5)])
    assert read.foreign is not None and read.least_foreign is not None
    assert (read.foreign >= read.least_foreign).all()


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "other").is_dir(), reason="needs the shared data folder beside the checkout")
def test_other_stains_are_refused_and_sections_are_not(model: EmbeddedImage) -> None:
    from medassay.slides import read_image

    others = sorted((DATA / "other").glob("*.jpg"))[::19]
    sections = sorted((DATA / "lc25000").glob("*/*.jpeg"))[::300]
    read = model.read_images([read_image(file) for file in (*others, *sections)])
    assert read.foreign is not None and read.least_foreign is not None
    refused = read.foreign >= read.least_foreign
    assert refused[: len(others)].mean() > 0.9 and refused[len(others) :].mean() < 0.1


def test_no_phrase_of_the_vocabulary_is_a_broken_label(model: EmbeddedImage) -> None:
    assert len(set(model.vocabulary)) == len(model.vocabulary) == len(model.bank().vectors)
    assert not [phrase for phrase in model.vocabulary if phrase.count("(") != phrase.count(")")]
    assert model.read_phrases(["lung adenocarcinoma", "normal lung"]).nearest == ("lung adenocarcinoma", "normal lung")
