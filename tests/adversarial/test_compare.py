"""Scores of other programs: a column with an odd cell is named, never left out in silence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.adversarial.commands import write_csv


def _scores(path: Path, cell: object, odd: int = 1) -> Path:
    rows = [[k, system, 0.1 * (k % 7), 0.05 * (k % 9), f"remark {k}"] for k in range(20) for system in "ab"]
    for row in rows[12 : 12 + odd]:
        row[3] = cell
    return write_csv(path, [["id", "system", "good", "other", "remark"], *rows])


@pytest.mark.parametrize("cell", ["oops", "inf", "-inf", "1e999", "0,5", "50%", "#DIV/0!", "0.5.1", "=1+1"])
def test_the_cell_is_named(tmp_path: Path, medassay: Callable, cell: str) -> None:
    path = _scores(tmp_path / "s.csv", cell)
    for command in (["compare", path], ["validate", path, "--human", "good"]):
        ran = medassay(*command, "--resamples", "20")
        assert ran.code == 2, ran.err
        assert f"s.csv, row 14, column 'other': expected a finite number, found '{cell}'" in ran.err
        assert "--metrics" in ran.err


@pytest.mark.parametrize("cell", ["", "nan", "NA", "None", " 0.5 ", "5e-1"])
def test_empty_cells_and_other_spellings_of_numbers_are_fine(tmp_path: Path, medassay: Callable, cell: str) -> None:
    ran = medassay("compare", _scores(tmp_path / "s.csv", cell), "--resamples", "20")
    assert ran.code == 0, ran.err
    assert "good" in ran.out
    assert "other" in ran.out


def test_words_are_no_scores(tmp_path: Path, medassay: Callable) -> None:
    """A column of words with a number in some cells is a column of words."""
    path = _scores(tmp_path / "s.csv", "low", odd=26)
    ran = medassay("compare", path, "--resamples", "20")
    assert ran.code == 0, ran.err
    assert "other" not in ran.out


def test_columns_that_are_named_are_read_alone(tmp_path: Path, medassay: Callable) -> None:
    path = _scores(tmp_path / "s.csv", "oops")
    assert medassay("compare", path, "--metrics", "good", "--resamples", "20").code == 0
    ran = medassay("compare", path, "--metrics", "other", "--resamples", "20")
    assert ran.code == 2
    assert "row 14, column 'other': expected a finite number, found 'oops'" in ran.err


def test_our_own_columns_are_checked_as_they_are_read(tmp_path: Path, medassay: Callable) -> None:
    rows = [[k, system, 0.1 * k, ""] for k in range(5) for system in "ab"]
    rows[4][2] = "0,5"
    path = write_csv(tmp_path / "s.csv", [["id", "system", "rouge1", "rouge1.unscored"], *rows])
    ran = medassay("compare", path, "--resamples", "20")
    assert ran.code == 2
    assert "row 6, column 'rouge1': expected a finite number, found '0,5'" in ran.err
