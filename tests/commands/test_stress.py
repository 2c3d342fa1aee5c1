"""`medassay stress`: both kinds of input, files written, errors told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from medassay.commands.stress import score_material, text_rows
from medassay.examples import example
from medassay.metrics.registry import load_metrics
from medassay.study import Material, Original, Variant

NOTES = example("notes.csv")


def test_stress_prints_cards_and_writes_every_text(tmp_path: Path, medassay: Callable) -> None:
    page, out = tmp_path / "page.html", tmp_path / "texts.jsonl"
    options = ("--metrics", "rouge1", "--resamples", 50, "--limit", 4, "--out", out, "--report", page)
    ran = medassay("stress", NOTES, *options)
    assert ran.code == 0, ran.err
    for word in ("paraphrase > error", "negation blind spot", "laterality", "not made", "rouge1|"):
        assert word in ran.out
    texts = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len({text["id"] for text in texts}) == 4
    assert all(text["rouge1"] == 1.0 for text in texts if text["form"] == "copy")
    assert "An example of each" in page.read_text(encoding="utf-8")
    assert medassay("stress", NOTES, *options).out == ran.out
    assert "from" not in medassay("stress", NOTES, *options[:6], "--seed", 2).err


def test_stress_says_what_is_wrong(tmp_path: Path, medassay: Callable) -> None:
    bare = tmp_path / "bare.csv"
    bare.write_text("candidate\nx\n", encoding="utf-8")
    ran = medassay("stress", bare)
    assert ran.code == 2
    assert "map yours, as reference=COLUMN" in ran.err
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"reference": "No tumor."}\nnot json\n', encoding="utf-8")
    ran = medassay("stress", broken, "--metrics", "rouge1", "--resamples", 10)
    assert ran.code == 1
    assert "row 2: not JSON" in ran.err


def test_every_text_comes_with_its_score() -> None:
    variants = [Variant("copy", "copy", "one two"), Variant("error", "negation", "one")]
    material = Material(tuple(Original(str(i), "one two", variants=variants) for i in range(2)), {}, ())
    metrics = load_metrics("rouge1")
    listed = text_rows(material, score_material(material, metrics)[0])
    assert len(listed) == 4
    assert listed[1] == {
        "id": "0",
        "form": "error",
        "kind": "negation",
        "origin": "rule",
        "reference": "one two",
        "candidate": "one",
        "rouge1": pytest.approx(2 / 3),
        "rouge1.unscored": None,
        "rouge1.failed": None,
    }
