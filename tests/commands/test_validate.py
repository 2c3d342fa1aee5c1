"""`medassay validate`: both kinds of input, files written, errors told."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from medassay.examples import example

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
