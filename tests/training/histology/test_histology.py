"""Reading the sets of histology images, and the words by which they are described."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from medassay.errors import InputError
from medassay.training import histology
from medassay.training.histology import questions, read_many, read_samples, words

pytest.importorskip("PIL")
from medassay.training.histology import label_phrases, process_of, read_others


def test_processes_are_read_from_labels() -> None:
    assert process_of("Normal liver") == "n" and process_of("tubular adenoma of the colon") == "y"
    assert process_of("squamous cell carcinoma in situ") == "y" and process_of("mucus") == "-"


@pytest.mark.parametrize(
    ("label", "phrases", "process"),
    [
        ("lung adenocarcinoma (tumour, stroma and/or normal lung in the field)", ("lung adenocarcinoma",), "a"),
        ("immune cells / lymphoid follicle", ("immune cells", "lymphoid follicle"), "-"),
        ("osteosarcoma, necrotic (non-viable) tumour", ("osteosarcoma, necrotic tumor",), "s"),
        ("growth (benign)", ("growth",), "b"),
        ("normal femur / bone marrow, mouse", ("normal femur", "bone marrow"), "n"),
        ("normal kidney (mouse)", ("normal kidney",), "n"),
    ],
)
def test_brackets_and_slashes_of_a_label(label: str, phrases: tuple[str, ...], process: str) -> None:
    assert (label_phrases(label), process_of(label)) == (phrases, process)


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


def test_questions_and_answers_are_told_apart() -> None:
    text = "what is seen? large cells is necrosis seen? yes are mitoses seen? no where is this? lung"
    assert questions(text) == [
        ("what is seen", "large cells"),
        ("is necrosis seen", "yes"),
        ("are mitoses seen", "no"),
        ("where is this", "lung"),
    ]


def test_samples_know_what_is_said_of_them(image_sets: Path) -> None:
    samples = read_samples(image_sets)
    assert len(samples) == 16
    first = samples[0]
    assert first.caption == "liver, steatosis, liver" and first.label == "library"
    assert ("statement", "liver, steatosis") in first.texts
    assert not any("spleen" in text for _, text in first.texts)
    tile = next(s for s in samples if s.label == "lung_scc")
    assert tile.group == "lung_scc g0" and ("organ", "lung") in tile.texts
    with pytest.raises(InputError, match="no pathvqa"):
        read_samples(image_sets / "lc25000" / "lung_n")


def test_tags_and_words_agree() -> None:
    organs, processes = words("organ"), words("process")
    rows = list(histology.own_table("tags.tsv"))
    assert all(row["organ"] in organs and row["process"] in processes for row in rows)
    images = [image for row in rows for image in row["images"].split(" ")]
    assert len(images) == len(set(images)) == 1345
    assert set(words("asked")) == set(words("class"))
    learnt = {text for texts in words("class").values() for text in texts}
    assert not learnt & {text for texts in words("asked").values() for text in texts}


def test_judged_sentences_are_never_learnt_from() -> None:
    learnt = {pattern for patterns in words("pattern").values() for pattern in patterns}
    assert not learnt & {pattern for patterns in words("judged").values() for pattern in patterns}
    assert len(words("judged")["benign"]) == len(words("judged")["malignant"])
    assert set(words("pattern")) <= set(words("process"))


def test_parts_of_one_case_stay_together(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    rows = [
        "image,source,organ,label,group",
        *(f"{i}.jpg,lab,breast,fibroadenoma,14-225{x}" for i, x in enumerate(("49", "49AB", "50"))),
    ]
    (tmp_path / "many" / "labels.csv").write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "many" / "sources.csv").write_text("source,licence\nlab,CC BY", encoding="utf-8")
    assert [sample.group for sample in read_many(tmp_path)] == ["lab 14-22549", "lab 14-22549", "lab 14-22550"]
