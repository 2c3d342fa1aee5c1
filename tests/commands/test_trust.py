"""`medassay trust`: scores, routes, the page and the evidence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Image = pytest.importorskip("PIL.Image", reason="needs the extra slides")

from tests.commands.trust_files import REPORT, read, table  # noqa: E402

pytestmark = pytest.mark.usefixtures("given_dimensions")


def test_scores_routes_and_evidence(tmp_path: Path, trust_images: Path, medassay: Callable) -> None:
    rows = [
        {"id": "good", "g": 0.9, "l": 1, "candidate_stain": REPORT, "candidate_attack": REPORT, "image": "t0.png"},
        {"id": "half", "g": 0.9, "l": 1, "candidate_stain": "", "candidate_attack": REPORT, "image": "t1.png"},
        {"id": "poor", "g": 0.1, "l": 0.1, "candidate_stain": REPORT, "candidate_attack": "Normal.", "image": "t2.png"},
    ]
    path = table(tmp_path / "cases.csv", [{"candidate": REPORT, **row} for row in rows])
    out, page, lines = tmp_path / "s.csv", tmp_path / "r.html", tmp_path / "e.jsonl"
    ran = medassay("trust", path, "--images", trust_images, "--out", out, "--report", page, "--evidence", lines)
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


def test_a_mode_that_does_not_exist_is_refused(tmp_path: Path, medassay: Callable) -> None:
    path = table(tmp_path / "cases.csv", [{"id": "1", "candidate": REPORT, "g": 1, "l": 1}])
    ran = medassay("trust", path, "--mode", "strict")
    assert ran.code == 2 and "neither clinical nor paper" in ran.err
