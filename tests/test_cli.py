"""The command line as a whole: help, versions, pipes, how it ends."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from medassay.examples import example


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


COMMANDS = {
    "score": [],
    "check": [],
    "extract": [],
    "compare": [],
    "validate": [],
    "run": [],
    "bench": [],
    "stress": [],
    "annotate": ["new", "serve", "links", "agreement", "export", "check"],
    "baseline": ["lead3"],
    "trust": [],
    "perturb": [],
    "trust-study": ["calibrate", "sensitivity", "repeat", "ablation", "benchmark", "gap"],
    "train": [],
    "models": ["list", "check", "fetch"],
    "metrics": [],
    "serve-scores": [],
    "demo": [],
}


def test_help_names_every_command(medassay: Callable) -> None:
    ran = medassay("--help")
    assert ran.code == 0
    assert "Usage: medassay" in ran.out
    assert "not\n  for clinical decisions" in ran.out or "not for clinical decisions" in ran.out
    listed = [line.split()[0] for line in ran.out.partition("Commands:")[2].splitlines() if line.strip()]
    assert sorted(listed) == sorted(COMMANDS)


@pytest.mark.parametrize(
    "words", [words for name, inner in COMMANDS.items() for words in ([name], *([name, one] for one in inner))]
)
def test_help_of_each_command(medassay: Callable, words: list[str]) -> None:
    ran = medassay(*words, "--help")
    assert ran.code == 0
    assert f"Usage: medassay {' '.join(words)}" in ran.out


def test_from_a_baseline_to_a_study(tmp_path: Path, medassay: Callable) -> None:
    texts, study = tmp_path / "texts.csv", tmp_path / "study.yaml"
    assert medassay("baseline", "lead3", example("notes.csv"), "--keep", "--out", texts).code == 0
    assert {row["system"] for row in table(texts)} == {"alder", "birch", "lead3"}
    ran = medassay("annotate", "new", study, "--cases", texts, "--annotators", "anna,ben")
    assert ran.code == 0, ran.err
    assert "36 cases, 108 texts" in ran.out
    ran = medassay("annotate", "export", study, "--out", tmp_path / "human.csv")
    assert (ran.code, ran.err) == (2, f"medassay: {study}: no task is finished yet\n")


def test_no_or_unknown_command(medassay: Callable) -> None:
    ran = medassay()
    assert ran.code == 2
    assert "Usage" in ran.out + ran.err
    ran = medassay("scroe")
    assert ran.code == 2
    assert "scroe" in ran.err


def test_version(medassay: Callable) -> None:
    import medassay as package

    ran = medassay("--version")
    assert (ran.code, ran.out) == (0, f"medassay {package.__version__}\n")


def test_a_reader_that_goes_away_is_no_problem(tmp_path: Path) -> None:
    score = [sys.executable, "-m", "medassay", "score", str(example("notes.csv")), "--metrics", "rouge1"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(score, stdout=writing, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_output_that_cannot_be_written_is_an_error() -> None:
    score = [sys.executable, "-m", "medassay", "score", str(example("notes.csv")), "--metrics", "rouge1"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(score, stdout=full, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 2
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


def test_verbose_says_what_is_done(medassay: Callable) -> None:
    command = ("score", example("notes.csv"), "--metrics", "rouge1", "--resamples", 0)
    quiet = medassay(*command)
    for arguments in ((*command, "--verbose"), ("--verbose", *command)):
        ran = medassay(*arguments)
        assert (ran.code, ran.out) == (0, quiet.out)
        for words in ("metric rouge1", "engine local", "scored; rows with problems: 0"):
            assert words in ran.err
    assert quiet.err == ""


def test_verbose_of_other_commands(medassay: Callable, tmp_path: Path) -> None:
    scores = tmp_path / "scores.csv"
    assert medassay("score", example("notes.csv"), "--metrics", "rouge1", "--resamples", 0, "--out", scores).code == 0
    ran = medassay("compare", scores, "--resamples", 19, "--verbose")
    assert f"read {scores}: 72 rows, metrics rouge1" in ran.err and "made by rouge1|" in ran.err
    ran = medassay("stress", example("notes.csv"), "--metrics", "rouge1", "--limit", 1, "--resamples", 0, "--verbose")
    assert "metric rouge1|" in ran.err and re.search(r"scoring \d+ texts", ran.err)


def test_verbose_shows_where_an_error_arose(medassay: Callable) -> None:
    ran = medassay("score", "absent.csv", "--verbose")
    assert ran.code == 2
    assert "Traceback" in ran.err
    assert ran.err.splitlines()[-1].startswith("medassay: absent.csv")
    assert "Traceback" not in medassay("score", "absent.csv").err


@pytest.mark.parametrize(
    ("words", "expected"),
    [("medassay sc", "score"), ("medassay score --rep", "--report"), ("medassay annotate agr", "agreement")]
    + [("medassay score --metrics hare,rougeLs", "hare,rougeLsum"), ("medassay metrics har", "hare")],
)
def test_completion(words: str, expected: str) -> None:
    count = len(words.split()) - 1
    asked = {"_MEDASSAY_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    done = subprocess.run(
        [sys.executable, "-m", "medassay"], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [expected]


def test_the_completion_script(medassay: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")  # the shell is named, not looked for
    ran = medassay("--show-completion", "bash")
    assert (ran.code, ran.err) == (0, "")
    assert "_MEDASSAY_COMPLETE=complete_bash" in ran.out
