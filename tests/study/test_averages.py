"""Averages over data sets, held against the published ones (Ben Abacha et al. 2023, tables 2 to 6)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from medassay.engine.score_table import make_table
from medassay.language.lexicon import read_table
from medassay.study import aggregate, average_correlations, cross_data, validate

PUBLISHED = Path(__file__).parents[2] / "benchmarks" / "published" / "note_metrics.tsv"
FACTUAL = ("precision", "recall", "f1")
RATES = ("hallucination", "omission")


def published() -> dict[str, dict[tuple[str, str], float]]:
    tables: dict[str, dict[tuple[str, str], float]] = {}
    for row in read_table(PUBLISHED):
        for column in (*FACTUAL, *RATES, "aggregate"):
            if row[column]:
                tables.setdefault(row["set"], {})[row["metric"], column] = float(row[column])
    return tables


def test_the_published_averages_of_precision_recall_and_f1() -> None:
    tables = published()
    ours, counts = average_correlations([table for name, table in tables.items() if name != "average"])
    for (metric, column), value in tables["average"].items():
        if column in FACTUAL:
            assert counts[metric, column] == 3
            assert ours[metric, column] == pytest.approx(value, abs=0.011)


def test_the_published_aggregate_is_that_of_the_averages() -> None:
    average = published()["average"]
    for metric in {metric for metric, _ in average}:
        parts = (average[metric, column] for column in ("f1", *RATES))
        assert aggregate(*parts) == pytest.approx(average[metric, "aggregate"], abs=0.011)


def test_the_published_rates_are_averages_without_one_section() -> None:
    """All seven sets give another figure; without CONSULT-HPI all metrics but ClinicalBLEURT fit."""
    tables = published()
    average = tables.pop("average")
    errors = {}
    for left_out in ("", "consult_hpi"):
        ours, _ = average_correlations([table for name, table in tables.items() if name != left_out])
        cells = [(m, c) for m, c in average if c in RATES and m != "ClinicalBLEURT"]
        errors[left_out] = np.mean([abs(ours[cell] - average[cell]) for cell in cells])
    assert errors["consult_hpi"] < 0.005 < errors[""]


def table(seed: int, humans: list[str]) -> object:
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(40):
        quality = rng.normal()
        record = {"id": str(i), "good": quality + rng.normal(), "noise": rng.normal()}
        record |= {name: (-1 if "rate" in name else 1) * quality + rng.normal() for name in humans}
        rows.append((i + 1, record))
    return make_table(f"set {seed}", rows, {"good": True, "noise": True}, {})


def test_cross_data_by_hand() -> None:
    three = ["f1", "hallucination_rate", "omission_rate"]
    studies = {
        "a": validate(table(1, three), three, metrics=["good", "noise"], resamples=20),
        "b": validate(table(2, three[1:]), three[1:], metrics=["good"], resamples=20),
    }
    cross = cross_data(studies)
    a, b = (studies[name].of("good", "omission_rate").item["pearson"].value for name in "ab")
    assert cross.averages["good", "omission_rate"] == pytest.approx((a + b) / 2)
    assert cross.counts == {
        ("good", "f1"): 1, ("noise", "f1"): 1, ("good", "hallucination_rate"): 2, ("noise", "hallucination_rate"): 1,
        ("good", "omission_rate"): 2, ("noise", "omission_rate"): 1,
    }  # fmt: skip
    f1, h, o = (cross.averages["good", human] for human in three)
    assert cross.aggregates["good"] == pytest.approx((2 * f1 - h - o) / 4)
    assert cross.ranked() == ["good", "noise"]
