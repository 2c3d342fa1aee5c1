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
    assert len(table(scores)) == 72
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


def test_statistics_of_corpus_metrics_are_kept_and_compared(tmp_path: Path, medassay: Callable) -> None:
    scores = tmp_path / "scores.csv"
    assert medassay("score", example("pathology.csv"), "--metrics", "bleu", "--out", scores).code == 0
    assert all(len(row["bleu.statistics"].split()) == 10 for row in table(scores))
    ran = medassay("compare", scores, "--resamples", 200)
    assert ran.code == 0 and "Corpus-level values are compared" in ran.out


def test_a_damaged_cell_of_statistics_is_named(tmp_path: Path, medassay: Callable) -> None:
    path = tmp_path / "s.csv"
    rows = ["id,system,bleu,bleu.unscored,bleu.statistics", "1,a,5,,1 2", "1,b,6,,1 x"]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    ran = medassay("compare", path)
    assert ran.code == 2 and "row 3, column 'bleu.statistics': expected 2 numbers" in ran.err


def _run(path: Path, shift: float, system: str | None = None, metric: str = "m") -> Path:
    head = ["id", *(["system"] if system else []), metric]
    rows = [[str(i), *([system] if system else []), str(i % 7 / 10 + shift)] for i in range(30)]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(",".join(row) for row in [head, *rows]) + "\n", encoding="utf-8")
    return path


def test_several_files_are_runs(tmp_path: Path, medassay: Callable) -> None:
    runs = [_run(tmp_path / f"{name}.csv", shift) for name, shift in (("may", 0.1), ("june", 0.2), ("july", 0.3))]
    ran = medassay("compare", *runs, "--resamples", 500)
    assert ran.code == 0
    assert ran.out.startswith("30 items have a row from all 3 systems, paired by column 'id'.")
    assert [line.split()[1] for line in ran.out.splitlines()[4:7]] == ["july", "june", "may"]


def test_systems_of_several_files_are_named_as_briefly_as_tells_them_apart(tmp_path: Path, medassay: Callable) -> None:
    other = [_run(tmp_path / "1.csv", 0.1, "elm"), _run(tmp_path / "2.csv", 0.2, "oak")]
    assert "elm − oak" in medassay("compare", *other, "--resamples", 50).out
    same = [_run(tmp_path / "3.csv", 0.1, "elm"), _run(tmp_path / "4.csv", 0.2, "elm")]
    assert "3 − 4" in medassay("compare", *same, "--resamples", 50).out
    chosen = medassay("compare", *same, "--by", "run,system", "--resamples", 50)
    assert "3 / elm − 4 / elm" in chosen.out
    folders = [_run(tmp_path / "a" / "s.csv", 0.1), _run(tmp_path / "b" / "s.csv", 0.2)]
    assert "a/s.csv − b/s.csv" in medassay("compare", *folders, "--resamples", 50).out


def test_files_that_cannot_be_compared_are_refused(tmp_path: Path, medassay: Callable) -> None:
    first, second = _run(tmp_path / "1.csv", 0.1), _run(tmp_path / "2.csv", 0.1, metric="k")
    ran = medassay("compare", first, second)
    assert ran.code == 2 and "no metric is in every file" in ran.err
    ran = medassay("compare", first, first)
    assert ran.code == 2 and "given twice" in ran.err


def test_runs_made_by_other_settings_are_pointed_out(tmp_path: Path, medassay: Callable) -> None:
    paths = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for path, settings in zip(paths, ([], ["--references", "mean"])):
        assert medassay("score", example("pathology.csv"), "--metrics", "rouge1", "--out", path, *settings).code == 0
    ran = medassay("compare", *paths, "--resamples", 50)
    assert ran.code == 0 and "'rouge1' was not made alike in all files" in ran.err


def test_out_by_suffix(tmp_path: Path, medassay: Callable) -> None:
    scores = _run(tmp_path / "1.csv", 0.1), _run(tmp_path / "2.csv", 0.2)
    outs = [tmp_path / f"c.{suffix}" for suffix in ("txt", "md", "tex", "csv", "html")]
    ran = medassay("compare", *scores, "--resamples", 50, *(word for out in outs for word in ("--out", out)))
    assert ran.code == 0 and all(out.stat().st_size > 200 for out in outs)
    ran = medassay("compare", *scores, "--out", tmp_path / "c.docx")
    assert ran.code == 2 and ".tex" in ran.err
    ran = medassay("compare", *scores, "--out", scores[0])
    assert ran.code == 2 and "is the input itself" in ran.err


def test_families_and_primary(tmp_path: Path, medassay: Callable) -> None:
    scores = tmp_path / "scores.csv"
    assert medassay("score", example("pathology.csv"), "--metrics", "rouge", "--out", scores).code == 0
    ran = medassay("compare", scores, "--family", "rouge1+rouge2", "--primary", "rougeL", "--resamples", 100)
    assert ran.code == 0 and "rouge1 + rouge2; rougeL; rougeLsum" in ran.out
    assert "Primary metric rougeL: birch is better" in ran.out
    ran = medassay("compare", scores, "--family", "rouge1+rogue2")
    assert ran.code == 2 and "did you mean 'rouge2'" in ran.err
