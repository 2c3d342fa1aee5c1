"""Results as rows: per text, and per text and annotator."""

from __future__ import annotations

import pytest
from tests.human.sample import FACTS, UNITS

from medassay.cases import read_cases
from medassay.files import csv_text, write_rows
from medassay.human.export import per_annotator, per_text
from medassay.human.published import read_table
from medassay.human.ratings import Rating, Ratings


def test_one_row_a_text_is_a_case_file_that_carries_the_scores(ratings, tmp_path):
    path = tmp_path / "human.csv"
    write_rows(per_text(ratings, UNITS), path)
    rows = [row.case for row in read_cases(path)]
    assert [(case.id, case.system) for case in rows] == [("c1", "a"), ("c1", "b"), ("c2", "a"), ("c2", "b")]
    assert float(rows[1].extra["precision"]) == pytest.approx(1 / 3)
    assert float(rows[0].extra["G"]) == 6  # the mean of 4 and 8
    assert (rows[0].extra["group"], rows[0].extra["file.recall"]) == ("x", "9")
    assert rows[0].extra["annotators"] == "2"


def test_no_cell_is_a_formula(ratings):
    assert ", =b()," in csv_text(per_text(ratings, UNITS)), "a text gets a space, which no metric minds"
    commented = Ratings(FACTS, [Rating("1", "a", "=x", {}, "=cmd()")])
    assert "'=x" in csv_text(per_annotator(commented)) and "'=cmd()" in csv_text(per_annotator(commented))


def test_long_form_reads_back_as_the_same_ratings(ratings, tmp_path):
    path = tmp_path / "long.csv"
    write_rows(per_annotator(ratings), path)
    again = read_table(path, FACTS)
    assert [(r.key, r.annotator) for r in again.rows] == [(r.key, r.annotator) for r in ratings.rows]
    assert [dict(r.values) for r in again.rows] == [pytest.approx(dict(r.values)) for r in ratings.rows]
