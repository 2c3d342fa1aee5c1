"""Tables that commands write."""

from __future__ import annotations

from pathlib import Path

from medassay.commands.tables import write_rows


def test_rows_that_a_spreadsheet_would_run_are_guarded(tmp_path: Path) -> None:
    write_rows([{"a": "=1+1", "b": -0.5}, {"a": None, "c": "y"}], tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text(encoding="utf-8") == "a,b,c\n'=1+1,-0.5,\n,,y\n"
