"""The refusal of what is not H&E: a planted difference is found, and painted strangers are what they claim to be."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("PIL")

from medassay.errors import InputError
from medassay.models.stains import SIDE, SIZE, stain_colours
from medassay.training.histology import process_of, read_many, read_others
from medassay.training.refusal import fit_refusal, held_out, refusal_settings
from medassay.training.strangers import KINDS, make_stranger, take_apart


def section(seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    nuclei, rest = random.uniform(0, 1.2, (SIDE, SIDE, 1)), random.uniform(0.1, 0.6, (SIDE, SIDE, 1))
    density = nuclei * np.array([0.65, 0.70, 0.29]) + rest * np.array([0.07, 0.99, 0.11])
    return np.asarray(np.clip(np.exp(-density) * 256 - 1, 0, 255), np.uint8)


def planted(gap: float) -> tuple[np.ndarray, np.ndarray, list[str], list[bool]]:
    random = np.random.default_rng(1)
    sources = [f"lab {i % 8}" for i in range(200)] + [f"!stain {i % 2}" for i in range(60)]
    foreign = [source.startswith("!") for source in sources]
    features = random.normal(size=(260, 300)).astype(np.float32)
    colours = random.normal(size=(260, SIZE)).astype(np.float32)
    colours[:, 0] += gap * np.array(foreign)
    return features, colours, sources, foreign


def test_a_planted_difference_is_found_on_unseen_sources() -> None:
    features, colours, sources, foreign = planted(6.0)
    odds = held_out(features, colours, sources, foreign)
    assert odds[:200].mean() < odds[200:].mean() - 1
    nothing = held_out(*planted(0.0))
    assert abs(nothing[:200].mean() - nothing[200:].mean()) < 1


def test_the_model_is_linear_in_raw_features_and_colours() -> None:
    features, colours, sources, foreign = planted(6.0)
    model = fit_refusal(features, colours, sources, foreign)
    odds = model.odds(features, colours)
    assert odds[200:].min() > np.quantile(odds[:200], 0.9)
    assert len(refusal_settings(model)["stains"]) == SIZE  # type: ignore[arg-type]


def test_colours_of_a_blank_image_are_numbers() -> None:
    blank = stain_colours(np.full((SIDE, SIDE, 3), 255, np.uint8))
    assert blank.shape == (SIZE,) and np.isfinite(blank).all() and blank[-5] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_painted_strangers_are_seeded_and_unlike_the_section(kind: str) -> None:
    one, two = (make_stranger(kind, section(), np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(one, two) and one.shape == (SIDE, SIDE, 3) and one.dtype == np.uint8
    assert np.abs(stain_colours(one) - stain_colours(section())).max() > 0.2


def test_stains_are_taken_apart() -> None:
    nuclei, rest = take_apart(section())
    assert 0.4 < nuclei.mean() < 0.8 and 0.2 < rest.mean() < 0.5


def test_processes_are_read_from_labels() -> None:
    assert process_of("Normal liver") == "n" and process_of("tubular adenoma of the colon") == "y"
    assert process_of("squamous cell carcinoma in situ") == "y" and process_of("mucus") == "-"


def test_many_sources_and_others_are_read(tmp_path: Path) -> None:
    assert list(read_many(tmp_path)) == [] and read_others(tmp_path) == []
    folder = tmp_path / "many"
    folder.mkdir()
    rows = [
        {"image": "a.jpg", "source": "one", "organ": "kidney (mouse)", "label": "normal kidney, mouse", "group": ""},
        {"image": "b.jpg", "source": "one", "organ": "kidney (mouse)", "label": "renal carcinoma", "group": ""},
        {"image": "c.jpg", "source": "two", "organ": "oesophagus", "label": "squamous cell carcinoma", "group": "p"},
    ]
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    with pytest.raises(InputError, match=r"sources\.csv: no such file"):
        list(read_many(tmp_path))
    (folder / "sources.csv").write_text("source,licence\none,MIT\ntwo,CC BY-NC\n", encoding="utf-8")
    first, second = read_many(tmp_path)
    assert (first.organ, first.process, first.phrases) == ("kidney", "n", ("normal kidney",))
    assert (second.organ, second.process, second.test_only) == ("eso", "q", True)
    assert not first.test_only
