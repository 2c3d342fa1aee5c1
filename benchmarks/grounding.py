"""Grounding of a slide of 100,000 × 100,000 pixels: time, memory, and the share of time outside the image model.

The slide is the one of `benchmarks.slides`. Every patch of tissue goes through the embedded image model.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.slides import SIDE, _base, write_large
from medassay.cases import Case
from medassay.metrics.grounding import Grounding
from medassay.models.base import Pictures

REPORT = "Colon, biopsy: adenocarcinoma. Inflammation and necrosis are present. No granuloma."
BUDGET = 512


def run() -> Iterator[Figure]:
    """The whole slide, and the default budget of patches."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.tiff"
        write_large(_base(), path)
        for budget in (None, BUDGET):
            yield from _figures(path, budget)


def _figures(path: Path, budget: int | None) -> Iterator[Figure]:
    command = [sys.executable, "-m", "benchmarks.grounding", str(path), str(budget or 0)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    what = f"{SIDE:,} × {SIDE:,} pixels, {found['patches']:,} patches"
    each = 1000 * found["seconds"] / found["patches"]
    yield Figure(f"ground a report on {what}", f"{found['seconds']:.0f} s ({each:.1f} ms per patch)", "")
    yield Figure("time not in the image model", f"{found['share']:.1%}", "")
    yield Figure("peak memory", f"{found['peak']:,.0f} MB", "2,000 MB", found["peak"] < 2000)


class Timed:
    """An image model that keeps the time spent in it."""

    def __init__(self, model: Any) -> None:
        self.model, self.seconds = model, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def read_images(self, images: Sequence[Any]) -> Pictures:
        begun = time.perf_counter()
        pictures: Pictures = self.model.read_images(images)
        self.seconds += time.perf_counter() - begun
        return pictures


def measure(path: str, budget: int | None) -> dict[str, float]:
    """Score one report on one slide."""
    metric = Grounding(budget=budget)
    timed = Timed(metric.model)
    metric.model = timed
    metric.model.bank()
    start = time.perf_counter()
    (score,) = metric.score([Case(id="1", candidate=REPORT, image=path)])
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "share": 1 - timed.seconds / seconds,
        "patches": score.evidence["patches"],
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]) or None)))
