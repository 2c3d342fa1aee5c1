from __future__ import annotations

import pytest

from benchmarks import coverage


@pytest.mark.parametrize("shape", coverage.SHAPES, ids=lambda shape: shape.name)
def test_the_studentised_interval_covers_more_of_small_samples(shape: coverage.Shape) -> None:
    row = coverage.measure(shape, 10, 60)
    assert row.studentised[0] >= row.percentile[0]
    assert row.studentised[1] > row.percentile[1] > 0


def test_the_table_has_a_row_per_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "SHAPES", coverage.SHAPES[:1])
    monkeypatch.setattr(coverage, "SIZES", (10,))
    assert len(list(coverage.table(20))) == 3
