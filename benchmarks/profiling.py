"""`make profile`: where each metric spends its time, by room of this package and by library.

`python -m benchmarks.profiling [METRIC …] [--top N]`: every metric that needs no image runs on the same made
reports, models warm; times are CPU seconds of the main thread under cProfile, so Python code weighs somewhat more
than it does in a plain run. The report page and the scores file are profiled after the metrics.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import medassay
from benchmarks.growth import _cases
from medassay.cases import Case
from medassay.errors import MedassayError
from medassay.metrics.registry import BUILT_IN, load_metric

PAIRS = 15
WORDS = 110
_HOME = str(Path(medassay.__file__).parent) + os.sep
_LIBRARIES = ("onnxruntime", "tokenizers", "rapidfuzz", "nupunkt", "sacrebleu", "numpy", "json", "re", "arro3", "rich")
_BUILT_IN = {
    "onnxruntime": ("onnxruntime",),
    "tokenizers": ("tokenizers",),
    "rapidfuzz": ("rapidfuzz",),
    "re": ("re.Pattern", "re.Match", "_sre"),
    "json": ("_json", "json"),
    "numpy": ("numpy", "ndarray", "ufunc"),
}


def main(arguments: list[str]) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="benchmarks.profiling", description=__doc__)
    parser.add_argument("metrics", nargs="*")
    parser.add_argument("--top", type=int, default=4, help="functions shown for each metric")
    given = parser.parse_args(arguments)
    texts = _cases(PAIRS, WORDS, systems=2)
    cases = [Case(c.id, c.candidate, c.references, source=c.references[0], system=c.system) for c in texts]
    print(f"{len(cases)} cases of about {WORDS} words; seconds in each room or library\n")
    for name in given.metrics or list(BUILT_IN):
        try:
            metric = load_metric(name)
            metric.score(cases[:2])
        except (MedassayError, TypeError) as error:
            print(f"{name}: not profiled ({str(error).splitlines()[0]})\n")
            continue
        show(name, profiled(lambda: metric.score(cases[2:])), given.top)  # noqa: B023
    if not given.metrics:
        _outputs(cases, given.top)
    return 0


def _outputs(cases: list[Case], top: int) -> None:
    metrics = "hare,rouge,bertscore"
    result = medassay.score([c.candidate for c in cases], [c.references[0] for c in cases], metrics=metrics)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        show(f"report page of {metrics}", profiled(lambda: result.report(page)), top)


def profiled(work: Callable[[], object]) -> pstats.Stats:
    """The profile of one call, by CPU seconds."""
    profile = cProfile.Profile(time.process_time)
    profile.runcall(work)
    return pstats.Stats(profile)


def show(name: str, stats: pstats.Stats, top: int) -> None:
    """One block: the shares by room, then the dearest functions by their own time."""
    table: dict[tuple[str, int, str], Any] = stats.stats  # type: ignore[attr-defined]
    rooms: Counter[str] = Counter()
    for (file, _, function), row in table.items():
        rooms[room_of(file, function)] += row[2]
    total = sum(rooms.values())
    shares = ", ".join(f"{room} {took / total:.0%}" for room, took in rooms.most_common() if took / total >= 0.02)
    print(f"{name}: {total:.2f} s; {shares}")
    dearest = sorted(table.items(), key=lambda item: -item[1][2])[:top]
    for (file, line, function), row in dearest:
        place = file.replace(_HOME, "") if file.startswith(_HOME) else Path(file).name
        print(f"    {row[2]:7.3f} s  {row[0]:>9,} calls  {place}:{line} {function}")
    print(flush=True)


def room_of(file: str, function: str) -> str:
    """The room of this package, or the library, that a function belongs to.

    >>> room_of("~", "<method 'sub' of 're.Pattern' objects>")
    're'
    """
    if file.startswith(_HOME):
        return Path(file.removeprefix(_HOME)).parts[0].removesuffix(".py")
    if file == "~" or file.startswith("<"):
        return next((name for name, marks in _BUILT_IN.items() if any(m in function for m in marks)), "builtins")
    parts = Path(file).parts
    return next((name for name in _LIBRARIES if name in parts), "other")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
