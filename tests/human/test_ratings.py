"""Ratings as tables of raters and items, and what stands for a text in the end."""

from __future__ import annotations

from tests.human.sample import FACTS, UNITS

from medassay.human.export import per_annotator, per_text
from medassay.human.ratings import Ratings


def test_tables_are_raters_by_items_with_reference_facts_once_a_case(ratings):
    assert ratings.table("G").shape == (2, 4)
    assert ratings.table("R").tolist() == [[4, 5], [8, 10]]


def test_decisions_replace_averages(ratings):
    decided = Ratings(FACTS, ratings.rows, {("c1", "a"): {"G": 9.0}})
    row = per_text(decided, UNITS)[0]
    assert (row["G"], row["decided"], row["RG"]) == (9.0, True, 6.0)
    assert per_annotator(decided)[-1]["annotator"] == "adjudicated"
