"""What a benchmark reports, and how it is printed."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_NAMED = (
    "medassay",
    "numpy",
    "onnxruntime",
    "rapidfuzz",
    "rouge-score",
    "sacrebleu",
    "nltk",
    "bert-score",
    "torchmetrics",
    "torch",
    "transformers",
    "ray",
)


@dataclass(frozen=True)
class Figure:
    """One measured figure: what, how much, what was aimed at, and whether that is reached."""

    what: str
    measured: str
    goal: str
    reached: bool | None = None


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@dataclass(frozen=True)
class Process:
    """What a finished command took: wall-clock and CPU seconds, and peak memory in MB."""

    wall: float
    cpu: float
    peak: float


def command(arguments: Sequence[str]) -> Process:
    """Run the `medassay` command beside this Python, silently, and measure that process alone."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "medassay", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    said = process.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"medassay {' '.join(arguments)} stopped with {process.returncode}: {said.strip()}")
    return Process(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def machine() -> str:
    """The machine and the versions that a figure holds for."""
    versions = ", ".join(f"{name} {version(name)}" for name in _NAMED if _installed(name))
    return (
        f"{_processor()}, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}; "
        f"Python {platform.python_version()}, {versions}"
    )


def _installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def show(title: str, figures: Iterable[Figure]) -> None:
    """Print figures as they come."""
    print(f"\n{title}", flush=True)
    for figure in figures:
        verdict = {True: "reached", False: "MISSED", None: ""}[figure.reached]
        print(f"  {figure.what:<34} {figure.measured:<66} {figure.goal:<14} {verdict}", flush=True)
