"""The engines: start-up, overhead, two cores against one, and a long run's memory.

Speed-ups are wall-clock ratios of the same command held to one core and to two, and mean little on a busy
machine: the load is printed beside each, and so are the CPU seconds, which tell what sharing the work costs
whatever else runs. The runs with Ray are left out where it is not installed.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from benchmarks.figures import Figure, command
from benchmarks.reading import write_reports
from benchmarks.texts import pairs

SHORT_ROWS = int(os.environ.get("BENCH_ROWS", "1000000"))
_WORK = (
    ("rouge", "rouge", 20_000, 60),
    ("rouge", "rouge", 100_000, 60),
    ("bertscore", "bertscore", 1_200, 0),
    ("hare", "hare", 1_200, 0),
)


@dataclass(frozen=True)
class Took:
    """What a command took: wall and CPU seconds (its workers' too), and the most memory of all its processes, MB."""

    wall: float
    cpu: float
    peak: float
    curve: list[tuple[float, float]]


def startup() -> Iterator[Figure]:
    """Importing the package, and ten pairs from the command line, cold; the best of five."""
    took = min(_importing() for _ in range(5))
    yield Figure("import medassay", f"{took:.3f} s {_load()}", "0.15 s", took < 0.15)
    with tempfile.TemporaryDirectory() as folder:
        cases = Path(folder) / "cases.csv"
        _write_pairs(cases, 10, 60)
        best = min((command(["score", str(cases)]) for _ in range(5)), key=lambda one: one.wall)
        yield Figure(
            "score, 10 pairs, default metrics",
            f"{best.wall:.2f} s, CPU {best.cpu:.2f} s {_load()}",
            "3 s",
            best.wall < 3,
        )
        here, there = (
            min(command(["score", str(cases), "--workers", workers]).wall for _ in range(5)) for workers in ("0", "2")
        )
    yield Figure("what workers add to 10 pairs", f"{there - here:.3f} s {_load()}", "0.2 s", there - here < 0.2)


def local() -> Iterator[Figure]:
    """One core against two."""
    for what, metrics, number, words in _WORK:
        with tempfile.TemporaryDirectory() as folder:
            cases = Path(folder) / "cases.csv"
            write_reports(cases, number) if not words else _write_pairs(cases, number, words)
            arguments = ["score", str(cases), "--metrics", metrics, "--resamples", "0"]
            arguments += ["--out", str(Path(folder) / "out.csv")]
            one = measured([*arguments, "--workers", "1"], 1)
            two = measured([*arguments, "--workers", "2"], 2)
        ratio = one.wall / two.wall
        yield Figure(
            f"{what}, {number:,} pairs",
            f"{one.wall:.1f} s, two cores {two.wall:.1f} s: {ratio:.2f}×; CPU {one.cpu:.1f} and {two.cpu:.1f} s, "
            f"{two.peak:,.0f} MB {_load()}",
            "1.8×",
            ratio >= 1.8,
        )


def on_ray() -> Iterator[Figure]:
    """Two single-core workers against one, and the memory of a long run."""
    if find_spec("ray") is None:
        yield Figure("Ray", "not installed: pip install 'medassay[ray]'", "")
        return
    with tempfile.TemporaryDirectory() as folder:
        cases, out = Path(folder) / "cases.csv", Path(folder) / "out.csv"
        write_reports(cases, 1_200)
        arguments = ["score", str(cases), "--metrics", "hare", "--resamples", "0", "--out", str(out), "--engine", "ray"]
        one = measured([*arguments, "--workers", "1"], 2)
        two = measured([*arguments, "--workers", "2"], 2)
        ratio = one.wall / two.wall
        yield Figure(
            "hare, 1,200 pairs, start of Ray included",
            f"{one.wall:.1f} s, two workers {two.wall:.1f} s: {ratio:.2f}× {_load()}",
            "1.6×",
            ratio >= 1.6,
        )
        _write_pairs(cases, SHORT_ROWS, 10)
        long = measured(
            ["score", str(cases), "--metrics", "rouge1", "--resamples", "0", "--out", str(out), "--engine", "ray"], 2
        )
        with out.open("rb") as stream:
            written = sum(1 for _ in stream) - 1
    yield Figure(
        f"rouge1, {written:,} short pairs",
        f"{long.wall:,.0f} s, {long.peak:,.0f} MB at most, all of Ray included {_load()}",
        "bounded",
        written == SHORT_ROWS,
    )
    step = max(1, len(long.curve) // 12)
    for seconds, size in long.curve[::step]:
        yield Figure(f"  after {seconds:,.0f} s", f"{size:,.0f} MB", "")


def measured(arguments: Sequence[str], cores: int) -> Took:
    """Run the command beside this Python, held to so many cores, and look at all its processes while it runs."""
    allowed = sorted(os.sched_getaffinity(0))[:cores]
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "medassay", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: os.sched_setaffinity(0, allowed),
        start_new_session=True,
    )
    curve: list[tuple[float, float]] = []
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        curve.append((time.perf_counter() - began, memory(process.pid)))
        time.sleep(0.2)
    wall = time.perf_counter() - began
    assert process.stderr is not None
    said = process.stderr.read().decode(errors="replace")
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"medassay {' '.join(arguments)} stopped with {process.returncode}: {said.strip()}")
    return Took(wall, usage.ru_utime + usage.ru_stime, max((size for _, size in curve), default=0.0), curve)


def memory(leader: int) -> float:
    """Megabytes of a process, its descendants and what it started in its session; shared pages counted once."""
    total = 0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if os.getsid(int(folder.name)) != leader and not _descends(int(folder.name), leader):
                continue
            lines = (folder / "smaps_rollup").read_text().splitlines()
            total += next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
        except (OSError, ValueError):
            continue
    return total / 1024


def _descends(pid: int, leader: int) -> bool:
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        if pid == leader:
            return True
    return False


def _importing() -> float:
    code = "import time; a = time.perf_counter(); import medassay; print(time.perf_counter() - a)"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def _write_pairs(path: Path, number: int, words: int) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "candidate", "reference"])
        for k, block in enumerate(range(0, number, 50_000)):
            made = pairs(min(50_000, number - block), words, seed=k)
            writer.writerows([block + i, *pair] for i, pair in enumerate(made))


def _load() -> str:
    return f"(load {os.getloadavg()[0]:.1f})"
