"""What is fitted once the reader is trained."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from medassay.training.reader import fit


def test_answers_that_are_too_sure_get_a_temperature_above_one() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 2000)
    logits = rng.normal(size=(2000, 3))
    logits[np.arange(2000), labels] += 1.5
    assert fit.temperature(logits * 2, labels) == pytest.approx(2 * fit.temperature(logits, labels), abs=0.2)


def test_the_interval_holds_the_stated_share_of_scores() -> None:
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 6, 1000).astype(float)
    logits = (scores - 2.5) / 1.5 + rng.normal(size=1000) / 2
    line, figures = fit.expert_line(logits, scores)
    raw = 5 / (1 + np.exp(-logits))
    estimates = np.clip(line["slope"] * raw + line["shift"], 0, 5)
    held = np.abs(estimates - scores) <= line["half_width"] + 1e-3
    assert held.mean() == pytest.approx(fit.COVERED, abs=0.02)
    assert figures["expert r"] > 0.8


def test_new_files_make_another_set(tmp_path: Path) -> None:
    made, models = tmp_path / "made", tmp_path / "set"
    made.mkdir()
    models.mkdir()
    files = [{"name": name, "sha256": "", "bytes": 0, "licence": "Apache-2.0"} for name in fit.FILES]
    (models / "manifest.json").write_text(
        json.dumps({"set": "old", "files": files, "roles": {"reader": {}}}), encoding="utf-8"
    )
    for name in fit.FILES:
        (made / name).write_bytes(name.encode())
    (made / "files.json").write_text('["nli/a.jsonl"]', encoding="utf-8")
    fit.install(made, models, "new")
    manifest = json.loads((models / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["set"] == "new"
    assert manifest["roles"]["reader"]["learnt_from"] == ["nli/a.jsonl"]
    first = manifest["files"][0]
    assert first["sha256"] == hashlib.sha256(first["name"].encode()).hexdigest()
    assert first["licence"] == "Apache-2.0"


@pytest.mark.hf
def test_the_combination_learns_when_to_believe_the_rules() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 600)
    logs = np.log(np.full((600, 3), 1 / 3))
    rule = (labels == 2).astype(float)[:, None]
    rows = np.hstack([logs, rule, np.ones((600, 1))])
    weights = fit.combination_weights(rows, labels)
    answers = (rows @ weights.T).argmax(1)
    assert (answers[labels == 2] == 2).all()
