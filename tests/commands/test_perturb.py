"""`medassay perturb`: images, prompts, the case file and the manifest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="needs the extra slides")

from tests.commands.trust_files import REPORT, read, table  # noqa: E402
from tests.slides.made import tissue  # noqa: E402

pytestmark = pytest.mark.usefixtures("given_dimensions")


def test_perturb_writes_what_is_needed_elsewhere(tmp_path: Path, trust_images: Path, medassay: Callable) -> None:
    Image.fromarray(np.full((200, 200, 3), 250, np.uint8)).save(trust_images / "blank.png")
    rows = [{"id": n, "candidate": REPORT, "image": f"{n}.png", "note": "=1+1"} for n in ("t0", "t1", "blank", "gone")]
    path = table(tmp_path / "cases.csv", rows)
    out = tmp_path / "out"
    ran = medassay("perturb", path, "--images", trust_images, "--out", out, "--seed", 5)
    assert ran.code == 1
    assert "row 4" in ran.err and "row 5" in ran.err and "gone.png" in ran.err
    cases = read(out / "cases.csv")
    assert [row["id"] for row in cases] == [
        "t0",
        "t1",
        "blank",
    ]  # a blank tile can still be shown under a false history
    assert cases[2]["image_stain"] == "" and "too few to tell the stains" in cases[2]["candidate_stain_error"]
    assert all(row["candidate_stain"] == row["candidate_attack"] == "" for row in cases)
    assert cases[0]["note"] == "'=1+1"
    assert (out / cases[0]["image"]).resolve() == (trust_images / "t0.png").resolve()
    stained = np.asarray(Image.open(out / cases[0]["image_stain"]))
    assert stained.shape == (256, 256, 3) and (stained != tissue(256, 256)).any()
    prompts = [json.loads(line) for line in (out / "prompts.jsonl").read_text().splitlines()]
    assert "Clinical history:" in prompts[0]["prompt_attack"] and "Clinical history:" not in prompts[0]["prompt"]
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["seed"] == 5 and manifest["histories"] == "histories-1" and len(manifest["problems"]) == 2
    before = (out / "cases.csv").read_bytes(), (out / "manifest.json").read_bytes()
    medassay("perturb", path, "--images", trust_images, "--out", out, "--seed", 5)
    assert before == ((out / "cases.csv").read_bytes(), (out / "manifest.json").read_bytes())
    # Unfilled columns are failed generations, not matches.
    ran = medassay("trust", out / "cases.csv", "--out", tmp_path / "s.csv")
    assert all(row["stability"] == "" for row in read(tmp_path / "s.csv"))


def test_a_strict_run_stops_at_the_first_problem(tmp_path: Path, trust_images: Path, medassay: Callable) -> None:
    path = table(tmp_path / "cases.csv", [{"id": "1", "candidate": REPORT, "image": "gone.png"}])
    ran = medassay("perturb", path, "--images", trust_images, "--out", tmp_path / "out", "--strict")
    assert ran.code == 2 and "gone.png" in ran.err
