"""Scores files come back as they were written, and broken ones are named by file, row and column."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from medassay.cases import Case
from medassay.engine.score_table import Labels, ScoreTable, make_table, read_scores
from medassay.errors import InputError, MedassayError, UnknownName
from medassay.metrics.base import Metric
from medassay.result import Result
from medassay.scores import Score
from medassay.study import compare


class Errors(Metric):
    """A lower-is-better metric with one part."""

    name = "errors"
    summary = "errors"
    defined = "here"
    parts = ("rate",)
    higher_is_better = False

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        raise AssertionError("reading never rescores")


def table_of(result: Result) -> ScoreTable:
    directions = {metric.name: metric.higher_is_better for metric in result.metrics}
    return make_table("result", enumerate(result.rows(), 1), directions, result.signatures)


@pytest.fixture
def result() -> Result:
    cases = [
        Case(
            f"{i // 2:03d}",
            "c",
            (f"reference {i // 2}",),
            system=("=base", "-new")[i % 2],
            extra={"expert": i / 3},
            row=i + 1,
        )
        for i in range(40)
    ]
    scores = [Score.none("empty candidate") if i == 6 else Score(i % 7 / 7, parts={"rate": 0.5}) for i in range(40)]
    return Result(cases, [Errors()], {"errors": scores})


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_every_format_comes_back_as_written(result: Result, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"scores.{suffix}"
    result.save(path)
    read, direct = read_scores(path), table_of(result)
    assert read.metrics == direct.metrics == ("errors",)
    assert read.higher_is_better == {"errors": False}
    assert read.signatures == direct.signatures == result.signatures
    for column in ("errors", "errors.rate", "expert"):
        np.testing.assert_array_equal(read.numbers(column), direct.numbers(column))
    assert math.isnan(read.numbers("errors")[6])
    for column in ("id", "system", "reference_key"):
        assert read.labels(column).names == direct.labels(column).names  # '007', '=base' survive
        np.testing.assert_array_equal(read.labels(column).codes, direct.labels(column).codes)
    assert read.labels("errors.unscored").names == ("empty candidate",)
    assert compare(read, resamples=200).pairs == compare(direct, resamples=200).pairs


def test_metrics_without_a_meta_file_are_those_with_a_reason_column(result: Result, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    result.save(path)
    (tmp_path / "scores.csv.meta.json").unlink()
    assert read_scores(path).metrics == ("errors",)


def test_a_part_has_its_metric_s_direction(result: Result) -> None:
    table = table_of(result)
    assert table.direction("errors.rate") is False
    assert table.direction("rouge1") is True  # the registry knows
    assert table.direction("reader_score") is None


def test_anyone_s_numeric_columns_are_metrics(tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    path.write_text("id,system,arm,acc,f\n1,a,x,0.5,NA\n1,b,y,,0.25\n", encoding="utf-8")
    table = read_scores(path)
    assert table.metrics == ("acc", "f")
    np.testing.assert_array_equal(table.numbers("acc"), [0.5, np.nan])
    np.testing.assert_array_equal(table.numbers("f"), [np.nan, 0.25])


def test_columns_that_come_late_or_go_missing_in_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"id": 1, "m": 0.5}\n{"id": 2, "k": 1}\n{"id": 3, "m": 0.25, "k": NaN}\n', encoding="utf-8")
    table = read_scores(path)
    np.testing.assert_array_equal(table.numbers("m"), [0.5, np.nan, 0.25])
    np.testing.assert_array_equal(table.numbers("k"), [np.nan, 1, np.nan])
    assert table.labels("id") is not None and table.labels("id").names == ("1", "2", "3")


@pytest.mark.parametrize("cell", ["good", "inf", "1,5"])
def test_a_cell_that_is_no_number_is_named(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "s.csv"
    path.write_text(f'id,m,m.unscored\n1,0.5,\n2,"{cell}",\n', encoding="utf-8")
    with pytest.raises(InputError, match=rf"s\.csv, row 3, column 'm': .*'{cell}'"):
        read_scores(path)


def test_asking_for_numbers_of_a_text_column_names_the_cell(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("id,m,grade\n1,0.5,2\n2,0.5,high\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"row 3, column 'grade'.*'high'"):
        read_scores(path).numbers("grade")
    with pytest.raises(UnknownName, match="did you mean 'grade'"):
        read_scores(path).numbers("grades")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rows"),
        ("id,m\n", "no rows"),
        ("id,m\n1,0.5,7\n", "row 2: 3 cells"),
        ("id,m,m\n1,2,3\n", "stands twice"),
    ],
)
def test_broken_tables(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "s.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_scores(path)


def test_broken_files(tmp_path: Path) -> None:
    (tmp_path / "s.parquet").write_bytes(b"PAR1 cut short")
    with pytest.raises(InputError, match="Parquet"):
        read_scores(tmp_path / "s.parquet")
    with pytest.raises(InputError, match=r"nowhere\.csv"):
        read_scores(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="xlsx"):
        read_scores(tmp_path / "s.xlsx")


@pytest.mark.parametrize("meta", ["{", "[]", json.dumps({"higher_is_better": {"m": 1}, "signatures": {}})])
def test_a_broken_meta_file_is_named(tmp_path: Path, meta: str) -> None:
    (tmp_path / "s.csv").write_text("id,m\n1,0.5\n", encoding="utf-8")
    (tmp_path / "s.csv.meta.json").write_text(meta, encoding="utf-8")
    with pytest.raises(MedassayError, match=r"s\.csv\.meta\.json.*remove it"):
        read_scores(tmp_path / "s.csv")


def test_numbers_as_labels() -> None:
    table = table_of(Result([Case("1", "c"), Case("2", "c")], [Errors()], {"errors": [Score(0.5), Score.none("no")]}))
    labels = table.labels("errors")
    assert isinstance(labels, Labels) and labels.names == ("0.5",) and labels.codes.tolist() == [0, -1]
