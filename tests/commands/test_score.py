"""`medassay score`: what it prints and writes, standard input, metrics of one's own."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from medassay.examples import example

MARKS = '''
from medassay import Case, Metric, Score

class Marks(Metric):
    """Exclamation marks of the candidate."""

    name = "marks"
    summary = "exclamation marks of the candidate"
    defined = "the plug-in's own page"
    needs = frozenset({"candidate"})
    higher_is_better = False
    bounds = (0.0, None)

    def measure(self, cases, evidence=False):
        return [Score(float(case.candidate.count("!"))) for case in cases]
'''


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def command(
    *arguments: str, folder: Path, path: Path | None = None, given: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, **({"PYTHONPATH": str(path)} if path else {})}
    full = [sys.executable, "-m", "medassay", *arguments]
    return subprocess.run(full, cwd=folder, env=environment, input=given, capture_output=True, timeout=60, check=False)


def test_mean_over_references_is_in_the_signature(tmp_path: Path, medassay: Callable) -> None:
    values = {}
    for how in ("best", "mean"):
        out = tmp_path / f"{how}.csv"
        assert (
            medassay(
                "score", example("references.jsonl"), "--metrics", "rouge1", "--references", how, "--out", out
            ).code
            == 0
        )
        values[how] = [float(row["rouge1"]) for row in table(out)]
        assert f"refs:{how}" in (tmp_path / f"{how}.csv.meta.json").read_text()
    assert all(best >= mean for best, mean in zip(values["best"], values["mean"]))
    assert values["best"] != values["mean"]


def test_grouping_by_a_carried_column(medassay: Callable) -> None:
    ran = medassay("score", example("notes.csv"), "--metrics", "rouge1", "--by", "topic", "--resamples", 0)
    assert ran.code == 0
    assert "urology" in ran.out


def test_same_input_same_bytes(tmp_path: Path, medassay: Callable) -> None:
    outputs = []
    for run in ("one", "two"):
        folder = tmp_path / run
        folder.mkdir()
        files = ("--out", folder / "s.csv", "--report", folder / "r.html")
        ran = medassay("score", example("notes.csv"), "--metrics", "lexical", *files)
        assert ran.code == 0
        outputs.append([ran.out, *(p.read_bytes() for p in sorted(folder.iterdir()))])
    assert outputs[0] == outputs[1]


def test_standard_input_and_silence_in_a_pipe(tmp_path: Path) -> None:
    for given in (b"candidate,reference\nx y,x\n", b'{"candidate": "x y", "reference": "x"}\n'):
        done = command("score", "-", "--metrics", "rouge1", folder=tmp_path, given=given)
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"rouge1" in done.stdout
        assert b"\x1b" not in done.stdout


def test_a_callable_of_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def shorter(candidate, reference):\n    return len(candidate) < len(reference)\n"
    )
    given = b"candidate,reference\nx,xyz\nxyz,x\n"
    done = command("score", "-", "--metrics", "py:mine:shorter", "--out", "s.csv", folder=tmp_path, given=given)
    assert done.returncode == 0, done.stderr
    assert [float(row["py:mine:shorter"]) for row in table(tmp_path / "s.csv")] == [1.0, 0.0]


def test_a_third_party_metric_joins_through_its_entry_point(tmp_path: Path) -> None:
    site = tmp_path / "site"
    info = site / "marks-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "marks_plugin.py").write_text(MARKS)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: marks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[medassay.metrics]\nmarks = marks_plugin:Marks\nbroken = marks_plugin:Absent\n"
    )

    listed = command("metrics", "marks", folder=tmp_path, path=site)
    assert listed.returncode == 0
    assert b"exclamation marks of the candidate" in listed.stdout
    given = b"candidate\nx!!\ny\n"
    done = command("score", "-", "--metrics", "marks", "--out", "s.csv", folder=tmp_path, path=site, given=given)
    assert done.returncode == 0, done.stderr
    assert [row["marks"] for row in table(tmp_path / "s.csv")] == ["2.0", "0.0"]
    broken = command("score", "-", "--metrics", "broken", folder=tmp_path, path=site, given=given)
    assert broken.returncode == 2
    assert b"metric 'broken' cannot be loaded from marks_plugin:Absent" in broken.stderr
    # One broken plug-in does not hide the others.
    everything = command("metrics", folder=tmp_path, path=site)
    assert everything.returncode == 0
    assert b"marks" in everything.stdout
    assert b"broken" in everything.stdout + everything.stderr
