"""Paths of a command: compared by what they are, and held against other runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from medassay.errors import InputError
from medassay.paths import ReadFolder, check_paths, hold

HOLDER = """
import sys, time
from pathlib import Path
from medassay.paths import hold
with hold([Path(sys.argv[1])]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "cases.csv"
    path.write_text("x")
    return path


def test_what_cannot_be_written_is_said_before(tmp_path: Path, source: Path) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for path, message in (
        (tmp_path / "absent" / "f", "does not exist; create it first"),
        (tmp_path, "is a folder"),
        (source, "is the input itself"),
        (tmp_path / "circle", "leads nowhere"),
        (Path("/dev/no-such-device"), "no such device"),
    ):
        with pytest.raises(InputError, match=message):
            check_paths({"cases": source}, {"--out": path})


def test_an_input_is_known_under_every_name(tmp_path: Path, source: Path) -> None:
    soft, hard, twice = tmp_path / "soft.csv", tmp_path / "hard.csv", tmp_path / "twice.csv"
    soft.symlink_to(source)
    os.link(source, hard)
    twice.symlink_to(soft)
    (tmp_path / "folder").symlink_to(tmp_path)
    for path in (soft, hard, twice, tmp_path / "folder" / "cases.csv", tmp_path / "." / "cases.csv"):
        with pytest.raises(InputError, match="is the input itself") as caught:
            check_paths({"cases": [None, str(source)]}, {"--report": path})
        assert str(path) in str(caught.value) and f"{source} (cases)" in str(caught.value)
    check_paths({"cases": source}, {"--out": tmp_path / "new.csv", "--report": None})


def test_two_outputs_are_never_one_file(tmp_path: Path, source: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "new.csv")  # leads to what is not there yet
    for other in (tmp_path / "new.csv", tmp_path / "link.csv"):
        with pytest.raises(InputError, match="cannot be one file") as caught:
            check_paths({"cases": source}, {"--out": tmp_path / "new.csv", "--report": other})
        assert "(--out)" in str(caught.value) and f"{other} (--report)" in str(caught.value)
    check_paths({}, {"--out": Path("/dev/null"), "--report": Path("/dev/null")})


def test_what_is_read_in_a_folder_is_an_input(tmp_path: Path) -> None:
    image, table = tmp_path / "images" / "a.PNG", tmp_path / "images" / "scores.csv"
    image.parent.mkdir()
    image.write_text("x")
    table.write_text("x")
    folder = ReadFolder(image.parent, {".png"})
    check_paths({"images": folder}, {"--out": table})
    with pytest.raises(InputError, match=re.escape(f"is read from {image.parent} (images)")):
        check_paths({"images": folder}, {"--out": image})
    with pytest.raises(InputError, match="is read from"):
        check_paths({"--models": ReadFolder(image.parent)}, {"--out": table})


def test_folders_that_will_be_created(tmp_path: Path, source: Path) -> None:
    new = tmp_path / "a" / "b"
    check_paths({"cases": source}, {"--out": new / "cases.csv"}, folders={"--out": new})
    with pytest.raises(InputError, match="is a file and no folder"):
        check_paths({}, {}, folders={"--out": source / "b"})
    with pytest.raises(InputError, match="is the input itself"):
        check_paths({"cases": source}, {"--out": tmp_path / "cases.csv"}, folders={"--out": tmp_path})


def test_an_output_is_held_by_one_run(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    (tmp_path / "link.csv").symlink_to(path)
    with hold([path, None, Path("/dev/null")]):
        for again in (path, tmp_path / "link.csv"):
            with pytest.raises(InputError, match=rf"s.csv: is being written by process {os.getpid()} on .*, since 20"):
                hold([again]).__enter__()
        with hold([tmp_path / "other.csv"]):
            pass
    with hold([path]):
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["link.csv"]


def test_the_lock_of_a_process_that_is_gone_is_free(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    with pytest.raises(InputError, match=f"is being written by process {holder.pid} on"):
        hold([path]).__enter__()
    holder.kill()
    holder.wait()
    assert (tmp_path / ".s.csv.lock").exists()
    with hold([path]):
        pass
    assert not list(tmp_path.iterdir())


def test_the_lock_of_a_long_name_is_its_own(tmp_path: Path) -> None:
    start = "n" * 240
    with hold([tmp_path / f"{start}1.csv"]), hold([tmp_path / f"{start}2.csv"]):
        assert len(list(tmp_path.iterdir())) == 2
