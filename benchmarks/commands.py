"""The command line as a process: start-up time, and memory on a million rows."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, command
from benchmarks.texts import pairs

ROWS = 1_000_000
WORDS = 10


def startup() -> Iterator[Figure]:
    """CPU seconds of `medassay --help`, the best of five."""
    cpu = min(command(["--help"]).cpu for _ in range(5))
    yield Figure("medassay --help", f"{cpu:.3f} s of CPU", "0.3 s", cpu < 0.3)


def memory() -> Iterator[Figure]:
    """Peak memory of `medassay score` with ROUGE on a million short pairs, results written to a file."""
    with tempfile.TemporaryDirectory() as folder:
        cases = Path(folder) / "cases.csv"
        with cases.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["id", "candidate", "reference"])
            for k, block in enumerate(range(0, ROWS, 50_000)):
                made = pairs(min(50_000, ROWS - block), WORDS, seed=k)
                writer.writerows([block + i, *pair] for i, pair in enumerate(made))
        out = Path(folder) / "scores.csv"
        took = command(["score", str(cases), "--metrics", "rouge", "--out", str(out)])
        with out.open("rb") as stream:
            written = sum(1 for _ in stream) - 1
    yield Figure(
        f"score {written:,} pairs with ROUGE",
        f"{took.peak:,.0f} MB at its peak, {took.wall:,.0f} s ({1e6 * took.wall / written:.0f} µs per pair)",
        "1,000 MB",
        took.peak < 1000 and written == ROWS,
    )
