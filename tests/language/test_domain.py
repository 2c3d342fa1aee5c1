"""Does a text read like a pathology report? On texts that nothing was fitted on."""

from __future__ import annotations

import pytest

from medassay.examples import load
from medassay.examples.bench import read_bench
from medassay.language.domain import LONGEST, reads_as_report, report_probability


@pytest.mark.parametrize(("kind", "low", "high"), [("pathology", 75, 100), ("notes", 0, 10), ("radiology", 0, 12)])
def test_the_benchmark(kind: str, low: int, high: int) -> None:
    assert low <= sum(reads_as_report(document.text) for document in read_bench([kind])) <= high


def test_the_examples() -> None:
    reports = [reads_as_report(str(case.reference)) for case in load("pathology.csv")]
    notes = [reads_as_report(str(case.reference)) for case in load("notes.csv")]
    assert sum(reports) / len(reports) > 0.75 and sum(notes) / len(notes) < 0.1


def test_empty_and_very_long_texts() -> None:
    assert 0.0 <= report_probability("") <= 1.0
    report = "Colon, biopsy: adenocarcinoma, moderately differentiated. Margins free. "
    assert report_probability(report + "x" * LONGEST) == report_probability(report + "x" * 10 * LONGEST)
