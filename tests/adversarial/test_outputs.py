"""What an output path may be: a device, a pipe, a link, a full disk. Nothing but a regular file is ever replaced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.adversarial.commands import COMMANDS, read_csv, write_inputs

OUTPUTS = [(name, option) for name, (_, options) in COMMANDS.items() for option in options]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_inputs(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def given(name: str, option: str, path: Path) -> list[object]:
    """A command with this output; a policy is always asked for."""
    arguments, options = COMMANDS[name]
    needed = ["--out", "needed.json"] if name == "calibrate" and option != "--out" else []
    assert option in options
    return [*arguments, *needed, option, path]


@pytest.mark.parametrize(("name", "option"), OUTPUTS)
def test_a_device_and_a_link_stay_what_they_are(folder: Path, medassay: Callable, name: str, option: str) -> None:
    ending = Path(COMMANDS[name][1][option]).suffix
    null, link, real = folder / f"null{ending}", folder / f"link{ending}", folder / "elsewhere" / f"real{ending}"
    null.symlink_to(os.devnull)
    real.parent.mkdir()
    link.symlink_to(real)
    before = {path.name for path in folder.iterdir()} | {"needed.json"}
    ran = medassay(*given(name, option, null))
    assert ran.code == 0, ran.err
    assert null.is_symlink() and Path(os.devnull).is_char_device()
    assert {path.name for path in folder.iterdir()} <= before  # nothing is kept beside a device
    ran = medassay(*given(name, option, link))
    assert ran.code == 0, ran.err
    assert link.is_symlink() and real.stat().st_size > 0


@pytest.mark.parametrize(("name", "option"), [("score", "--out"), ("score", "--report"), ("baseline", "--out")])
def test_a_pipe_is_written_to(folder: Path, medassay: Callable, name: str, option: str) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    ran = medassay(*given(name, option, pipe))
    assert ran.code == 0, ran.err
    reader.join(10)
    assert pipe.is_fifo() and len(got[0]) > 100
    assert not list(folder.glob("pipe.*"))


@pytest.mark.parametrize("target", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link.csv"])
def test_standard_output_is_written_to_also_where_it_is_a_file(folder: Path, target: str) -> None:
    (folder / "link.csv").symlink_to("/dev/stdout")
    arguments = ["score", "cases.csv", "--metrics", "rouge1", "--resamples", "0", "--out", target]
    with (folder / "caught").open("w") as caught:
        caught.write("before\n")
        caught.flush()
        subprocess.run([sys.executable, "-m", "medassay", *arguments], stdout=caught, cwd=folder, check=True)
    lines = (folder / "caught").read_text().splitlines()
    assert lines[0] == "before" and lines[1].startswith("id,system,people,ward,reference_key,rouge1")
    assert lines[2].startswith("0,a,0,0,") and "higher is better" in lines[-1]  # the scores, then the summary


def test_a_full_device_is_told(folder: Path, medassay: Callable) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    for option in ("--out", "--report"):
        ran = medassay(*given("score", option, Path("/dev/full")))
        assert ran.code == 2 and "/dev/full: cannot be written (No space left on device)" in ran.err


def test_a_protected_file_stays_protected(folder: Path, medassay: Callable) -> None:
    out = folder / "s.csv"
    out.write_text("mine")
    out.chmod(0o600)
    assert medassay(*given("score", "--out", out)).code == 0
    assert out.stat().st_mode & 0o777 == 0o600 and len(read_csv(out)) == 12


LIMITED = """
import resource, runpy, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))
sys.argv = ["medassay", *sys.argv[1:]]
runpy.run_module("medassay", run_name="__main__")
"""


def test_a_disk_that_is_full_at_the_meta_file_leaves_the_old_pair(folder: Path) -> None:
    # Thirty rows that cannot be read make the meta file larger than the scores file, and larger than the limit.
    (folder / "bad.csv").write_text("id,candidate,reference\n1,x,x\n" + "\n".join(["y" * 9] * 90) + "\n")
    arguments = ["score", "bad.csv", "--metrics", "rouge1", "--resamples", "0", "--no-store", "--out", "s.csv"]
    (folder / "s.csv").write_text("old scores")
    (folder / "s.csv.meta.json").write_text('{"old": 1}')
    full = subprocess.run([sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True, cwd=folder)
    assert full.returncode == 2 and "s.csv: cannot be written (File too large)" in full.stderr, full.stderr
    assert (folder / "s.csv").read_text() == "old scores"
    assert json.loads((folder / "s.csv.meta.json").read_text()) == {"old": 1}
    assert not list(folder.glob(".s.csv*"))
