"""Whole trust runs: files and folders, bad rows, generated reports, resume, perturb."""

from __future__ import annotations

import csv
import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="needs the extra slides")
pytest.importorskip("openslide", reason="needs the extra slides")

from tests.metrics.dimensions import Given  # noqa: E402
from tests.slides.made import on_glass, tissue  # noqa: E402

from medassay.metrics import registry  # noqa: E402

REPORT = "Colon, biopsy: Invasive adenocarcinoma. No necrosis is seen."


@pytest.fixture(autouse=True)
def dimensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grounding and logic whose numbers stand in the cases; stability is the real one."""
    real = registry._load

    def load(request: str, settings: Any) -> Any:
        return Given(request) if request in ("grounding", "logic") else real(request, settings)

    monkeypatch.setattr(registry, "_load", load)


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    header = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, header)
        writer.writeheader()
        writer.writerows(rows)
    return path


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    for k in range(3):
        Image.fromarray(tissue(256, 256, seed=k)).save(folder / f"t{k}.png")
    return folder


def test_scores_routes_and_evidence(tmp_path: Path, images: Path, medassay: Callable) -> None:
    rows = [
        {"id": "good", "g": 0.9, "l": 1, "candidate_stain": REPORT, "candidate_attack": REPORT, "image": "t0.png"},
        {"id": "half", "g": 0.9, "l": 1, "candidate_stain": "", "candidate_attack": REPORT, "image": "t1.png"},
        {"id": "poor", "g": 0.1, "l": 0.1, "candidate_stain": REPORT, "candidate_attack": "Normal.", "image": "t2.png"},
    ]
    path = table(tmp_path / "cases.csv", [{"candidate": REPORT, **row} for row in rows])
    out, page, lines = tmp_path / "s.csv", tmp_path / "r.html", tmp_path / "e.jsonl"
    ran = medassay("trust", path, "--images", images, "--out", out, "--report", page, "--evidence", lines)
    assert ran.code == 0, ran.err
    good, half, poor = read(out)
    assert (good["route"], half["route"]) == ("deploy", "review")
    assert float(good["trust"]) == pytest.approx(0.4 * 0.9 + 0.3 + 0.3)
    assert half["stability"] == "" and "failed" in half["stability.unscored"]
    assert half["trust"] == "" and half["trust.unscored"].startswith("partial: stability: stain")
    assert half["trust.grounding"] == "0.9" and "Partial: 1 of 3 reports" in " ".join(ran.out.split())
    assert half["trust.partial"].startswith("stability: stain: the generation failed")
    assert poor["route"] in ("review", "reject") and poor["level"] == "patch"
    assert "deploy       1" in ran.out and "not calibrated" in ran.out
    records = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [record["id"] for record in records] == ["good", "half", "poor"]
    assert records[0]["trust"]["labels"]["route"] == "deploy"
    text = page.read_text()
    assert "data:image/jpeg;base64," in text and str(tmp_path) not in text
    meta = json.loads((tmp_path / "s.csv.meta.json").read_text())
    assert "policy:default-1@" in meta["signatures"]["trust"]


def test_the_same_run_gives_the_same_bytes(tmp_path: Path, images: Path, medassay: Callable) -> None:
    rows = [
        {"candidate": REPORT, "g": 0.5, "l": 0.5, "candidate_stain": REPORT, "image": f"t{k}.png"} for k in range(3)
    ]
    path = table(tmp_path / "cases.csv", rows)
    made = []
    for name in ("a", "b"):
        out, page = tmp_path / f"{name}.csv", tmp_path / f"{name}.html"
        assert medassay("trust", path, "--images", images, "--out", out, "--report", page).code == 0
        made.append((out.read_bytes(), page.read_bytes()))
    assert made[0] == made[1]


def test_one_bad_row_of_many_is_named_and_the_others_are_kept(tmp_path: Path, images: Path, medassay: Callable) -> None:
    rows = [{"id": "a", "image": "t0.png"}, {"id": "b", "image": "gone.png"}, {"id": "c", "image": ""}]
    path = table(tmp_path / "cases.csv", [{"candidate": REPORT, "g": 1, "l": 1, **row} for row in rows])
    out = tmp_path / "s.csv"
    ran = medassay("trust", path, "--images", images, "--out", out)
    assert ran.code == 1
    assert "row 3: column 'image': no such file" in ran.err and "gone.png" in ran.err
    assert len(read(out)) == 3
    assert medassay("trust", path, "--images", images, "--strict").code == 2
    ran = medassay("trust", path, "--images", tmp_path / "nowhere")
    assert ran.code == 2 and "--images" in ran.err


def test_a_folder_of_images_with_reports(tmp_path: Path, images: Path, medassay: Callable) -> None:
    (images / "t0.txt").write_text(REPORT)
    (images / "t0.stain.txt").write_text(REPORT)
    (images / "t0.attack.txt").write_text("")
    (images / "t1.txt").write_text(REPORT)
    out = tmp_path / "s.csv"
    ran = medassay("trust", images, "--out", out)
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
    tmp_path: Path, images: Path, medassay: Callable
) -> None:
    script, log = tmp_path / "model.py", tmp_path / "log"
    script.write_text(SUBJECT)
    command = f"{shlex.quote(sys.executable)} {script} {{image}} {{prompt}} {log}"
    path = table(
        tmp_path / "c.csv", [{"id": k, "candidate": "", "image": f"t{k}.png", "g": 1, "l": 1} for k in range(3)]
    )
    arguments = ("trust", path, "--images", images, "--subject-command", command, "--store", tmp_path / "store")
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


def test_perturb_writes_what_is_needed_elsewhere(tmp_path: Path, images: Path, medassay: Callable) -> None:
    Image.fromarray(np.full((200, 200, 3), 250, np.uint8)).save(images / "blank.png")
    rows = [{"id": n, "candidate": REPORT, "image": f"{n}.png", "note": "=1+1"} for n in ("t0", "t1", "blank", "gone")]
    path = table(tmp_path / "cases.csv", rows)
    out = tmp_path / "out"
    ran = medassay("perturb", path, "--images", images, "--out", out, "--seed", 5)
    assert ran.code == 1
    assert "row 4" in ran.err and "row 5" in ran.err and "gone.png" in ran.err
    made = read(out / "cases.csv")
    assert [row["id"] for row in made] == ["t0", "t1", "blank"]  # a blank tile can still be shown under a false history
    assert made[2]["image_stain"] == "" and "too few to tell the stains" in made[2]["candidate_stain_error"]
    assert all(row["candidate_stain"] == row["candidate_attack"] == "" for row in made)
    assert made[0]["note"] == "'=1+1"
    assert (out / made[0]["image"]).resolve() == (images / "t0.png").resolve()
    stained = np.asarray(Image.open(out / made[0]["image_stain"]))
    assert stained.shape == (256, 256, 3) and (stained != tissue(256, 256)).any()
    prompts = [json.loads(line) for line in (out / "prompts.jsonl").read_text().splitlines()]
    assert "Clinical history:" in prompts[0]["prompt_attack"] and "Clinical history:" not in prompts[0]["prompt"]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["seed"] == 5 and manifest["histories"] == "histories-1" and len(manifest["problems"]) == 2
    before = (out / "cases.csv").read_bytes(), (out / "manifest.json").read_bytes()
    medassay("perturb", path, "--images", images, "--out", out, "--seed", 5)
    assert before == ((out / "cases.csv").read_bytes(), (out / "manifest.json").read_bytes())
    # Unfilled columns are failed generations, not matches.
    ran = medassay("trust", out / "cases.csv", "--out", tmp_path / "s.csv")
    assert all(row["stability"] == "" for row in read(tmp_path / "s.csv"))


def test_a_whole_slide_is_told_from_a_region(tmp_path: Path, medassay: Callable) -> None:
    from medassay.slides.plain import PlainImage
    from medassay.slides.pyramid import write_pyramid

    pixels = on_glass(600, 600, (50, 50, 500, 500))
    write_pyramid(PlainImage("made", pixels, 0.5), tmp_path / "slide.tiff", lambda tile: tile, workers=1)
    path = table(tmp_path / "c.csv", [{"candidate": REPORT, "image": "slide.tiff", "g": 1, "l": 1}])
    assert medassay("trust", path, "--out", tmp_path / "s.csv").code == 0
    assert read(tmp_path / "s.csv")[0]["level"] == "slide"
