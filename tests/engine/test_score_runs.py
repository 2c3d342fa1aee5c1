"""Several scores files as one table."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.engine.score_runs import read_runs
from medassay.errors import InputError


def scores(path: Path, *rows: str, header: str = "id,system,rouge1,rouge1.unscored") -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_each_file_is_a_run(tmp_path: Path) -> None:
    paths = [scores(tmp_path / f"{name}.csv", "1,a,0.5,", "2,a,0.25,") for name in ("may", "june")]
    table, by, notes = read_runs(paths)
    assert by == ("run",) and notes == [] and table.metrics == ("rouge1",)
    assert table.labels("run").names == ("may", "june") and table.labels("run").codes.tolist() == [0, 0, 1, 1]
    assert table.numbers("rouge1").tolist() == [0.5, 0.25, 0.5, 0.25]


def test_systems_tell_the_rows_apart_where_no_two_files_share_one(tmp_path: Path) -> None:
    paths = [scores(tmp_path / "x.csv", "1,a,0.5,"), scores(tmp_path / "y.csv", "1,b,0.5,")]
    assert read_runs(paths)[1] == ("system",)


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    paths = [scores(tmp_path / folder / "s.csv", "1,a,0.5,") for folder in ("x", "y")]
    assert read_runs(paths)[0].labels("run").names == ("x/s.csv", "y/s.csv")


def test_what_cannot_be_joined_is_refused(tmp_path: Path) -> None:
    one = scores(tmp_path / "one.csv", "1,a,0.5,")
    other = scores(tmp_path / "other.csv", "1,a,0.5,", header="id,system,bleu,bleu.unscored")
    with pytest.raises(InputError, match="is given twice"):
        read_runs([one, one])
    with pytest.raises(InputError, match="no metric is in every file"):
        read_runs([one, other])
