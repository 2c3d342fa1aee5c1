"""`validate` and `stress` on the command line: both kinds of input, files written, errors told."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from medassay.examples import example
from medassay.study.commands import write_rows

NOTES = example("notes.csv")


def test_validate_scores_a_case_file_or_reads_a_scores_file(tmp_path: Path, medassay: Callable) -> None:
    scores, page, out = tmp_path / "scores.csv", tmp_path / "page.html", tmp_path / "figures.csv"
    direct = medassay("validate", NOTES, "--human", "human_score", "--metrics", "rouge1,bleu", "--resamples", 100)
    assert direct.code == 0, direct.err
    assert medassay("score", NOTES, "--metrics", "rouge1,bleu", "--out", scores).code == 0
    options = ("--human", "human_score", "--resamples", 100, "--report", page, "--out", out)
    ran = medassay("validate", scores, *options)
    assert ran.code == 0, ran.err
    assert ran.out == direct.out
    for word in ("Pearson", "Spearman", "Kendall", "rouge1", "human_score ↑"):
        assert word in ran.out
    with out.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["metric"] for row in rows] == ["rouge1", "bleu"]
    assert -1.0 <= float(rows[0]["pearson.low"]) <= float(rows[0]["pearson"]) <= 1.0
    assert "Scatter plots" in page.read_text(encoding="utf-8")


def test_validate_takes_short_names_of_parts(tmp_path: Path, medassay: Callable) -> None:
    scores = tmp_path / "scores.csv"
    assert medassay("score", NOTES, "--metrics", "rouge1", "--out", scores).code == 0
    ran = medassay("validate", scores, "--human", "human_score", "--metrics", "rouge1_r", "--resamples", 20)
    assert ran.code == 0, ran.err
    assert "rouge1.recall" in ran.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--human", "humn_score"], "did you mean 'human_score'"),
        (["--human", "human_score", "--scale", "5"], "--scale: '5' is not low:high"),
        (["--human", "human_score", "--scale", "5:0"], "lower end first"),
        (["--human", "human_score", "--out", "x.txt"], "cannot write '.txt'"),
        (["--human", "human_score", "--report", "absent/x.html"], "does not exist"),
        (["--human", "human_score", "--metrics", "rogue1"], "did you mean 'rouge1'"),
        ([], "--human"),
    ],
)
def test_validate_says_what_is_wrong(arguments: list[str], said: str, medassay: Callable) -> None:
    ran = medassay("validate", NOTES, *arguments)
    assert ran.code == 2
    assert said in ran.err


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


def test_rows_that_a_spreadsheet_would_run_are_guarded(tmp_path: Path) -> None:
    write_rows(tmp_path / "x.csv", [{"a": "=1+1", "b": -0.5}, {"a": None, "c": "y"}])
    assert (tmp_path / "x.csv").read_text(encoding="utf-8") == "a,b,c\n'=1+1,-0.5,\n,,y\n"
