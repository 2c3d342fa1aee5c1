"""Validation studies: three levels by hand, exclusions, directions, the papers' formulas."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from medassay.engine.score_table import ScoreTable, make_table
from medassay.errors import MedassayError, UnknownName
from medassay.study.validation import validate

# HARE's published table: R² and RMSE of its rows.
PUBLISHED = [(0.002, 0.169), (0.006, 0.168), (0.041, 0.165), (0.070, 0.163), (0.138, 0.157), (0.182, 0.153)]
PUBLISHED += [(0.192, 0.152), (0.389, 0.132), (0.422, 0.128)]


def table(rows: Sequence[Mapping[str, Any]], metrics: Sequence[str] = ("m",), **better: bool) -> ScoreTable:
    known = {name: better.get(name, True) for name in metrics}
    return make_table("t.csv", enumerate(rows, 1), known)


def cases(m: Sequence[float | None], h: Sequence[float | None], **more: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"id": str(i), "m": a, "h": b, **{k: v[i] for k, v in more.items()}} for i, (a, b) in enumerate(zip(m, h))]


def test_item_level_by_hand() -> None:
    study = validate(table(cases([1, 2, 3, 4, 5], [1, 3, 2, 5, 4])), ["h"], resamples=200)
    one = study.of("m", "h")
    # d² = 0, 1, 1, 1, 1: Spearman = 1 − 6·4 / (5·24) = 0.8; 8 of 10 pairs concordant, 2 not: tau = 0.6.
    assert one.item["pearson"].value == pytest.approx(0.8)
    assert one.item["spearman"].value == pytest.approx(0.8)
    assert one.item["kendall"].value == pytest.approx(0.6)
    assert one.r2 == pytest.approx(0.64)
    # Human scores scaled from 1…5 to 0–1 have a standard deviation of √2 / 4.
    assert one.rmse == pytest.approx(math.sqrt(2) / 4 * 0.6)
    low, high = one.item["pearson"].low, one.item["pearson"].high
    assert low is not None and high is not None and low < 0.8 <= high


def test_rmse_is_what_hare_published() -> None:
    """One standard deviation and each row's own R² give all its RMSE."""
    for r2, rmse in PUBLISHED:
        assert 0.1691 * math.sqrt(1 - r2) == pytest.approx(rmse, abs=0.0012)


def test_scale_names_the_ends() -> None:
    rows = cases([1, 2, 3, 4, 5], [1, 3, 2, 4, 4])
    found = validate(table(rows), ["h"], scale=(0.0, 5.0), resamples=20).of("m", "h")
    r = found.item["pearson"].value
    assert found.rmse == pytest.approx(np.std([1, 3, 2, 4, 4]) / 5 * math.sqrt(1 - r * r))


def test_zeros_count_unless_left_out_and_both_are_said() -> None:
    rows = cases([1, 2, 3, 4, 5, 9, 9], [1, 3, 2, 5, 4, 0, 0])
    whole, above = validate(table(rows), ["h"], resamples=20), validate(table(rows), ["h"], above=0, resamples=20)
    assert (whole.of("m", "h").n, above.of("m", "h").n) == (7, 5)
    assert above.of("m", "h").item["kendall"].value == pytest.approx(0.6)
    assert any("h 2 of 7" in note for note in whole.notes)
    assert any("above 0 count, 5 of 7" in note for note in above.notes)


def test_what_cannot_be_assessed_says_why() -> None:
    flat = validate(table(cases([1, 1, 1, 1, 1, 1], [1, 2, 3, 4, 5, 6])), ["h"], resamples=20).of("m", "h")
    assert flat.reason == "'m' is the same on every case"
    assert not flat.item and flat.r2 is None
    few = validate(table(cases([1, 2, None, None, 3], [1, 2, 3, 4, 5])), ["h"], resamples=20).of("m", "h")
    assert few.reason == "3 cases have both; 5 are the fewest"
    assert few.missing == 2


def test_within_items_is_the_mean_of_the_items() -> None:
    # Inside x and y the order is kept and turned, inside z nothing varies, w is alone: mean of 1 and −1.
    rows = []
    for item, m, h in [
        ("x", [1, 2, 3], [1, 2, 3]),
        ("y", [1, 2, 3], [6, 5, 4]),
        ("z", [1, 2], [7, 7]),
        ("w", [1], [2]),
    ]:
        rows += [{"id": item, "system": s, "m": a, "h": b} for s, (a, b) in enumerate(zip(m, h))]
    one = validate(table(rows), ["h"], resamples=100).of("m", "h")
    assert {name: c.value for name, c in one.within.items()} == {"pearson": 0.0, "spearman": 0.0, "kendall": 0.0}
    assert (one.items, one.idle) == (2, 2)


def test_between_systems_with_an_exact_p() -> None:
    rows = [
        {"id": f"{item}", "system": f"s{s}", "m": s + 0.1 * item, "h": 2 * s + item % 2}
        for s in range(4)
        for item in range(5)
    ]
    one = validate(table(rows), ["h"], resamples=50).of("m", "h")
    assert one.systems == 4
    assert one.system["spearman"].value == pytest.approx(1.0)
    assert one.system["spearman"].p == pytest.approx(2 / 24)  # of 24 orders the same and the reverse reach 1


def test_directions_turn_what_is_expected_not_the_sign() -> None:
    rows = cases([1, 2, 3, 4, 5], [5, 4, 3, 2, 1])
    rows = [{**row, "omission_rate": row["h"]} for row in rows]
    study = validate(table(rows, m=True), ["omission_rate"], resamples=20)
    one = study.of("m", "omission_rate")
    assert one.item["pearson"].value == pytest.approx(-1.0)
    assert one.expected == -1
    assert any("Lower is better: omission_rate" in note for note in study.notes)
    assert validate(table(rows), ["omission_rate"], higher=["omission_rate"], resamples=20).agreements[0].expected == 1
    assert validate(table(rows, m=False), ["omission_rate"], resamples=20).agreements[0].expected == 1
    with pytest.raises(UnknownName, match="did you mean 'omission_rate'"):
        validate(table(rows), ["omission_rate"], lower=["omision_rate"])


def test_the_aggregate_by_hand_and_turned_for_lower_is_better() -> None:
    generator = np.random.default_rng(0)
    m, f, h, o = generator.normal(size=(4, 40))
    rows = [
        {"id": str(i), "m": a, "n": -a, "factual_f1": b, "hallucination_rate": c, "omission_rate": d}
        for i, (a, b, c, d) in enumerate(zip(m, f, h, o))
    ]
    humans = ["factual_f1", "hallucination_rate", "omission_rate"]
    study = validate(table(rows, metrics=("m", "n"), n=False), humans, resamples=100)
    r = [np.corrcoef(m, column)[0, 1] for column in (f, h, o)]
    first, second = study.aggregates["m"], study.aggregates["n"]
    assert first.value == pytest.approx((2 * r[0] - r[1] - r[2]) / 4)
    assert second.value == pytest.approx(first.value)
    assert first.low is not None and first.high is not None and first.low < first.value < first.high
    assert validate(table(rows), ["factual_f1"], resamples=20).aggregates == {}
    with pytest.raises(UnknownName, match="three of the human columns"):
        validate(table(rows), humans, aggregate=["factual_f1"], resamples=20)


def test_clusters_widen_the_interval() -> None:
    generator = np.random.default_rng(1)
    m, h = np.repeat(generator.normal(size=(2, 15)), 20, axis=1) + generator.normal(0, 0.01, (2, 300))
    rows = cases(m.tolist(), h.tolist(), reference_key=[f"r{i // 20}" for i in range(300)])
    widths = {}
    for cluster in ("reference", "none"):
        one = validate(table(rows), ["h"], cluster=cluster, resamples=300).of("m", "h").item["pearson"]
        assert one.low is not None and one.high is not None
        widths[cluster] = one.high - one.low
    assert widths["reference"] > 2 * widths["none"]


def test_errors_name_column_and_remedy() -> None:
    rows = cases([1, 2, 3, 4, 5], [1, 3, 2, 5, 4], group=list("abcde"))
    with pytest.raises(UnknownName, match="no column 'expert_score'"):
        validate(table(rows), ["expert_score"])
    with pytest.raises(MedassayError, match="column 'group': expected a finite number, found 'a'"):
        validate(table(rows), ["group"])
    with pytest.raises(MedassayError, match="no human column named"):
        validate(table(rows), [])
    with pytest.raises(UnknownName, match="pearson or spearman"):
        validate(table(rows), ["h"], coefficient="kendal")


def test_same_seed_same_study() -> None:
    rows = cases([1, 5, 3, 4, 2, 7], [1, 3, 2, 5, 4, 6])
    assert (
        validate(table(rows), ["h"], resamples=50).agreements == validate(table(rows), ["h"], resamples=50).agreements
    )
    one, other = (validate(table(rows), ["h"], resamples=50, seed=seed).of("m", "h") for seed in (1, 2))
    assert one.item["kendall"].value == pytest.approx(other.item["kendall"].value)
