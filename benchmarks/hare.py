"""Embedded HARE on the cores of this machine: pairs a second, and the published algorithm with the same weights.

BENCH_CASES names a file of cases to read (reg2025/generated_a.csv is what the goal was set for); without it the
texts are the bundled pathology examples, recombined. The published algorithm is so slow that it scores a few of
the pairs and asks some of its relation questions; its time is scaled to all of them, and the figure says so.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.published_hare import Published
from benchmarks.reading import write_reports
from medassay.cases import Case, read_cases
from medassay.cores import cores
from medassay.metrics.registry import load_metric
from medassay.models.loading import model_set

PAIRS = 600
PUBLISHED = 4
UNLIKE = 40
ASKED = 6
"""Relation questions a report that the published algorithm is timed on."""


def run() -> Iterator[Figure]:
    """Both, on the same pairs."""
    cases, what = texts()
    metric = load_metric("hare")
    metric.score(cases[:2])
    _forget(metric)
    load = os.getloadavg()[0]
    wall, cpu = time.perf_counter(), time.process_time()
    scores = metric.score(cases)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    scored = sum(score.value is not None for score in scores)
    rate, by_cpu = len(cases) / wall, len(cases) / cpu
    # On a busy machine the wall clock measures the others: pairs per CPU second are what one free core would do.
    busy = load > cores()
    distinct = len({text for case in cases for text in (case.candidate, case.references[0])})
    yield Figure(
        f"HARE clinical, {len(cases)} pairs ({what})",
        f"{rate:.1f} pairs/s, {by_cpu:.1f} per CPU second; {scored} scored, {distinct:,} distinct texts "
        f"(load {load:.1f}{', so judged by CPU time' if busy else ''})",
        "25 pairs/s",
        (by_cpu if busy else rate) >= 25,
    )
    published = Published(model_set(), ASKED)
    step = max(1, len(cases) // PUBLISHED)
    some = cases[::step][:PUBLISHED]
    _forget(metric)
    alone = time.process_time()
    metric.score(some)
    alone = (time.process_time() - alone) / len(some)
    for case in some:
        published.score(case.references[0], case.candidate)
    spent = published.spent
    ours = cpu / len(cases)
    theirs, kinder = spent.scaled / len(some), spent.pruned / len(some)
    entities = sum(spent.found) / max(len(spent.found), 1)
    yield Figure(
        "published algorithm, all ordered pairs",
        f"{theirs:.1f} CPU s per pair against {ours:.3f}: {theirs / ours:,.0f}×; {len(some)} pairs, "
        f"{entities:.0f} entities per report, {spent.asked} of {spent.questions:,} relation questions timed",
        "20×",
        theirs / ours >= 20,
    )
    yield Figure(
        "the same, only pairs of types that go together",
        f"{kinder:.2f} CPU s per pair: {kinder / ours:,.1f}× (kinder than published)",
        "",
    )
    yield Figure(
        f"ours on those {len(some)} pairs alone, no text seen before",
        f"{alone:.3f} CPU s per pair: the published algorithm takes {theirs / alone:,.0f}×, the kinder one "
        f"{kinder / alone:,.1f}×",
        "20×",
        theirs / alone >= 20,
    )
    yield from _unlike()


def _unlike() -> Iterator[Figure]:
    """Longer reports, no two alike: nothing is won by reading equal texts once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.csv"
        write_reports(path, UNLIKE)
        cases = [row.case for row in read_cases(path) if row.case is not None]
    metric = load_metric("hare")
    _forget(metric)
    cpu = time.process_time()
    metric.score(cases)
    cpu = time.process_time() - cpu
    yield Figure(
        f"HARE clinical, {UNLIKE} pairs of 110 words, references shared by four",
        f"{UNLIKE / cpu:.1f} pairs per CPU second (load {os.getloadavg()[0]:.1f})",
        "",
    )


def _forget(metric: Any) -> None:
    """Drop what the embedded models remember of texts."""
    model_set().hidden_cache.clear()
    model_set().hidden_bytes = 0
    metric.aligner.cache.clear()


def texts() -> tuple[list[Case], str]:
    """Up to `PAIRS` cases, and where they come from."""
    given = os.environ.get("BENCH_CASES")
    if given:
        found = [row.case for row in read_cases(Path(given)) if row.case is not None]
        return found[:PAIRS], "/".join(Path(given).parts[-2:])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.csv"
        write_reports(path, PAIRS)
        return [row.case for row in read_cases(path) if row.case is not None], "recombined examples, 110 words"
