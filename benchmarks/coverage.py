"""How often a 95 % interval holds the true value; `python -m benchmarks.coverage` prints it for docs/statistics.md.

Samples of n clusters are drawn from distributions with the shapes that scores have. Each gives a percentile interval
and a studentised one from the same resamples. Samples without variation have no interval and are left out of both.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from medassay.study.resampling import Floats, interval
from medassay.study.studentised import Combine, bootstrap_t, quotient

SIZES = (10, 20, 50, 200)
RESAMPLES = 1000
_POPULATION = 1_000_000
"""Clusters from which the true value is taken."""

Draw = Callable[[np.random.Generator, int], Floats]


@dataclass(frozen=True)
class Shape:
    """A kind of data: how cluster sums are drawn, what is made of them, and the bounds of that."""

    name: str
    draw: Draw
    combine: Combine = quotient
    bounds: tuple[float | None, float | None] = (0.0, 1.0)


@dataclass(frozen=True)
class Row:
    """Coverage (0–1) and mean width of both intervals over the samples that have one."""

    shape: str
    n: int
    percentile: tuple[float, float]
    studentised: tuple[float, float]


def _alone(values: Floats) -> Floats:
    return np.stack([values, np.ones(len(values))], axis=1)


def _ceiling(random: np.random.Generator, n: int) -> Floats:
    return _alone(random.choice([0.0, 0.25, 0.5, 0.75, 1.0], n, p=[0.05, 0.05, 0.1, 0.3, 0.5]))


def _zeros(random: np.random.Generator, n: int) -> Floats:
    return _alone(np.where(random.random(n) < 0.6, 0.0, random.beta(2, 5, n)))


def _clustered(random: np.random.Generator, n: int) -> Floats:
    """Clusters of 1 to some 10 cases around a mean of their own."""
    sizes = 1 + random.poisson(3, n)
    centres = np.repeat(random.beta(4, 2, n), sizes)
    values = random.beta(8 * centres + 0.1, 8 * (1 - centres) + 0.1)
    index = np.repeat(np.arange(n), sizes)
    return np.stack([np.bincount(index, values, n), sizes], axis=1)


def _matches(random: np.random.Generator, n: int) -> Floats:
    """Words in common and words in all, of texts whose lengths differ widely."""
    lengths = np.ceil(random.lognormal(3, 0.8, n)).astype(int)
    return np.stack([random.binomial(lengths, random.beta(5, 3, n)), lengths], axis=1).astype(float)


def _orders(random: np.random.Generator, n: int) -> Floats:
    """The same for two orders of n-grams."""
    lengths = 2 + np.ceil(random.lognormal(3, 0.8, n)).astype(int)
    share = random.beta(5, 3, n)
    first, second = random.binomial(lengths, share), random.binomial(lengths - 1, share**2)
    return np.stack([first, second, lengths, lengths - 1], axis=1).astype(float)


def _geometric(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Floats = np.sqrt(sums[..., 0] / sums[..., 2] * sums[..., 1] / sums[..., 3])
    return out


SHAPES = (
    Shape("mean, Beta(5, 2)", lambda random, n: _alone(random.beta(5, 2, n))),
    Shape("mean, U-shaped Beta(½, ½)", lambda random, n: _alone(random.beta(0.5, 0.5, n))),
    Shape("mean, 60 % zeros", _zeros),
    Shape("mean, five grades, half at the top", _ceiling),
    Shape("mean, log-normal", lambda random, n: _alone(random.lognormal(0, 1, n)), bounds=(0.0, None)),
    Shape("mean, clusters of 1–10 cases", _clustered),
    Shape("corpus level, ratio of sums", _matches),
    Shape("corpus level, geometric mean of two ratios", _orders, _geometric),
)


def measure(shape: Shape, n: int, samples: int, seed: int = 1) -> Row:
    """Coverage and width of both intervals on one kind of data."""
    truth = float(shape.combine(shape.draw(np.random.default_rng(0), _POPULATION).sum(axis=0)))
    random = np.random.default_rng(seed)
    ends: dict[str, list[tuple[float, float]]] = {"percentile": [], "studentised": []}
    for i in range(samples):
        (statistic,) = bootstrap_t([(shape.draw(random, n), shape.combine)], RESAMPLES, i)
        for name, (low, high) in (
            ("percentile", interval(statistic.values)),
            ("studentised", statistic.interval(shape.bounds)),
        ):
            if low is not None and high is not None:
                ends[name].append((low, high))
    return Row(shape.name, n, _covered(ends["percentile"], truth), _covered(ends["studentised"], truth))


def _covered(ends: list[tuple[float, float]], truth: float) -> tuple[float, float]:
    low, high = np.array(ends).T
    return float(((low <= truth) & (truth <= high)).mean()), float((high - low).mean())


def table(samples: int) -> Iterator[str]:
    """The lines of the Markdown table: coverage in per cent, then mean width."""
    yield "| data | " + " | ".join(f"n = {n}" for n in SIZES) + " |"
    yield "|---|" + "---|" * len(SIZES)
    for shape in SHAPES:
        cells = []
        for n in SIZES:
            row = measure(shape, n, samples)
            shares = f"{100 * row.percentile[0]:.1f} → {100 * row.studentised[0]:.1f}"
            cells.append(f"{shares} ({row.percentile[1]:.3f} → {row.studentised[1]:.3f})")
        yield f"| {shape.name} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="benchmarks.coverage", description=__doc__)
    parser.add_argument("--samples", type=int, default=2000, help="samples per cell")
    for line in table(parser.parse_args().samples):
        print(line, flush=True)
