"""Finished slices as Parquet files, and the log of what was begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.cases import Case, Row
from medassay.engine.ray_parts import AttemptLog, Parts
from medassay.errors import MedassayError
from medassay.scores import Score


def test_a_part_reads_back_as_written(tmp_path: Path) -> None:
    parts = Parts(tmp_path / "parts")
    parts.begin({"size": 2})
    rows = [Row(1, Case("a", "text", ("reference",), extra={"k": 1}, row=1)), Row(2, None, "broken")]
    scores = [Score(0.5, parts={"p": 1.0})]
    parts.write(0, 3, rows, [("m", [score.to_json() for score in scores])])
    part = parts.read(0, 3)
    assert part.rows == rows and part.scores == [scores]
    assert parts.kept() == {0: {3}}
    with pytest.raises(MedassayError, match="cannot be seen from here"):
        parts.read(0, 4, patience=-1.0)


def test_parts_of_another_plan_and_failed_ones_are_cleared(tmp_path: Path) -> None:
    parts = Parts(tmp_path / "parts")
    parts.begin({"size": 2})
    row = [Row(1, Case("a", "text", row=1))]
    parts.write(0, 0, row, [("m", [Score(1.0).to_json()])])
    parts.write(0, 1, row, [("m", [Score.failure("broke").to_json()])])
    parts.begin({"size": 2})
    assert parts.kept() == {0: {0}}, "what failed is measured again"
    parts.begin({"size": 3})
    assert parts.kept() == {}


def test_deaths_are_what_was_begun_and_not_finished(tmp_path: Path) -> None:
    log = AttemptLog(tmp_path / "0-0")
    log.begin(0, 0, 4)
    log.begin(0, 4, 8)
    log.finish(0, 4, 8)
    again = AttemptLog(tmp_path / "0-0")
    assert (again.deaths(0, 0, 4), again.deaths(0, 4, 8), again.deaths(1, 0, 4)) == (1, 0, 0)
    again.remove()
    assert AttemptLog(tmp_path / "0-0").deaths(0, 0, 4) == 0
