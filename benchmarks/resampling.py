"""Bootstrap intervals from statistics extracted once."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Figure, seconds
from benchmarks.texts import pairs
from medassay.api import score

CASES = 10_000
RESAMPLES = 1_000


def run() -> Iterator[Figure]:
    """Seconds for the summary of a scored run, for a mean and for a corpus-level metric."""
    made = pairs(CASES, 30)
    for metric in ("rouge1", "bleu"):
        result = score([c for c, _ in made], [r for _, r in made], metrics=metric)
        took = seconds(lambda: result.summary(resamples=RESAMPLES))  # noqa: B023
        yield Figure(f"{metric}: {CASES:,} cases × {RESAMPLES:,}", f"{took:.2f} s", "2 s", took < 2)
