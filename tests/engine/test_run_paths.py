"""The paths of a run: what is kept beside the outputs, and what must not be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from medassay.engine.run_paths import RunPaths, copied
from medassay.errors import InputError


def test_results_are_kept_beside_the_scores_until_the_run_is_complete(tmp_path: Path) -> None:
    out = tmp_path / "scores.csv"
    assert RunPaths("cases.csv", out=out).resume == tmp_path / "scores.csv.resume"
    assert RunPaths("cases.csv", report=tmp_path / "r.html").resume == tmp_path / "r.html.resume"
    for paths in (RunPaths("c", out=out, keep=False), RunPaths("c", out=out, store=tmp_path / "s"), RunPaths("c")):
        assert paths.resume is None


def test_an_input_is_never_an_output(tmp_path: Path) -> None:
    cases = tmp_path / "cases.csv"
    cases.write_text("id,candidate\n1,a\n")
    with pytest.raises(InputError, match=r"cases\.csv"):
        RunPaths(str(cases), out=cases).check({})
    RunPaths(str(cases), out=tmp_path / "out.csv").check({})
    with pytest.raises(InputError, match="device or a pipe"):
        RunPaths(str(cases), store=Path("/dev/null")).check({})


def test_an_output_that_the_next_run_would_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("id,candidate\n1,a\n")
    with pytest.raises(InputError, match="would be read as a case file"):
        RunPaths(str(tmp_path), out=tmp_path / "scores.csv").check({})


@pytest.mark.parametrize(("text", "kind"), [('{"id": 1}', "jsonl"), ("id,candidate", "csv")])
def test_a_copy_is_read_by_its_first_characters(tmp_path: Path, text: str, kind: str) -> None:
    (tmp_path / "cases").write_text(text)
    with copied(str(tmp_path / "cases"), None) as (copy, found):
        assert Path(copy).read_text() == text and found == kind
    assert not Path(copy).exists()
