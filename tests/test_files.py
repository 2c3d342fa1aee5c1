"""Output files: complete or not there, whatever the target is and whoever else writes it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from medassay.errors import InputError
from medassay.files import OutputFile, open_output, write_rows, write_text


def test_the_old_file_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), open_output(path) as stream:
        stream.write("half")
        raise ZeroDivisionError
    assert path.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["f.txt"]
    write_text(path, "new")
    assert path.read_text() == "new" and [p.name for p in tmp_path.iterdir()] == ["f.txt"]


def test_a_link_is_followed_and_the_mode_is_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real" / "f.txt", tmp_path / "link.txt"
    real.parent.mkdir()
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_text(link, "new")
    assert link.is_symlink() and real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through")
    reader.join(10)
    assert got == ["through"] and pipe.is_fifo()
    write_text(Path(os.devnull), "away")
    assert Path(os.devnull).is_char_device()


def test_two_runs_share_no_temporary_file(tmp_path: Path) -> None:
    one, two = OutputFile(tmp_path / "f"), OutputFile(tmp_path / "f")
    assert one.temporary != two.temporary
    one.temporary.write_text("one")
    two.temporary.write_text("two")
    two.commit()
    one.commit()
    assert (tmp_path / "f").read_text() == "one" and len(list(tmp_path.iterdir())) == 1


def test_what_a_killed_run_has_left_is_removed_by_the_next(tmp_path: Path) -> None:
    code = f"""
import os
from pathlib import Path
from medassay.files import OutputFile
OutputFile(Path({str(tmp_path / "f")!r}))
os._exit(9)
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    mine = OutputFile(tmp_path / "f")
    assert list(tmp_path.iterdir()) == [mine.temporary]
    OutputFile(tmp_path / "f").commit()
    assert mine.temporary.exists()  # of a process that lives


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent" / "f"):
        with pytest.raises(InputError, match="cannot be written"):
            write_text(path, "x")


def test_rows_that_a_spreadsheet_would_run_are_guarded(tmp_path: Path) -> None:
    write_rows([{"a": "=1+1", "b": -0.5}, {"a": None, "c": "y"}, {"candidate": "=x", "b": 2.0}], tmp_path / "x.csv")
    expected = "a,b,c,candidate\n'=1+1,-0.5,,\n,,y,\n,2,, =x\n"
    assert (tmp_path / "x.csv").read_text(encoding="utf-8") == expected
    with pytest.raises(InputError, match=r"use one of \.csv, \.jsonl"):
        write_rows([], tmp_path / "x.xlsx")
