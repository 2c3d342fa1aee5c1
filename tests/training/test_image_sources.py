"""Maps of many sources, figures on sources left out, the vocabulary's counts, and the distance from known sources."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from medassay.models.activations import unit_rows
from medassay.training.histology import Sample, tagged_texts, words
from medassay.training.image import fit
from medassay.training.image_sources import asked_texts, learn_confidence, leave_sources_out

pytestmark = pytest.mark.hf

ORGANS, PROCESSES = ("liver", "colon", "breast"), ("n", "a", "i")


def section(number: int, source: str, organ: str, process: str, closed: bool = False) -> Sample:
    texts = tuple(tagged_texts((f"{organ} tissue",), organ, process))
    place = (Path(f"{number}.jpg"), source, "label", f"{source} {number}")
    return Sample(*place, organ, process, "", (f"{organ} tissue",), texts, closed)


def laboratories() -> tuple[np.ndarray, list[Sample], dict[str, np.ndarray]]:
    """Three laboratories, each with a shift of its own; organ and process are read from other features than it."""
    random = np.random.default_rng(0)
    axes = 4 * np.linalg.qr(random.normal(size=(24, 24)))[0]
    marks = dict(zip((*ORGANS, *PROCESSES, "one", "two", "three"), axes))
    samples, rows = [], []
    for i in range(270):
        source, organ, process = ("one", "two", "three")[i % 3], ORGANS[i // 3 % 3], PROCESSES[i // 9 % 3]
        samples.append(section(i, source, organ, process))
        rows.append(marks[organ] + marks[process] + marks[source] + 0.2 * random.normal(size=24))
    texts = sorted({text for sample in samples for _, text in sample.texts} | {*asked_texts()})
    kinds = {
        **{word: random.normal(size=48) for organ in ORGANS for word in words("organ")[organ][:1]},
        **{word: random.normal(size=48) for word in ("benign", "malignant", "cancer", "normal", "inflam")},
    }
    kinds["carcinoma"] = kinds["malignant"] = kinds["cancer"]
    kinds["healthy"] = kinds["normal"] = kinds["benign"]
    vectors = {t: sum((v for k, v in kinds.items() if k in t), 0.3 * random.normal(size=48)) for t in texts}
    made = unit_rows(np.stack(list(vectors.values())).astype(np.float32))
    return np.asarray(rows, np.float32)[None], samples, dict(zip(vectors, made))


def test_the_maps_read_a_laboratory_they_never_saw() -> None:
    seen, samples, vectors = laboratories()
    figures = leave_sources_out(seen, samples, vectors, fit)
    assert set(figures) == {"one", "two", "three"}
    for found in figures.values():
        assert found["organ"] > 0.8 and found["malignant_auc"] > 0.9 and found["inflamed_auc"] > 0.9
    shuffled = np.random.default_rng(1).permutation(len(samples))
    control = leave_sources_out(seen[:, shuffled], samples, vectors, fit)
    assert np.mean([found["malignant_auc"] for found in control.values()]) == pytest.approx(0.5, abs=0.12)


def test_confidence_falls_with_the_distance_from_known_laboratories() -> None:
    seen, samples, vectors = laboratories()
    curve = learn_confidence(seen, samples, vectors, fit)
    heights = [height for _, height in curve]
    assert heights[0] == 1 and heights == sorted(heights, reverse=True)
    random = np.random.default_rng(2)
    strange = seen.copy()  # what the third laboratory's images show can no longer be read, and they look different
    third = [i for i, sample in enumerate(samples) if sample.source == "three"]
    strange[0, third] = random.normal(size=(len(third), 24)) + 30 * np.eye(24)[5]
    assert learn_confidence(strange, samples, vectors, fit)[-1][1] < min(0.5, heights[-1])


def test_closed_sources_are_tested_and_not_learnt_from() -> None:
    seen, samples, vectors = laboratories()
    closed = [section(i, s.source, s.organ, s.process, s.source == "three") for i, s in enumerate(samples)]
    learnt: list[set[str]] = []

    def spy(*given):  # type: ignore[no-untyped-def]
        learnt.append({sample.source for sample in given[1]})
        return fit(*given)

    assert set(leave_sources_out(seen, closed, vectors, spy)) == {"one", "two", "three"}
    assert learnt == [{"two"}, {"one", "two"}, {"one"}]  # one, three, two left out
