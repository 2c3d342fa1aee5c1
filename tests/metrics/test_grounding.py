"""Grounding: the arithmetic by hand, on a model that sees colours and reads colour words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("PIL")

from medassay.cases import Case
from medassay.language.graph import Entity, Report
from medassay.metrics import grounding
from medassay.metrics.grounding import Grounding, calibrate, heat_map
from medassay.models.base import ImageConcepts, Phrases, Pictures
from medassay.slides.views import Views

WORDS = {"pink gland": (1.0, 0.0), "blue nest": (0.0, 1.0), "violet mix": (0.7071, 0.7071), "grey scar": (-1.0, 0.0)}
TOGETHER = {"violet mix, pink gland": (0.995, 0.0995)}
"""A site and a diagnosis as one phrase, which the model knows too."""


class Colours:
    """An image is how pink and how blue it is; a text the same by its words; everything else is unknown."""

    name, windows, least_coverage = "colours", False, 0.5
    concepts: ImageConcepts | None = None

    def embed_images(self, images: Sequence[Any]) -> Any:
        red, _, blue = np.array([np.asarray(one, float).mean((0, 1)) for one in images]).T
        rows = np.stack([red, blue - 100], axis=1)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def read_images(self, images: Sequence[Any]) -> Pictures:
        return Pictures(self.embed_images(images), *self.foreign(len(images)))

    def foreign(self, count: int) -> tuple[Any, float]:
        return np.full(count, -5.0, np.float32), 0.0

    def embed_texts(self, texts: Sequence[str]) -> Any:
        return np.array([(WORDS | TOGETHER).get(text.lower(), (0.6, 0.8)) for text in texts], np.float32)

    def read_phrases(self, texts: Sequence[str]) -> Phrases:
        zeros, ones = np.zeros(len(texts), np.float32), np.ones(len(texts), np.float32)
        coverage = np.array([1.0 if text.lower() in WORDS | TOGETHER else 0.2 for text in texts], np.float32)
        return Phrases(self.embed_texts(texts), zeros, ones, coverage, tuple("pink gland" for _ in texts))

    def bank(self) -> Phrases:
        return self.read_phrases(list(WORDS))


def entity(text: str, whole: str, kind: str = "diagnosis", assertion: str = "present") -> Entity:
    start = whole.index(text)
    return Entity(start, start + len(text), text, kind, assertion, 0.9, None)


@pytest.fixture
def metric(monkeypatch: pytest.MonkeyPatch) -> Grounding:
    """The metric on the model of colours; a report's entities are the colour words that stand in it."""

    def read(texts: Sequence[str], models: str) -> list[Report]:
        known = [*WORDS, "unknown thing", "CD20", "grade 2"]
        kinds = {"CD20": "marker", "grade 2": "grade", "violet mix": "site"}
        found = []
        for text in texts:
            entities = [
                entity(word, text, kinds.get(word, "diagnosis"), "absent" if f"no {word}" in text else "present")
                for word in known
                if word in text
            ]
            found.append(Report(text, tuple(entities), ()))
        return found

    monkeypatch.setattr(grounding, "load", lambda role, spec: Colours())
    monkeypatch.setattr(grounding, "read_reports", read)
    return Grounding()


@pytest.fixture
def pink(tmp_path: Path) -> str:
    """A region of 600 × 512 pixels: textured pink on the left, blue at the right edge."""
    from PIL import Image

    random = np.random.default_rng(0)
    pixels = np.full((512, 600, 3), (230, 120, 170), np.int16) + random.integers(-25, 25, (512, 600, 1))
    pixels[:, 560:] = (100, 60, 200)
    path = tmp_path / "region.png"
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(path)
    return str(path)


def case(candidate: str, image: str) -> Case:
    return Case(id="1", candidate=candidate, image=image)


def test_a_true_report_is_grounded_and_a_false_one_is_not(metric: Grounding, pink: str) -> None:
    true, false = metric.score([case("A pink gland.", pink), case("A grey scar.", pink)])
    assert true.value is not None and false.value is not None
    assert true.value > 0.2 and false.value < 0.01  # four phrases in the bank: the best has a share of 7/8
    assert true.parts["raw"] > 0.9 > 0 > false.parts["raw"]


def test_site_and_diagnosis_as_one_phrase_are_three_quarters_of_the_value(metric: Grounding, pink: str) -> None:
    (score,) = metric.score([case("violet mix: pink gland.", pink)])
    alone = np.mean([record["calibrated"] for record in score.evidence["groundings"]])
    assert score.evidence["impression"]["text"] == "violet mix, pink gland"
    assert score.parts["impression"] == score.evidence["impression"]["calibrated"]
    assert score.value == pytest.approx(alone / 4 + score.parts["impression"] * 3 / 4)


class Organs(Colours):
    """The same, and every image is a colon (0.6) or a lung (0.3), malignant (0.5) rather than normal (0.25)."""

    concepts = ImageConcepts(
        {"colon": ("violet mix",), "lung": ("lung",), "skin": ("skin",)}, ("normal", "malignant", "other")
    )

    def read_images(self, images: Sequence[Any]) -> Pictures:
        organs = np.tile(np.array([[0.6, 0.3, 0.1]], np.float32), (len(images), 1))
        processes = np.tile(np.array([[0.25, 0.5, 0.25]], np.float32), (len(images), 1))
        return Pictures(self.embed_images(images), organs=organs, processes=processes)


@pytest.mark.parametrize(
    ("text", "organ", "process"),
    [
        ("violet mix: pink gland. Diagnosis: carcinoma.", 1.0, 1.0),
        ("violet mix: pink gland. Diagnosis: normal tissue.", 1.0, 0.5),
        ("Diagnosis: carcinoma. A pink gland.", None, 1.0),
        ("violet mix and a pink gland.", 1.0, None),
    ],
)
def test_stated_organ_and_process_are_held_against_the_likeliest(
    metric: Grounding, pink: str, text: str, organ: float | None, process: float | None
) -> None:
    metric.model = Organs()
    (score,) = metric.score([case(text, pink)])
    assert score.parts.get("organ") == organ and score.parts.get("process") == process
    assert score.parts["impression"] == pytest.approx((organ or 1.0) * (process or 1.0))
    alone = np.mean([record["calibrated"] for record in score.evidence["groundings"] if record["assessable"]])
    assert score.value == pytest.approx(alone / 4 + score.parts["impression"] * 3 / 4, abs=1e-4)
    if process is not None:
        assert score.evidence["impression"]["process"]["likeliest"] == "malignant"


def test_an_impression_alone_is_enough(metric: Grounding, pink: str) -> None:
    metric.model = Organs()
    (score,) = metric.score([case("grade 2. Diagnosis: normal tissue.", pink)])
    assert score.value == pytest.approx(0.5) and score.parts["assessed"] == 0 and "raw" not in score.parts


def test_the_mode_paper_has_no_impression(metric: Grounding, pink: str) -> None:
    metric.model, metric.mode = Organs(), "paper"
    (score,) = metric.score([case("violet mix: pink gland. Diagnosis: carcinoma.", pink)])
    assert "impression" not in score.parts and score.value == score.parts["raw"]


@pytest.mark.parametrize("text", ["A pink gland.", "violet mix: blue nest."])
def test_without_both_or_outside_the_vocabulary_entities_alone_count(metric: Grounding, pink: str, text: str) -> None:
    (score,) = metric.score([case(text, pink)])
    assert "impression" not in score.parts and "impression" not in score.evidence
    assert score.value == pytest.approx(np.mean([record["calibrated"] for record in score.evidence["groundings"]]))


def test_raw_is_the_mean_over_entities_of_the_best_patch(metric: Grounding, pink: str) -> None:
    (score,) = metric.score([case("A pink gland and a blue nest.", pink)])
    records = score.evidence["groundings"]
    assert score.parts["raw"] == pytest.approx(np.mean([r["similarity"] for r in records]))
    assert score.parts["assessed"] == 2
    for record in records:
        assert record["similarity"] == max(patch["similarity"] for patch in record["patches"])
    blue = next(r for r in records if r["text"] == "blue nest")
    assert blue["patches"][0]["x"] == 600 - 512  # the patch that reaches the blue edge, not the first one
    assert score.evidence["patches"] == 3  # two patches and the whole region


def test_what_cannot_be_seen_is_not_scored_and_says_why(metric: Grounding, pink: str) -> None:
    text = "A pink gland, grade 2, CD20, an unknown thing, no blue nest."
    (score,) = metric.score([case(text, pink)])
    alone = metric.score([case("A pink gland.", pink)])[0]
    assert score.value == alone.value
    whys = {r["text"]: r.get("why", "") for r in score.evidence["groundings"] if not r["assessable"]}
    assert set(whys) == {"grade 2", "CD20", "unknown thing", "blue nest"}
    assert "grade" in whys["grade 2"] and "stains" in whys["CD20"] and "vocabulary" in whys["unknown thing"]
    denied = next(r for r in score.evidence["groundings"] if r["text"] == "blue nest")
    assert "absent" in denied["why"] and "calibrated" in denied


def test_nothing_assessable_is_unscored(metric: Grounding, pink: str) -> None:
    (score,) = metric.score([case("grade 2, CD20", pink)])
    assert score.value is None
    assert "none of its entities can be assessed" in str(score.unscored)


def test_a_bad_image_loses_its_row_alone(metric: Grounding, pink: str, tmp_path: Path) -> None:
    from PIL import Image

    broken, blank = tmp_path / "broken.png", tmp_path / "blank.png"
    broken.write_bytes(b"\x89PNG half")
    Image.new("RGB", (600, 600), "white").save(blank)
    images = [pink, str(broken), str(tmp_path / "missing.png"), str(blank), ""]
    scores = metric.score([case("A pink gland.", image) for image in images])
    assert [score.value is not None for score in scores] == [True, False, False, False, False]
    assert "broken.png" in str(scores[1].unscored)
    assert "no such file" in str(scores[2].unscored)
    assert "no tissue" in str(scores[3].unscored)
    assert scores[4].unscored == "no image"


def test_what_is_no_histology_is_warned_about(metric: Grounding, tmp_path: Path) -> None:
    from PIL import Image

    random = np.random.default_rng(0)
    green = (random.integers(-30, 30, (300, 300, 1)) + np.array([90, 160, 60])).astype(np.uint8)
    Image.fromarray(green).save(tmp_path / "lawn.png")
    (score,) = metric.score([case("A pink gland.", str(tmp_path / "lawn.png"))])
    said = str(score.unscored) if score.value is None else score.evidence["warning"]
    assert "stain" in said or "tissue" in said


def test_images_are_found_in_the_folder_named(metric: Grounding, pink: str) -> None:
    metric.images = str(Path(pink).parent)
    assert metric.score([case("A pink gland.", Path(pink).name)])[0].value is not None


def test_equal_runs_give_equal_evidence(metric: Grounding, pink: str) -> None:
    one, two = (metric.score([case("A pink gland.", pink)], evidence=True)[0] for _ in range(2))
    assert one.to_json() == two.to_json()
    assert all(0 <= cell[4] <= 1 for cell in one.evidence["map"])


def test_a_phrase_close_to_all_images_is_put_on_the_same_scale() -> None:
    plain = Phrases(np.ones((3, 1)), np.zeros(3), np.ones(3), np.ones(3))
    near_all = Phrases(np.ones((1, 1)), np.array([0.6]), np.array([0.1]), np.ones(1))
    # 0.5 is below what this phrase reaches on any image, though it is above all others' similarity.
    assert calibrate(np.array([0.5]), near_all, np.array([0.1, 0.2, 0.3]), plain).tolist() == [0.0]


def test_heat_map_runs_from_worst_to_best() -> None:
    views = Views(np.eye(2, dtype=np.float32), np.array([[0, 0, 9, 9], [9, 0, 9, 9]]), 18, 9, None)
    assert heat_map(views, np.array([[0.0, 1.0]], np.float32)) == [[9, 0, 9, 9, 1.0], [0, 0, 9, 9, 0.0]]


def test_the_published_form_takes_every_entity_and_its_best_window(metric: Grounding, pink: str) -> None:
    paper = Grounding(mode="paper")
    text = "A pink gland, grade 2, an unknown thing, no grey scar."
    (score,) = paper.score([case(text, pink)])
    records = score.evidence["groundings"]
    assert {r["text"] for r in records} == {"pink gland", "grade 2", "unknown thing", "grey scar"}
    assert all(r["assessable"] for r in records)
    # S_g = mean over entities of the highest similarity over windows; a cosine, not a share.
    by_hand = np.mean([max(patch["similarity"] for patch in r["patches"]) for r in records])
    assert score.value == pytest.approx(by_hand, abs=1e-4) == score.parts["raw"]
    assert score.evidence["patches"] > metric.score([case(text, pink)])[0].evidence["patches"]
    assert paper.bounds == (-1.0, 1.0)
    (wrong,) = paper.score([case("A grey scar.", pink)])
    assert wrong.value is not None and wrong.value < 0
    assert "mode:paper" in paper.signature and "models:colours" in paper.signature and "rivals" not in paper.signature


def test_an_image_that_is_not_h_and_e_is_not_assessed(
    metric: Grounding, pink: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(id="1", candidate="pink gland", image=pink)
    assert metric.score([case])[0].value is not None
    monkeypatch.setattr(Colours, "foreign", lambda self, count: (np.full(count, 2.0, np.float32), 0.5))
    again = Grounding()
    (score,) = again.score([case])
    assert score.value is None and "not a section in haematoxylin and eosin" in str(score)


def test_an_image_unlike_the_known_ones_gets_no_bold_number(
    metric: Grounding, pink: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(sure: float) -> Any:
        def read(self: Colours, images: Sequence[Any]) -> Pictures:
            return Pictures(self.embed_images(images), confidence=np.full(len(images), sure, np.float32))

        monkeypatch.setattr(Colours, "read_images", read)
        return Grounding().score([case("A pink gland.", pink)])[0]

    plain = metric.score([case("A pink gland.", pink)])[0]
    assert "confidence" not in plain.parts  # a model that never measured it
    sure, unsure, lost = told(1.0), told(0.4), told(0.0)
    assert sure.value == pytest.approx(plain.value)
    assert sure.value > unsure.value > lost.value == pytest.approx(0.1)
    assert unsure.parts["confidence"] == pytest.approx(0.4)
    widths = [score.parts["high"] - score.parts["low"] for score in (sure, unsure, lost)]
    assert widths == sorted(widths) and widths[0] < widths[1] < widths[2] == 1
    assert all(score.parts["low"] <= score.value <= score.parts["high"] for score in (sure, unsure, lost))
