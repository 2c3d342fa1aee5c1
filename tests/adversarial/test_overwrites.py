"""No command writes over what it reads, nor two outputs into one file: refused before anything runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.adversarial.commands import COMMANDS, state, write_inputs

from medassay.metrics.policy import Policy

READ = [(name, option) for name, (_, options) in COMMANDS.items() for option in options]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_inputs(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("how", ["itself", "link", "hard link"])
@pytest.mark.parametrize(("name", "option"), READ)
def test_an_output_that_is_the_input(folder: Path, medassay: Callable, name: str, option: str, how: str) -> None:
    arguments, options = COMMANDS[name]
    source = next(folder / word for word in arguments if word in ("cases.csv", "scores.csv"))
    output = source if how == "itself" else folder / f"other{Path(options[option]).suffix}"
    if how == "link":
        output.symlink_to(source.name)
    elif how == "hard link":
        os.link(source, output)
    needed = ["--out", "policy.json"] if name == "calibrate" and option != "--out" else []
    before = state(folder)
    ran = medassay(*arguments, *needed, option, output)
    assert ran.code == 2 and "is the input itself" in ran.err, ran.err
    assert str(output) in ran.err and source.name in ran.err
    assert state(folder) == before


SCORE = ["score", "cases.csv", "--metrics", "rouge1"]
REFUSED = {
    "evidence over the cases": ["trust", "cases.csv", "--evidence", "cases.csv"],
    "a baseline over its cases": ["baseline", "lead3", "cases.csv", "--out", "cases.csv"],
    "perturbed cases over the cases": ["perturb", "cases.csv", "--out", "."],
    "the store is the output": [*SCORE, "--store", "x.csv", "--out", "x.csv"],
    "the store is the input": [*SCORE, "--store", "cases.csv"],
    "a journal of the store is the report": [*SCORE, "--store", "x", "--report", "x-wal"],
    "two outputs": [*SCORE, "--report", "f.json", "--save-distribution", "f.json"],
    "the report is the resume file": [*SCORE, "--out", "q.csv", "--report", "q.csv.resume"],
    "the report is the meta file": [*SCORE, "--out", "q.csv", "--report", "q.csv.meta.json"],
    "the input would be the resume file": [
        *("score", "q.csv.resume", "--format", "csv", "--metrics", "rouge1", "--out", "q.csv")
    ],
    "the input would be the meta file": [
        *("score", "q.csv.meta.json", "--format", "csv", "--metrics", "rouge1", "--out", "q.csv")
    ],
    "a distribution that is read": [
        *("score", "cases.csv", "--metrics", "z(rouge1,bleu,reference=d.json)", "--save-distribution", "d.json")
    ],
    "the code of a metric": ["score", "cases.csv", "--metrics", "py:mine:length", "--report", "mine.py"],
    "the policy": ["trust", "cases.csv", "--policy", "p.json", "--evidence", "p.json"],
    "the second of two inputs": [
        *("trust-study", "benchmark", "other.csv", "scores.csv", "--out", "new.csv", "--report", "scores.csv")
    ],
    "the meta file of an input": [
        *("trust-study", "ablation", "scores.csv", "--human", "people", "--report", "scores.csv.meta.json")
    ],
    "the tokenizer of the base": ["train", "ner", "--data", "cases.csv", "--base", "base", "--out", "base"],
    "the data": ["train", "ner", "--data", "base/training.json", "--base", "other", "--out", "base"],
    "a folder of case files": ["score", ".", "--metrics", "rouge1", "--out", "new.csv"],
    "a distribution among case files": ["score", ".", "--metrics", "rouge1", "--save-distribution", "new.json"],
    "the extract": ["annotate", "inception-write", "docs/TypeSystem.xml", "docs"],
    "the cases of a study as its database": [
        *("annotate", "new", "study.yaml", "--cases", "cases.csv", "--annotators", "a,b", "--database", "cases.csv")
    ],
    "counts of annotators": [
        *("annotate", "agreement", "cases.csv", "--protocol", "fact-counting", "--out", "cases.csv")
    ],
    "an image": ["trust", "pictures", "--evidence", "pictures/a.png"],
    "a report beside an image": ["trust", "pictures", "--evidence", "pictures/a.txt"],
    "an image of --images": ["trust", "cases.csv", "--images", "pictures", "--report", "pictures/a.png"],
    "perturbed images among images": ["perturb", "pictures", "--out", "pictures/new"],
}


@pytest.mark.parametrize("case", REFUSED)
def test_each_is_refused_and_nothing_is_touched(folder: Path, medassay: Callable, case: str) -> None:
    for name in ("q.csv.resume", "q.csv.meta.json", "other.csv", "scores.csv.meta.json", "docs/TypeSystem.xml"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(folder / ("extract.jsonl" if "docs" in name else "scores.csv"), folder / name)
    stored = {"signature": "", "n": 2, "mean": 0.5, "sd": 0.1}
    (folder / "d.json").write_text(json.dumps({"distributions": {"rouge1": stored, "bleu": stored}}))
    (folder / "p.json").write_text(Policy().to_json())
    (folder / "mine.py").write_text("def length(candidate, reference):\n    return len(candidate)\n")
    for name in ("base/tokenizer.json", "base/training.json", "base/config.json", "pictures/a.png", "pictures/a.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("mine")
    before = state(folder)
    ran = medassay(*REFUSED[case])
    assert ran.code == 2, ran.err
    assert "Traceback" not in ran.err
    refusals = ("is the input itself", "cannot be one file", "is read from", "would be read as")
    assert any(words in ran.err for words in refusals), ran.err
    assert state(folder) == before


def test_standard_input_counts(folder: Path) -> None:
    before = state(folder)
    arguments = [sys.executable, "-m", "medassay", "score", "-", "--metrics", "rouge1", "--out", "cases.csv"]
    with (folder / "cases.csv").open() as stream:
        ran = subprocess.run(arguments, stdin=stream, capture_output=True, text=True, cwd=folder)
    assert ran.returncode == 2 and "is the input itself, standard input" in ran.stderr
    assert state(folder) == before
