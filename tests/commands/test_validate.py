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


def test_several_files_and_their_average(tmp_path: Path, medassay: Callable) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    rows = [(i, i % 7, (3 * i) % 5) for i in range(20)]
    first.write_text("id,metric,f1,other\n" + "".join(f"{i},{a},{a + b},{b}\n" for i, a, b in rows))
    second.write_text("id,metric,f1\n" + "".join(f"{i},{b},{a + b}\n" for i, a, b in rows))
    out, page = tmp_path / "figures.csv", tmp_path / "page.html"
    options = ("--human", "f1,other", "--metrics", "metric", "--scale", "f1=0:10,other=0:5", "--resamples", 20)
    ran = medassay("validate", first, second, *options, "--out", out, "--report", page)
    assert ran.code == 0, ran.err
    assert "Average over 2 data sets" in ran.out
    assert f"{second}: no column other" in ran.err
    with out.open(encoding="utf-8", newline="") as stream:
        figures = list(csv.DictReader(stream))
    assert [(Path(row["data"]).name, row["human"]) for row in figures] == [
        ("first.csv", "f1"),
        ("first.csv", "other"),
        ("second.csv", "f1"),
    ]
    assert all(0 <= float(row["pearson.p_analytic"]) <= 1 for row in figures)
    html = page.read_text(encoding="utf-8")
    assert "Average over data sets" in html and "second.csv: Agreement" in html
    twice = medassay("validate", first, first, *options)
    assert twice.code == 2 and "named twice" in twice.err
    nothing = medassay("validate", first, second, "--human", "absent")
    assert nothing.code == 2 and "none of the human columns" in nothing.err


@pytest.mark.parametrize(
    ("scale", "said"), [("=0:5", "is not column=low:high"), ("humn=0:5", "scale of 'humn': not a human column")]
)
def test_scales_by_column(scale: str, said: str, medassay: Callable) -> None:
    ran = medassay("validate", NOTES, "--human", "human_score", "--metrics", "rouge1", "--scale", scale)
    assert ran.code == 2 and said in ran.err


def test_preferences(tmp_path: Path, medassay: Callable) -> None:
    scores, judged, out = tmp_path / "scores.csv", tmp_path / "judged.csv", tmp_path / "figures.csv"
    lines = ["id,system,good,bad"]
    rows = ["id,system_a,system_b,preference"]
    for i in range(12):
        lines += [f"{i},x,{2 + i % 3},{i % 2}", f"{i},y,{1 + i % 3},{(i + 1) % 2}"]
        rows.append(f"{i},{'x,y,a' if i % 2 else 'y,x,x'}" if i else "0,x,y,tie")
    scores.write_text("\n".join(lines) + "\n")
    judged.write_text("\n".join(rows) + "\n")
    ran = medassay(
        "validate", scores, "--preferences", judged, "--metrics", "good,bad", "--resamples", 50, "--out", out
    )
    assert ran.code == 0, ran.err
    assert "12 judged pairs" in ran.out
    with out.open(encoding="utf-8", newline="") as stream:
        figures = {row["metric"]: row for row in csv.DictReader(stream)}
    assert float(figures["good"]["pairs.accuracy"]) == pytest.approx(11 / 12)
    assert float(figures["good"]["systems.accuracy"]) == 1.0
    neither = medassay("validate", scores)
    assert neither.code == 2 and "--human COLUMNS, or --preferences FILE" in neither.err
    judged.write_text("id,system_a,system_b,preference\n1,x,y,maybe\n")
    wrong = medassay("validate", scores, "--preferences", judged)
    assert wrong.code == 2 and "row 2, column 'preference': 'maybe'" in wrong.err
