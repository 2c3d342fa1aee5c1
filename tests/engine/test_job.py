"""A whole run from the command line: killed, interrupted, continued."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROWS = 2400
MIDWAY = 1300
SLOW = """
import os, time

def slow(candidate, reference):
    with open(os.environ["CALLS"], "a") as calls:
        calls.write(candidate + "\\n")
    time.sleep(float(os.environ.get("PAUSE", "0")))
    return len(candidate) / (1 + len(reference)) + {offset}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slow_metric.py").write_text(SLOW.format(offset=0))
    lines = [f"c{i},candidate number {i} of many,reference {'x' * (i % 7)},{i % 3}" for i in range(ROWS)]
    (tmp_path / "cases.csv").write_text("\n".join(["id,candidate,reference,ward", *lines]) + "\n")
    return tmp_path


def command(folder: Path, out: str, *more: str, calls: str = "calls", pause: float = 0) -> subprocess.Popen[str]:
    arguments = ["score", "cases.csv", "--metrics", "py:slow_metric:slow", "--out", out, "--resamples", "50", *more]
    return subprocess.Popen(
        [sys.executable, "-m", "medassay", *arguments],
        cwd=folder,
        env={**os.environ, "CALLS": str(folder / calls), "PAUSE": str(pause)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=120)
    return process.returncode, errors


def called(folder: Path, calls: str = "calls") -> list[str]:
    path = folder / calls
    return path.read_text().splitlines() if path.exists() else []


def stop_midway(folder: Path, process: subprocess.Popen[str], how: signal.Signals) -> None:
    """Wait until a good part is done, then send the signal."""
    deadline = time.monotonic() + 60
    while len(called(folder)) < MIDWAY and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.poll() is None, "the run ended before it could be stopped"
    process.send_signal(how)
    process.wait(timeout=60)
    assert MIDWAY <= len(called(folder)) < ROWS


@pytest.mark.parametrize(
    ("how", "suffix", "workers"),
    [
        (signal.SIGKILL, "csv", 0),
        (signal.SIGKILL, "parquet", 2),
        (signal.SIGINT, "csv", 0),
        (signal.SIGINT, "csv", 2),
    ],
)
def test_a_stopped_run_continues_and_ends_in_the_same_bytes(
    folder: Path, how: signal.Signals, suffix: str, workers: int
) -> None:
    assert finish(command(folder, f"whole.{suffix}", "--workers", "0", calls="whole-calls"))[0] == 0
    assert len(called(folder, "whole-calls")) == ROWS

    process = command(folder, f"out.{suffix}", "--workers", str(workers), pause=0.001)
    stop_midway(folder, process, how)
    assert not (folder / f"out.{suffix}").exists()
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert process.stderr is not None
        assert "the same command continues where it stopped" in process.stderr.read()

    code, errors = finish(command(folder, f"out.{suffix}"))
    assert code == 0, errors
    # What was kept is not done again: at most the slices in flight are lost, one being measured and one measured
    # by each worker.
    assert len(called(folder)) <= ROWS + 64 * max(1, 2 * workers)
    assert set(called(folder)) == set(called(folder, "whole-calls"))
    for name in ("{}", "{}.meta.json"):
        whole, resumed = (folder / name.format(f"{stem}.{suffix}") for stem in ("whole", "out"))
        assert whole.read_bytes() == resumed.read_bytes()
    assert not list(folder.glob("*.resume*")) + list(folder.glob("*.partial*"))


def test_an_edited_metric_never_reuses_old_results(folder: Path) -> None:
    stop_midway(folder, command(folder, "out.csv", pause=0.001), signal.SIGKILL)
    (folder / "slow_metric.py").write_text(SLOW.format(offset=100))
    assert finish(command(folder, "out.csv", calls="new-calls"))[0] == 0
    assert len(called(folder, "new-calls")) == ROWS
    values = [float(line.split(",")[-3]) for line in (folder / "out.csv").read_text().splitlines()[1:]]
    assert min(values) > 100


def test_a_lasting_store_serves_later_runs(folder: Path) -> None:
    assert finish(command(folder, "one.csv", "--store", "kept"))[0] == 0
    assert finish(command(folder, "two.jsonl", "--store", "kept"))[0] == 0
    assert len(called(folder)) == ROWS
    assert (folder / "kept").exists()


def test_no_store_keeps_nothing(folder: Path) -> None:
    stop_midway(folder, command(folder, "out.csv", "--no-store", pause=0.001), signal.SIGKILL)
    assert not list(folder.glob("*.resume*"))


LIMITED = """
import resource, runpy, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
sys.argv = ["medassay", *sys.argv[1:]]
runpy.run_module("medassay", run_name="__main__")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on file sizes here")
def test_a_full_disk_is_told_and_the_run_continues_once_there_is_room(folder: Path) -> None:
    arguments = ["score", "cases.csv", "--metrics", "py:slow_metric:slow", "--resamples", "50", "--workers", "2"]
    settings = {"cwd": folder, "env": {**os.environ, "CALLS": str(folder / "calls")}, "text": True}
    full = subprocess.run(
        [sys.executable, "-c", LIMITED, *arguments, "--out", "out.csv"], capture_output=True, **settings
    )
    assert full.returncode == 2
    assert "is the disk full" in full.stderr and "Traceback" not in full.stderr
    assert not (folder / "out.csv").exists()
    done = len(called(folder))
    assert finish(command(folder, "out.csv"))[0] == 0
    assert finish(command(folder, "whole.csv", "--workers", "0", calls="whole-calls"))[0] == 0
    assert (folder / "out.csv").read_bytes() == (folder / "whole.csv").read_bytes()
    assert len(called(folder)) < ROWS + done


def test_a_row_that_kills_is_reported_and_the_rest_is_done(folder: Path) -> None:
    (folder / "slow_metric.py").write_text(
        "import os\ndef slow(candidate, reference):\n    return os._exit(3) if ' 70 ' in candidate else 1.0\n"
    )
    code, said = finish(command(folder, "out.csv"))
    assert code == 1
    assert "cases.csv, row 72: metric 'py:slow_metric:slow': the worker process died while scoring this case" in said
    lines = (folder / "out.csv").read_text().splitlines()[1:]
    assert len(lines) == ROWS
    assert [line.split(",")[0] for line in lines if not line.endswith(",1.0,,")] == ["c70"]
