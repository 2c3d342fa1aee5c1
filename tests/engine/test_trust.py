"""Whole trust runs: files and folders, bad rows, generated reports, resume."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Image = pytest.importorskip("PIL.Image", reason="needs the extra slides")
pytest.importorskip("openslide", reason="needs the extra slides")

from tests.commands.trust_files import REPORT, read, table  # noqa: E402
from tests.slides.made import on_glass  # noqa: E402

pytestmark = pytest.mark.usefixtures("given_dimensions")


def test_the_same_run_gives_the_same_bytes(tmp_path: Path, trust_images: Path, medassay: Callable) -> None:
    rows = [
        {"candidate": REPORT, "g": 0.5, "l": 0.5, "candidate_stain": REPORT, "image": f"t{k}.png"} for k in range(3)
    ]
    path = table(tmp_path / "cases.csv", rows)
    made = []
    for name in ("a", "b"):
        out, page = tmp_path / f"{name}.csv", tmp_path / f"{name}.html"
        assert medassay("trust", path, "--images", trust_images, "--out", out, "--report", page).code == 0
        made.append((out.read_bytes(), page.read_bytes()))
    assert made[0] == made[1]


def test_one_bad_row_of_many_is_named_and_the_others_are_kept(
    tmp_path: Path, trust_images: Path, medassay: Callable
) -> None:
    rows = [{"id": "a", "image": "t0.png"}, {"id": "b", "image": "gone.png"}, {"id": "c", "image": ""}]
    path = table(tmp_path / "cases.csv", [{"candidate": REPORT, "g": 1, "l": 1, **row} for row in rows])
    out = tmp_path / "s.csv"
    ran = medassay("trust", path, "--images", trust_images, "--out", out)
    assert ran.code == 1
    assert "row 3: column 'image': no such file" in ran.err and "gone.png" in ran.err
    assert [row["image"] for row in read(out)] == ["t0.png", "gone.png", ""]
    assert medassay("trust", path, "--images", trust_images, "--strict").code == 2
    ran = medassay("trust", path, "--images", tmp_path / "nowhere")
    assert ran.code == 2 and "--images" in ran.err


def test_a_folder_of_images_with_reports(tmp_path: Path, trust_images: Path, medassay: Callable) -> None:
    (trust_images / "t0.txt").write_text(REPORT)
    (trust_images / "t0.stain.txt").write_text(REPORT)
    (trust_images / "t0.attack.txt").write_text("")
    (trust_images / "t1.txt").write_text(REPORT)
    out = tmp_path / "s.csv"
    ran = medassay("trust", trust_images, "--out", out)
    assert ran.code == 1
    assert "t2.png: no report beside it; write t2.txt" in ran.err
    first, second = read(out)
    assert first["id"] == "t0" and "attack: the generation failed" in first["stability.unscored"]
    assert second["stability.unscored"] == "no candidate_stain and no candidate_attack"
    assert medassay("trust", tmp_path / "images" / "empty").code == 2


SUBJECT = """
import sys, pathlib
log = pathlib.Path(sys.argv[3]); log.open("a").write(pathlib.Path(sys.argv[1]).name + "\\n")
if "t2-stain" in sys.argv[1]: sys.exit("out of memory")
if "Clinical history" in sys.argv[2]: print("Colon, biopsy: Chronic colitis.")
else: print("Colon, biopsy: Invasive adenocarcinoma. No necrosis is seen.")
"""


def test_a_command_writes_the_reports_and_a_resume_writes_none_again(
    tmp_path: Path, trust_images: Path, medassay: Callable
) -> None:
    script, log = tmp_path / "model.py", tmp_path / "log"
    script.write_text(SUBJECT)
    command = f"{shlex.quote(sys.executable)} {script} {{image}} {{prompt}} {log}"
    path = table(
        tmp_path / "c.csv", [{"id": k, "candidate": "", "image": f"t{k}.png", "g": 1, "l": 1} for k in range(3)]
    )
    arguments = ("trust", path, "--images", trust_images, "--subject-command", command, "--store", tmp_path / "store")
    out = tmp_path / "s.csv"
    ran = medassay(*arguments, "--out", out)
    assert ran.code == 1, ran.err
    assert "column 'candidate_stain': no report was written (exit status 1: out of memory)" in ran.err
    rows = read(out)
    assert rows[0]["candidate_attack"] == "Colon, biopsy: Chronic colitis."
    assert float(rows[0]["stability.stain"]) == 1.0 and float(rows[0]["stability.attack"]) < 0.5
    assert rows[2]["stability"] == "" and rows[2]["route"] == "review"
    first = log.read_text().splitlines()
    assert len(first) == 9  # three reports of three cases
    assert len(list((tmp_path / "s.csv.stained").glob("*.png"))) == 3
    ran = medassay(*arguments, "--out", out)
    assert log.read_text().splitlines()[9:] == [name for name in first if "t2-stain" in name]  # only what had failed
    assert "0 written by the subject, 8 kept" in ran.err


def test_a_whole_slide_is_told_from_a_region(tmp_path: Path, medassay: Callable) -> None:
    from medassay.slides.plain import PlainImage
    from medassay.slides.pyramid import write_pyramid

    pixels = on_glass(600, 600, (50, 50, 500, 500))
    write_pyramid(PlainImage("made", pixels, 0.5), tmp_path / "slide.tiff", lambda tile: tile, workers=1)
    path = table(tmp_path / "c.csv", [{"candidate": REPORT, "image": "slide.tiff", "g": 1, "l": 1}])
    assert medassay("trust", path, "--out", tmp_path / "s.csv").code == 0
    assert read(tmp_path / "s.csv")[0]["level"] == "slide"
