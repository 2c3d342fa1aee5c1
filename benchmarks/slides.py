"""Stains of a tile, and a slide of 100,000 × 100,000 pixels: time, memory, and who waits for whom.

The slide is a real BigTIFF pyramid of about 10¹⁰ pixels, tiled from one region; equal tiles are stored once, so
the file is small, but every tile is decoded when it is read. The region is `../shared/data/slides`' CMU slide
where that is there, and made tissue otherwise.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from medassay.slides import Pixels, Slide, decompose, draw_perturbation, open_image, patches
from medassay.slides.image import resize
from medassay.slides.pyramid import TILE, PyramidWriter, encode

SIDE = 100_000
MPP = 0.25
BASE = 4 * TILE
REAL = Path(__file__).parents[2] / "shared" / "data" / "slides" / "cmu_small_region.svs"
ENCODED = 150
"""Patches that go through the stand-in for an encoder."""
OPERATIONS = 9 * 0.77e9
"""Floating-point operations of EfficientNet-Lite0 (0.385 G multiply-adds) on the 9 windows of a patch."""


def run() -> Iterator[Figure]:
    """All figures of the slides room."""
    base = _base()
    yield from _stains(base)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.tiff"
        write_large(base, path)
        yield from _large(path)


def _stains(base: Pixels) -> Iterator[Figure]:
    tile = base[800:1312, 800:1312]

    def work() -> None:
        draw_perturbation(decompose(tile), 1).apply(tile)

    spent = []
    for _ in range(20):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    best = 1000 * min(spent)
    share = decompose(tile).tissue
    yield Figure(
        "perturb a 512-pixel tile", f"{best:.0f} ms of CPU, best of 20 ({share:.0%} tissue)", "30 ms", best <= 33
    )


def _large(path: Path) -> Iterator[Figure]:
    figures = json.loads(
        subprocess.run([sys.executable, "-m", "benchmarks.slides", path], check=True, capture_output=True).stdout
    )
    yield Figure(
        f"read {SIDE:,} × {SIDE:,} pixels",
        f"{figures['kept']:,} patches, {figures['seconds']:.0f} s ({figures['each']:.1f} ms each), "
        f"{figures['skipped']:,} skipped; mask {figures['mask']:.1f} s",
        "",
    )
    yield Figure("peak memory of that", f"{figures['peak']:,.0f} MB", "2,000 MB", figures["peak"] < 2000)
    yield Figure(
        "time not in the encoder",
        f"{figures['share']:.1%} over {figures['encoded']} patches, encoder stand-in {figures['encoder']:.0f} ms each",
        "",
    )


def write_large(base: Pixels, path: Path, side: int = SIDE) -> None:
    """A pyramid that repeats `base` (`BASE` pixels square) over the whole of its `side`."""
    with path.open("wb") as stream:
        writer = PyramidWriter(stream, MPP)
        scale = 1
        while side // scale > TILE:
            small = resize(base, max(1, BASE // scale), max(1, BASE // scale))
            times = max(1, TILE // len(small))
            small = np.tile(small, (times, times, 1))
            period = len(small) // TILE
            tiles = {
                (x, y): encode(small[y * TILE : (y + 1) * TILE, x * TILE : (x + 1) * TILE])
                for x in range(period)
                for y in range(period)
            }
            count = -(-(side // scale) // TILE)
            places = ((x, y) for y in range(count) for x in range(count))
            writer.add_level(side // scale, side // scale, (tiles[x % period, y % period] for x, y in places))
            scale *= 2
        writer.finish()


def _base() -> Pixels:
    if REAL.exists():
        with open_image(REAL) as slide:
            return slide.read(86, 0, BASE, BASE)
    random = np.random.default_rng(0)
    amounts = resize(random.integers(0, 256, (256, 256, 3), np.uint8), BASE, BASE)[..., :2].astype(float) / 150
    density = amounts @ np.array([[0.65, 0.70, 0.29], [0.25, 0.90, 0.36]])
    return np.asarray(np.clip(240 * np.exp(-density), 0, 255), np.uint8)


def measure(slide: Slide) -> dict[str, float]:
    """Read every patch of a slide, then some with work of an encoder's size between them."""
    start = time.perf_counter()
    plan = patches(slide)
    mask = time.perf_counter() - start
    start = time.perf_counter()
    for _ in plan:
        pass
    seconds = time.perf_counter() - start
    tally = plan.tally
    encoder, whole, count = _with_encoder(slide)
    return {
        "mask": mask,
        "kept": tally.kept,
        "skipped": tally.blank + tally.pen,
        "seconds": seconds,
        "each": 1000 * seconds / len(plan.corners),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "encoded": count,
        "encoder": 1000 * encoder / count,
        "share": 1 - encoder / whole,
    }


def _with_encoder(slide: Slide) -> tuple[float, float, int]:
    """Seconds in the stand-in, seconds in all, patches. The stand-in is a matrix product of the same arithmetic."""
    size = int((OPERATIONS / 2) ** (1 / 3))
    matrix = np.ones((size, size), np.float32)
    encoder, count = 0.0, 0
    plan = patches(slide, budget=ENCODED, seed=0)
    start = time.perf_counter()
    for _ in plan:
        begun = time.perf_counter()
        matrix @ matrix
        encoder += time.perf_counter() - begun
        count += 1
    return encoder, time.perf_counter() - start, count


if __name__ == "__main__":
    with open_image(sys.argv[1]) as given:
        print(json.dumps(measure(given)))
