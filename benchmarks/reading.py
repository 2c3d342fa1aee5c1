"""Reading reports with the embedded set: HARE on 600 pairs as a process, its memory, and the first score.

The texts are the bundled pathology examples, recombined into reports of the length of HARE's (about 110
words): 150 references with four candidates each, as in HARE's set, no two texts alike.
"""

from __future__ import annotations

import csv
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import medassay.examples
from benchmarks.figures import Figure, command
from medassay.cases import read_cases

PAIRS = 600
SYSTEMS = 4
WORDS = 110


def run() -> Iterator[Figure]:
    """Wall-clock seconds of `medassay score --metrics hare`, load included, and its peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "one.csv", Path(folder) / "pairs.csv"
        write_reports(small, 1)
        write_reports(large, PAIRS)
        first = command(["score", str(small), "--metrics", "hare", "--no-store"])
        yield Figure("one pair, cold", f"{first.wall:.1f} s", "3 s", first.wall < 3)
        took = command(["score", str(large), "--metrics", "hare", "--no-store"])
    yield Figure(f"HARE clinical, {PAIRS} pairs", f"{took.wall:.1f} s, load included", "60 s", took.wall < 60)
    yield Figure("peak memory", f"{took.peak:,.0f} MB", "1,200 MB", took.peak < 1200)


def write_reports(path: Path, number: int) -> None:
    rows = [
        row.case
        for row in read_cases(Path(medassay.examples.__file__).with_name("pathology.csv"))
        if row.case is not None
    ]
    sentences = [s for case in rows for s in f"{case.reference} {case.candidate}".split(". ") if s.strip()]
    chooser = random.Random(1)

    def text() -> str:
        made: list[str] = []
        while sum(len(s.split()) for s in made) < WORDS:
            made.append(chooser.choice(sentences).strip(" ."))
        return ". ".join(made) + "."

    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "candidate", "reference"])
        for i in range(number):
            if i % SYSTEMS == 0:
                reference = text()
            writer.writerow([i, text(), reference])
