"""How cost and memory grow with the number of pairs, their length, entities, references and systems.

Costs are CPU seconds of this process, models warm, every point on texts of its own. The exponent is the slope of
a line through the logarithms: 1 is linear, 2 quadratic.
"""

from __future__ import annotations

import csv
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

import medassay.examples
from benchmarks.figures import Figure, command
from benchmarks.texts import pairs
from medassay.cases import Case, read_cases
from medassay.language.graph import read_reports
from medassay.metrics.base import Metric
from medassay.metrics.registry import load_metric
from medassay.models.loading import model_set

METRICS = {"rougeL": 40, "bleu": 40, "bertscore(long=windows)": 1}
"""Metrics, and by how much the number of their pairs is multiplied so that the time can be measured."""
_LINEAR = 1.2
"""Exponents up to this pass as linear: points are few and short."""

_MARKERS = ("CD20", "CD3", "CD10", "BCL2", "Ki-67", "CK7", "CK20", "TTF-1", "S100", "p53", "GATA3", "PAX8", "WT1", "ER")
_RESULTS = ("positive", "negative", "weakly positive", "focally positive", "strongly positive")
_PLAIN = (
    "The slides were received in good order and reviewed by two members of the department this morning",
    "The request form was signed by the referring doctor and the labels agree with it in every respect",
    "A further copy of this letter has been sent to the practice and to the office for their files",
)


def run() -> Iterator[Figure]:
    """A curve for each metric and each thing that grows."""
    for name, many in METRICS.items():
        metric = load_metric(name)
        yield _curve(f"{name}: pairs", metric, [(n, _cases(many * n, 60)) for n in (10, 20, 40, 80)])
        yield _curve(f"{name}: words per text", metric, [(n, _cases(many * 4, n)) for n in (100, 200, 400, 800)])
        yield _curve(f"{name}: references", metric, [(n, _cases(many * 8, 60, references=n)) for n in (1, 2, 4, 8)])
        yield _curve(f"{name}: systems", metric, [(n, _cases(many * 6, 60, systems=n)) for n in (1, 2, 4, 8)])


def hare() -> Iterator[Figure]:
    """HARE, which reads with models and compares entities with entities."""
    metric = load_metric("hare")
    points = [(n, _dense(2, n)) for n in (10, 20, 40, 80, 160)]
    read = [read_reports([case.candidate for case in some]) for _, some in points]
    found = [round(np.mean([len(report.entities) for report in reports])) for reports in read]
    what = f"hare: entities in texts of the same length ({found[0]} to {found[-1]} found)"
    yield _curve(what, metric, points)
    yield _curve("hare: words per text", metric, [(n, _cases(2, n)) for n in (100, 200, 400, 800)])
    yield _curve("hare: pairs", metric, [(n, _cases(n, 60)) for n in (5, 10, 20, 40)])
    yield _curve("hare: references", metric, [(n, _cases(4, 60, references=n)) for n in (1, 2, 4, 8)])
    yield _curve("hare: systems", metric, [(n, _cases(3, 60, systems=n)) for n in (1, 2, 4, 8)])


def _curve(what: str, metric: Metric, points: Sequence[tuple[int, list[Case]]]) -> Figure:
    metric.score(_cases(2, 60))  # other texts than those that are timed
    spent = []
    for _, cases in points:
        model_set().hidden_cache.clear()
        model_set().hidden_bytes = 0
        start = time.process_time()
        metric.score(cases)
        spent.append(time.process_time() - start)
    slope = float(np.polyfit(np.log([n for n, _ in points]), np.log(spent), 1)[0])
    shown = ", ".join(f"{n}: {took:.2f}" for (n, _), took in zip(points, spent))
    return Figure(what, f"{shown} CPU s; exponent {slope:.2f}", "linear", slope <= _LINEAR)


_SEED = iter(range(1, 1_000_000))


def _cases(number: int, words: int, *, references: int = 1, systems: int = 1) -> list[Case]:
    """Reports from the bundled sentences, no text twice but the references that systems share."""
    text = _writer(words)
    made = []
    for i in range(number):
        shared = tuple(text() for _ in range(references))
        made += [Case(f"{i}", text(), shared, system=str(s)) for s in range(systems)]
    return made


def _writer(words: int) -> Callable[[], str]:
    rows = read_cases(Path(medassay.examples.__file__).with_name("pathology.csv"))
    cases = [row.case for row in rows if row.case is not None]
    sentences = [s.strip(" .") for c in cases for s in f"{c.reference} {c.candidate}".split(". ") if s.strip()]
    chooser = random.Random(next(_SEED))

    def text() -> str:
        made: list[str] = []
        length = 0
        while length < words:
            made.append(chooser.choice(sentences))
            length += len(made[-1].split())
        return ". ".join(made) + "."

    return text


def _dense(number: int, entities: int) -> list[Case]:
    """Texts of about 850 words in which the given number of entities stands between sentences about nothing."""
    chooser = random.Random(next(_SEED))

    def text() -> str:
        stated = [f"{chooser.choice(_MARKERS)} is {chooser.choice(_RESULTS)}" for _ in range(entities // 2)]
        room = 850 - sum(len(s.split()) for s in stated)
        plain = [f"{chooser.choice(_PLAIN)} ({chooser.randrange(10_000)})" for _ in range(room // 17)]
        both = stated + plain
        chooser.shuffle(both)
        return ". ".join(both) + "."

    return [Case(str(i), text(), (text(),)) for i in range(number)]


def memory() -> Iterator[Figure]:
    """Peak memory of `medassay score` with more and more rows."""
    for metric, sizes, words in (("rouge", (1_000, 10_000, 100_000), 10), ("hare", (50, 200, 800), 0)):
        peaks = []
        for size in sizes:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "cases.csv"
                _write(path, size, words)
                out = str(Path(folder) / "out.csv")
                took = command(["score", str(path), "--metrics", metric, "--out", out, "--workers", "1"])
                peaks.append(took.peak)
        shown = ", ".join(f"{size:,}: {peak:,.0f}" for size, peak in zip(sizes, peaks))
        yield Figure(f"{metric}: rows", f"{shown} MB at most", "bounded", peaks[-1] < 2 * peaks[0] + 200)


def _write(path: Path, number: int, words: int) -> None:
    made = pairs(number, words) if words else [(c.candidate, c.references[0]) for c in _cases(number, 60)]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "candidate", "reference"])
        writer.writerows([i, *pair] for i, pair in enumerate(made))
