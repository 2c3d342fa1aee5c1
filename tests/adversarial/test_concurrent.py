"""Two runs at the same time, and runs after one that was killed: each file is of one run, whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.adversarial.commands import read_csv, write_csv

METRIC = """
import os, time

def slow(candidate, reference):
    time.sleep(float(os.environ["PAUSE"]))
    return float(len(candidate))
"""
ROWS = 600


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "waits.py").write_text(METRIC)
    for name, length in (("one.csv", 3), ("two.csv", 7)):
        write_csv(
            tmp_path / name, [["id", "candidate", "reference"], *([k, f"{k:0{length}}", "x"] for k in range(ROWS))]
        )
    return tmp_path


def start(folder: Path, cases: str, *more: str, pause: float = 0.0) -> subprocess.Popen[str]:
    arguments = ["score", cases, "--metrics", "py:waits:slow", "--resamples", "0", "--workers", "2", *more]
    return subprocess.Popen(
        [sys.executable, "-m", "medassay", *arguments],
        cwd=folder,
        env={**os.environ, "PAUSE": str(pause)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert path.exists()


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_the_second_run_says_who_holds_the_output(folder: Path, option: str) -> None:
    name = "s.csv" if option == "--out" else "s.html"
    first = start(folder, "one.csv", option, name, pause=0.01)
    try:
        wait_for(folder / f"{name}.resume")
        second = start(folder, "two.csv", option, name)
        errors = second.communicate(timeout=60)[1]
        assert second.returncode == 2
        assert f"{name}: is being written by process {first.pid} on " in errors and ", since 20" in errors
        elsewhere = start(folder, "two.csv", option, f"other-{name}")  # which is nobody else's business
        assert elsewhere.wait(60) == 0
        assert first.wait(60) == 0
    finally:
        first.kill()
        first.communicate()
    if option == "--out":
        assert [row["py:waits:slow"] for row in read_csv(folder / "s.csv")] == ["3.0"] * ROWS
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".") or "resume" in path.name]


def test_many_at_once_one_wins_and_the_others_say_so(folder: Path) -> None:
    runs = [start(folder, "one.csv" if k % 2 else "two.csv", "--out", "s.csv", pause=0.003) for k in range(4)]
    codes = {run: (run.communicate(timeout=120)[1], run.returncode) for run in runs}
    assert sorted(code for _, code in codes.values())[0] == 0
    assert all(code == 0 or "is being written by" in errors for errors, code in codes.values()), codes
    values = [row["py:waits:slow"] for row in read_csv(folder / "s.csv")]
    assert values in (["3.0"] * ROWS, ["7.0"] * ROWS)


def test_the_lock_of_a_killed_run_is_taken_over_and_its_traces_go(folder: Path) -> None:
    first = start(folder, "one.csv", "--out", "s.csv", pause=0.01)
    wait_for(folder / "s.csv.resume")
    wait_for(folder / ".s.csv.lock")
    first.send_signal(signal.SIGKILL)
    first.communicate()
    second = start(folder, "two.csv", "--out", "s.csv")
    errors = second.communicate(timeout=60)[1]
    assert second.returncode == 0, errors
    assert [row["py:waits:slow"] for row in read_csv(folder / "s.csv")] == ["7.0"] * ROWS
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == [
        *("one.csv", "s.csv", "s.csv.meta.json", "two.csv", "waits.py"),
    ]


def test_a_shared_store_serves_runs_side_by_side(folder: Path) -> None:
    runs = [start(folder, "one.csv", "--store", "kept", "--out", f"{k}.csv", pause=0.001) for k in range(3)]
    assert [run.communicate(timeout=120)[1] and run.returncode for run in runs] == [0, 0, 0]
    contents = {(folder / f"{k}.csv").read_bytes() for k in range(3)}
    assert len(contents) == 1
