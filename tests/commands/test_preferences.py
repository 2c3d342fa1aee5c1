"""Judged pairs: read, compared with scores, and as flat figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.commands.preferences import compare_preferences, pair_figures, preference_rows, read_preferences
from medassay.engine.score_table import make_table
from medassay.errors import InputError
from medassay.study import Preference

HEADER = "id,system_a,system_b,preference\n"


def write(path: Path, rows: str) -> Path:
    path.write_text(HEADER + rows, encoding="utf-8")
    return path


def test_answers_are_a_letter_a_tie_or_a_system(tmp_path: Path) -> None:
    judged = read_preferences(write(tmp_path / "judged.csv", "1,x,y,a\n2,x,y,B\n3,x,y,tie\n4,x,y,Y\n5,x,y,\n"))
    assert [(pair.item, pair.preferred) for pair in judged] == [("1", 1), ("2", -1), ("3", 0), ("4", -1)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,x,y,perhaps\n", "'perhaps' is not a, b, tie"),
        ("1,x,x,a\n", "one of two systems"),
        ("1,x,y,\n", "no judged pair"),
    ],
)
def test_a_file_that_says_nothing_is_refused(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_preferences(write(tmp_path / "judged.csv", rows))


def test_metrics_are_compared_in_their_direction() -> None:
    rows = [{"id": str(i), "system": s, "up": v, "down": v} for i in range(4) for s, v in (("x", 1.0), ("y", 0.0))]
    table = make_table("t.csv", enumerate(rows, 1), {"up": True, "down": True})
    judged = [Preference(str(i), "x", "y", 1) for i in range(4)]
    study = compare_preferences(judged, table, ["up", "down"], "system", (["down"], []), 50, 1)
    figures = {row["metric"]: row for row in preference_rows(study)}
    assert figures["up"]["pairs.accuracy"] == 1.0 and figures["down"]["pairs.accuracy"] == 0.0
    assert figures["up"]["systems.accuracy"] == 1.0 and figures["up"]["missing"] == 0


def test_without_pairs_the_cells_are_empty() -> None:
    figures = pair_figures(None)
    assert figures.pop("pairs") == 0 and set(figures.values()) == {None}
