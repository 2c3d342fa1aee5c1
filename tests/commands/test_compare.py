"""`medassay compare`: from a scores file to a verdict."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

from medassay.examples import example


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_score_compare_and_report(tmp_path: Path, medassay: Callable) -> None:
    scores, page = tmp_path / "scores.csv", tmp_path / "report.html"
    ran = medassay("score", example("pathology.csv"), "--metrics", "rouge,bleu", "--out", scores, "--report", page)
    assert ran.code == 0
    for shown in ("rouge1", "rougeLsum", "bleu", "alder", "birch"):
        assert shown in ran.out
    assert ran.err == f"medassay: scores written to {scores}\nmedassay: report written to {page}\n"
    assert len(table(scores)) == 32
    assert page.stat().st_size > 10_000

    ran = medassay("compare", scores, "--by", "system", "--resamples", 200)
    assert ran.code == 0
    assert "alder" in ran.out
    assert "rouge1" in ran.out


def test_compare_says_what_is_missing(tmp_path: Path, medassay: Callable) -> None:
    scores = tmp_path / "scores.csv"
    assert medassay("score", example("pathology.csv"), "--metrics", "rouge1", "--out", scores).code == 0
    for arguments in (
        ["absent.csv"],
        [scores, "--by", "systm"],
        [scores, "--metrics", "rogue1"],
        [scores, "--item", "x"],
    ):
        ran = medassay("compare", *arguments)
        assert ran.code == 2, ran
        assert ran.err.startswith("medassay: ")
        assert "Traceback" not in ran.err
