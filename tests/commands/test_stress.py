"""`medassay stress`: both kinds of input, files written, errors told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from medassay.examples import example

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
    assert "--map reference=COLUMN" in ran.err
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"reference": "No tumor."}\nnot json\n', encoding="utf-8")
    ran = medassay("stress", broken, "--metrics", "rouge1", "--resamples", 10)
    assert ran.code == 1
    assert "row 2: not JSON" in ran.err
