"""Failed is not unscored: named by row, told by the exit code, never kept; the other metrics' results are written."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

METRICS = """
import os, sys, time

def one(candidate):
    return 1 / (candidate != "bad")

def every(candidate):
    raise LookupError("never <b>works</b>")

def nan(candidate):
    return float("nan") if candidate == "bad" else 1.0

def none(candidate):
    return None if candidate == "bad" else 1.0

def lost(cases):
    return [1.0 for case in cases if case.candidate != "bad"]

def leaves(candidate):
    return sys.exit(0) if candidate == "bad" else 1.0

def dies(candidate):
    return os._exit(0) if candidate == "bad" else 1.0

def hangs(candidate):
    open("begun", "w").close()
    time.sleep(3600)

lost.needs = {"candidate"}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(METRICS)
    (tmp_path / "cases.csv").write_text("id,candidate,reference\na,good,good\nb,bad,bad\nc,fine,fine\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "medassay", "score", "cases.csv", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **settings},
        timeout=120,
    )


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("one", "ZeroDivisionError: division by zero"),
        ("nan", "ValueError: a score must be finite, not nan"),
        ("none", "TypeError: float() argument must be a string or a real number, not 'NoneType'"),
        ("lost", "ValueError: returned 0 scores for 1 case"),
        ("leaves", "SystemExit: 0"),
        ("dies", "the worker process died while scoring this case"),
    ],
)
def test_on_one_row(folder: Path, name: str, reason: str, workers: str) -> None:
    if name == "dies" and workers == "0":
        pytest.skip("without worker processes it ends the run itself")
    metric = f"py:mine:{name}"
    ran = command("--metrics", f"{metric},rouge1", "--out", "s.csv", "--report", "r.html", "--workers", workers)
    assert ran.returncode == 1, ran.stderr
    told = f"row 3: metric '{metric}': {reason}"
    assert f"cases.csv, {told}" in ran.stderr
    assert json.loads((folder / "s.csv.meta.json").read_text())["problems"] == [told]
    assert reason.replace("'", "&#x27;") in (folder / "r.html").read_text()
    first, bad, last = rows(folder / "s.csv")
    assert (first[metric], last[metric]) == ("1.0", "1.0")
    assert (bad[metric], bad[f"{metric}.unscored"], bad[f"{metric}.failed"]) == ("", "", reason)
    assert bad["rouge1"] == "1.0" and not bad["rouge1.failed"]


@pytest.mark.parametrize("workers", ["0", "2"])
def test_on_every_row_the_metric_ends_and_the_others_are_written(folder: Path, workers: str) -> None:
    ran = command("--metrics", "py:mine:every,rouge1", "--out", "s.csv", "--report", "r.html", "--workers", workers)
    assert ran.returncode == 2
    error = "LookupError: never <b>works</b> (mine.py, line 8, in every)"
    assert f"cases.csv: metric 'py:mine:every' failed on every case: {error}" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert [row["rouge1"] for row in rows(folder / "s.csv")] == ["1.0"] * 3
    assert {row["py:mine:every.failed"] for row in rows(folder / "s.csv")} == {"LookupError: never <b>works</b>"}
    assert "<b>works" not in (folder / "r.html").read_text()


def test_rows_that_lack_a_field_say_nothing_of_whether_a_metric_has_ended(folder: Path) -> None:
    (folder / "cases.csv").write_text("id,candidate,reference\na,,good\nb,bad,bad\n")
    assert command("--metrics", "py:mine:one").returncode == 2  # all that it could have scored
    (folder / "cases.csv").write_text("id,candidate,reference\na,good,\nb,bad,bad\n")
    assert command("--metrics", "py:mine:one,rouge1").returncode == 1


def test_strict_stops_at_a_failure(folder: Path) -> None:
    ran = command("--metrics", "py:mine:one", "--out", "s.csv", "--strict")
    assert ran.returncode == 2 and "row 3: metric 'py:mine:one': ZeroDivisionError" in ran.stderr
    assert not (folder / "s.csv").exists()


def test_a_failure_is_never_kept(folder: Path) -> None:
    """The same code, which now works: nothing of the former run may be found again."""
    (folder / "mine.py").write_text(
        "import os\ndef moody(candidate):\n    return 1 / (candidate != 'bad' or 'CURED' in os.environ)\n"
    )
    arguments = ("--metrics", "py:mine:moody", "--store", "kept", "--out", "s.csv")
    assert command(*arguments).returncode == 1
    assert command(*arguments, CURED="yes").returncode == 0
    assert [row["py:mine:moody"] for row in rows(folder / "s.csv")] == ["1.0"] * 3


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_metric_that_hangs_ends_with_control_c(folder: Path, workers: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "medassay", "score", "cases.csv", "--metrics", "py:mine:hangs", "--workers", workers],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not (folder / "begun").exists():
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 130 and "interrupted" in said


def test_a_survey_that_raises_ends_its_metric_alone(folder: Path, medassay: Callable) -> None:
    (folder / "cases.csv").write_text("id,candidate,reference\na,good,same\nb,bad,same\n")
    ran = medassay("score", "cases.csv", "--metrics", "bertscore(baseline=set),rouge1", "--out", "s.csv")
    assert ran.code == 2
    assert "baseline=set needs cases with at least two different references" in ran.err
    assert [row["rouge1"] for row in rows(folder / "s.csv")] == ["0.0", "0.0"]
