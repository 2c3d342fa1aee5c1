"""`medassay run`: the example of the page, the same numbers as score and compare, and what is refused beforehand."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from medassay.examples import example

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "run.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.S | re.M)
    return str(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "demo-out").mkdir()
    shutil.copy(example("notes.csv"), tmp_path / "demo-out" / "notes.csv")
    return tmp_path


def write(folder: Path, text: str, name: str = "study.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_page_shows_the_example_file() -> None:
    assert (DOCS / "examples" / "study.yaml").read_text(encoding="utf-8") == block("yaml")


def test_the_example_runs(folder: Path, medassay: Callable) -> None:
    study = folder / "study.yaml"
    shutil.copy(DOCS / "examples" / "study.yaml", study)
    ran = medassay("run", study, "--check")
    assert (ran.code, ran.err) == (0, "")
    assert "3 metrics and 2 comparisons" in ran.out
    assert sorted(path.name for path in folder.iterdir()) == ["demo-out", "study.yaml"]

    ran = medassay("run", study)
    assert ran.code == 0, ran.err
    for name in ("scores.csv", "report.html", "comparison.txt"):
        assert (folder / name).stat().st_size > 100
        assert str(folder / name) in ran.err
    assert "rouge1.recall" in ran.out
    text = (folder / "comparison.txt").read_text(encoding="utf-8")
    assert "rouge1" in text and "chrf" in text


def test_numbers_are_those_of_score_and_compare(folder: Path, medassay: Callable) -> None:
    study = write(
        folder,
        'cases = "demo-out/notes.csv"\nmetrics = ["rouge1", "chrf"]\nout = "run.csv"\n'
        "[[comparisons]]\nresamples = 100\nseed = 3\n",
        "study.toml",
    )
    ran = medassay("run", study)
    assert ran.code == 0, ran.err
    scored = medassay("score", folder / "demo-out" / "notes.csv", "--metrics", "rouge1,chrf", "--out", folder / "s.csv")
    compared = medassay("compare", folder / "s.csv", "--resamples", 100, "--seed", 3)
    assert (folder / "run.csv").read_bytes() == (folder / "s.csv").read_bytes()
    assert (folder / "run.csv.meta.json").read_bytes() == (folder / "s.csv.meta.json").read_bytes()
    assert ran.out == f"{scored.out}\nComparison by system\n\n{compared.out}"


def test_the_primary_metric_comes_first_and_is_corrected_by_itself(folder: Path, medassay: Callable) -> None:
    """Two systems: one pair, so that no p-value changes, whatever other metrics are compared."""
    base = "cases: demo-out/notes.csv\nmetrics: [rouge1, rougeL, chrf]\nout: s.csv\ncomparisons:\n- {resamples: 199"
    ran = medassay("run", write(folder, base + ", primary: chrf}"))
    assert ran.code == 0, ran.err
    rows = [line for line in ran.out.splitlines() if re.match(r"(?:chrf|rouge)\S* .*alder − birch", line)]
    assert [row.split()[0] for row in rows] == ["chrf", "rouge1", "rougeL"]
    for row in rows:
        p, corrected = [float(cell) for cell in re.findall(r" (0\.\d{4})\b", row.partition("]")[2])][:2]
        assert p == corrected


def test_a_metric_that_always_fails_is_left_out(
    folder: Path, medassay: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "broken_metric.py").write_text("def score(candidate, reference):\n    raise ValueError('no')\n")
    monkeypatch.syspath_prepend(str(folder))
    study = write(
        folder,
        "cases: demo-out/notes.csv\nmetrics: [rouge1, 'py:broken_metric:score']\nout: s.csv\nworkers: 0\n"
        "comparisons: [{resamples: 100}]\n",
    )
    ran = medassay("run", study)
    assert ran.code == 2
    assert "comparisons[1]: 'py:broken_metric:score' is left out: the metric failed on every row" in ran.err
    assert "Comparison by system" in ran.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metrics: rouge1", "the key 'cases' is missing; add 'cases: FILE'"),
        ("- a", "begins with 'cases: FILE'"),
        ("cases: [", "not readable as YAML"),
        ("cases: demo-out/notes.csv\nmetric: rouge1", "metric is not a key of a run file; did you mean 'metrics'?"),
        ("cases: demo-out/notes.csv\nmetrics: rogue1", "rouge1"),
        ("cases: demo-out/notes.csv\nmetrics: [1]", "metrics: must be a list of texts, or one text, not [1]"),
        ("cases: demo-out/notes.csv\nseed: true", "seed: must be a whole number, 0 or more, not True"),
        ("cases: demo-out/notes.csv\nresamples: -1", "resamples: must be a whole number"),
        ("cases: demo-out/notes.csv\nstrict: 1", "strict: must be true or false, not 1"),
        ("cases: demo-out/notes.csv\ncase_timeout: .inf", "case_timeout: must be a number above 0"),
        ("cases: demo-out/notes.csv\ncolumns: {candidate: 3}", "columns: must be pairs of names"),
        ("cases: demo-out/notes.csv\nreferences: worst", "references: must be best or mean, not 'worst'"),
        ("cases: absent.csv\nmetrics: rouge1", "absent.csv"),
        ("cases: demo-out/notes.csv\nmetrics: rouge1\nby: topi", "did you mean 'topic'?"),
        ("cases: demo-out/notes.csv\nmetrics: rouge1\nout: demo-out/notes.csv", "is the input itself"),
        ("cases: demo-out/notes.csv\nmetrics: rouge1\nout: a.csv\nreport: a.csv", "cannot be one file"),
        ("cases: demo-out/notes.csv\ncomparisons: [{}]", "add 'out: scores.csv'"),
        ("cases: demo-out/notes.csv\nout: s.csv\ncomparisons: {by: system}", "comparisons: must be a list"),
        ("cases: demo-out/notes.csv\nout: s.csv\ncomparisons: [system]", "comparisons[1]: is not a list of keys"),
    ],
)
def test_refused_before_anything_is_scored(folder: Path, medassay: Callable, text: str, message: str) -> None:
    before = sorted(folder.rglob("*"))
    study = write(folder, text)
    ran = medassay("run", study)
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1 or "YAML" in ran.err
    assert sorted(folder.rglob("*")) == sorted([*before, study])


@pytest.mark.parametrize(
    ("comparison", "message"),
    [
        ("{primary: rogue1}", "comparisons[1].primary: 'rogue1' is not computed by this run; did you mean 'rouge1'?"),
        ("{metrics: [bleu]}", "comparisons[1].metrics: 'bleu' is not computed"),
        ("{by: sytem}", "has a value in column 'sytem'; did you mean 'system'?"),
        ("{by: kind}", "all cases of"),
        ("{item: nr}", "comparisons[1].item: no case"),
        ("{resamples: 0}", "comparisons[1].resamples: must be a whole number, 1 or more"),
        ("{family: rouge1+rogueL}", "comparisons[1].family: 'rogueL' is not computed by this run"),
        ("{out: c.pdf}", "comparisons[1].out: a comparison is written as .txt, .md, .tex, .csv, .html, not 'c.pdf'"),
        ("{bye: system}", "comparisons[1].bye is not a key"),
        ("{out: study.yaml.txt}, {out: study.yaml.txt}", "cannot be one file"),
    ],
)
def test_a_comparison_that_cannot_be_meant(folder: Path, medassay: Callable, comparison: str, message: str) -> None:
    study = write(folder, f"cases: demo-out/notes.csv\nmetrics: rouge1\nout: s.csv\ncomparisons: [{comparison}]")
    ran = medassay("run", study)
    assert (ran.code, (folder / "s.csv").exists()) == (2, False)
    assert message in ran.err


def test_a_file_that_is_no_run_file(folder: Path, medassay: Callable) -> None:
    assert "docs/run.md" in medassay("run", folder / "absent.yaml").err
    assert "ends in .yaml, .yml or .toml" in medassay("run", write(folder, "", "study.json")).err
    assert "not readable as TOML" in medassay("run", write(folder, "a b", "study.toml")).err


def test_yaml_without_its_extra(folder: Path, medassay: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    ran = medassay("run", write(folder, "cases: demo-out/notes.csv"))
    assert ran.code == 2
    assert "pip install 'medassay[serve]'" in ran.err
    ran = medassay("run", write(folder, block("toml"), "study.toml"), "--check")
    assert ran.code == 0, ran.err


def test_a_comparison_by_two_columns_in_every_format(folder: Path, medassay: Callable) -> None:
    outs = [f"c{ending}" for ending in (".txt", ".md", ".tex", ".csv", ".html")]
    study = write(
        folder,
        "cases: demo-out/notes.csv\nmetrics: [rouge1, chrf]\nout: s.csv\ncomparisons:\n"
        f"- {{by: [system, kind], family: all, resamples: 19, out: [{', '.join(outs)}]}}\n"
        "- {by: system, resamples: 19, out: one.md}\n",
    )
    ran = medassay("run", study)
    assert ran.code == 0, ran.err
    assert "Comparison by system, kind" in ran.out and "systems: rouge1 + chrf" in ran.out
    assert all((folder / name).stat().st_size > 500 for name in outs)
    compared = medassay("compare", folder / "s.csv", "--resamples", 19, "--out", folder / "other.md")
    assert compared.code == 0 and (folder / "one.md").read_text() == (folder / "other.md").read_text()
