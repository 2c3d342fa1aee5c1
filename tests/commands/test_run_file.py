"""Run files: what they may say, read and checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.commands.run_file import ComparisonPlan, check_case_columns, check_metrics, read_run_file
from medassay.errors import InputError, UnknownName


def write(folder: Path, text: str) -> Path:
    path = folder / "run.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_paths_are_relative_to_the_file_and_one_text_is_a_list_of_one(tmp_path: Path) -> None:
    text = 'cases = "c.csv"\nmetrics = "rouge1"\nout = "s.csv"\n[[comparisons]]\nby = "system"\nout = "t.md"\n'
    run = read_run_file(write(tmp_path, text))
    assert run.cases == tmp_path / "c.csv" and run.out == tmp_path / "s.csv"
    assert run.metrics == ("rouge1",) and run.resamples == 1000
    assert run.comparisons == (ComparisonPlan("comparisons[1]", ("system",), out=(tmp_path / "t.md",)),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('metrics = "rouge1"', "the key 'cases' is missing"),
        ('cases = "c.csv"\nseed = true', "seed: must be a whole number, 0 or more"),
        ('cases = "c.csv"\n[[comparisons]]\n', "add 'out: scores.csv'"),
        ('cases = "c.csv"\nout = "s.csv"\n[[comparisons]]\nout = "t.pdf"', "a comparison is written as"),
    ],
)
def test_a_wrong_key_or_value_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_run_file(write(tmp_path, text))


def test_a_comparison_of_what_is_not_computed_is_refused(tmp_path: Path) -> None:
    run = read_run_file(write(tmp_path, 'cases = "c.csv"\nout = "s.csv"\n[[comparisons]]\nprimary = "rouge2"'))
    check_metrics(run, ["rouge1", "rouge2"])
    with pytest.raises(UnknownName, match="'rouge2' is not computed by this run"):
        check_metrics(run, ["rouge1"])


def test_a_comparison_needs_two_systems(tmp_path: Path) -> None:
    run = read_run_file(write(tmp_path, 'cases = "c.csv"\nout = "s.csv"\n[[comparisons]]\nby = "system"'))
    cases = tmp_path / "c.csv"
    cases.write_text("id,system,candidate,reference\n1,a,x,x\n2,a,x,x\n", encoding="utf-8")
    with pytest.raises(InputError, match="a comparison needs two systems"):
        check_case_columns(run)
    cases.write_text("id,system,candidate,reference\n1,a,x,x\n1,b,x,x\n", encoding="utf-8")
    check_case_columns(run)
