"""The command line: what it prints, what it writes, how it ends."""

from __future__ import annotations

import csv
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from medassay.examples import example
from medassay.metrics.registry import names

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


def test_score_compare_and_report(tmp_path: Path, medassay: Callable) -> None:
    scores, page = tmp_path / "scores.csv", tmp_path / "report.html"
    ran = medassay("score", example("pathology.csv"), "--metrics", "rouge,bleu", "--out", scores, "--report", page)
    assert ran.code == 0
    for shown in ("rouge1", "rougeLsum", "bleu", "alder", "birch"):
        assert shown in ran.out
    assert ran.err == f"medassay: scores written to {scores}\nmedassay: report written to {page}\n"
    assert len(table(scores)) == 32
    assert page.stat().st_size > 10_000

    ran = medassay("compare", scores, "--by", "system", "--resamples", 200)
    assert ran.code == 0
    assert "alder" in ran.out
    assert "rouge1" in ran.out


def test_compare_says_what_is_missing(tmp_path: Path, medassay: Callable) -> None:
    scores = tmp_path / "scores.csv"
    assert medassay("score", example("pathology.csv"), "--metrics", "rouge1", "--out", scores).code == 0
    for arguments in (
        ["absent.csv"],
        [scores, "--by", "systm"],
        [scores, "--metrics", "rogue1"],
        [scores, "--item", "x"],
    ):
        ran = medassay("compare", *arguments)
        assert ran.code == 2, ran
        assert ran.err.startswith("medassay: ")
        assert "Traceback" not in ran.err


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
        ran = medassay("score", example("notes.csv"), "--out", folder / "s.csv", "--report", folder / "r.html")
        assert ran.code == 0
        outputs.append([ran.out, *(p.read_bytes() for p in sorted(folder.iterdir()))])
    assert outputs[0] == outputs[1]


def test_metrics_lists_every_metric(medassay: Callable) -> None:
    ran = medassay("metrics")
    assert ran.code == 0
    assert [name for name in names() if name not in ran.out] == []
    card = medassay("metrics", "rouge1")
    assert card.code == 0
    assert "stem" in card.out
    ran = medassay("metrics", "rogue1")
    assert ran.code == 2
    assert "did you mean 'rouge1'?" in ran.err


COMMANDS = {
    "score": [],
    "extract": [],
    "compare": [],
    "validate": [],
    "stress": [],
    "annotate": ["new", "serve", "links", "agreement", "export", "check"],
    "baseline": ["lead3"],
    "trust": [],
    "perturb": [],
    "trust-study": ["calibrate", "sensitivity", "repeat", "ablation", "benchmark", "gap"],
    "train": [],
    "models": ["list", "check", "fetch"],
    "metrics": [],
    "serve-scores": [],
    "demo": [],
}


def test_help_names_every_command(medassay: Callable) -> None:
    ran = medassay("--help")
    assert ran.code == 0
    assert "Usage: medassay" in ran.out
    assert "not\n  for clinical decisions" in ran.out or "not for clinical decisions" in ran.out
    listed = [line.split()[0] for line in ran.out.partition("Commands:")[2].splitlines() if line.strip()]
    assert sorted(listed) == sorted(COMMANDS)


@pytest.mark.parametrize(
    "words", [words for name, inner in COMMANDS.items() for words in ([name], *([name, one] for one in inner))]
)
def test_help_of_each_command(medassay: Callable, words: list[str]) -> None:
    ran = medassay(*words, "--help")
    assert ran.code == 0
    assert f"Usage: medassay {' '.join(words)}" in ran.out


def test_training_without_torch_says_what_to_install(medassay: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else found(name))
    ran = medassay("train", "ner", "--data", "segments.jsonl", "--base", "bert", "--out", "model")
    assert ran.code == 2
    assert ran.err == "medassay: training needs the extra 'train': pip install 'medassay[train]'\n"


def test_training_names_the_option_that_is_missing(medassay: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    ran = medassay("train", "ner", "--out", "model")
    assert (ran.code, ran.err) == (2, "medassay: train ner: give --data (see medassay train --help)\n")


def test_the_paper_preset_takes_no_other_settings(medassay: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    given = ("--data", "segments.jsonl", "--base", "bert", "--out", "model", "--preset", "paper", "--epochs", 3)
    ran = medassay("train", "ner", *given)
    assert ran.code == 2
    assert "leave out --epochs" in ran.err


def test_from_a_baseline_to_a_study(tmp_path: Path, medassay: Callable) -> None:
    texts, study = tmp_path / "texts.csv", tmp_path / "study.yaml"
    assert medassay("baseline", "lead3", example("notes.csv"), "--keep", "--out", texts).code == 0
    assert {row["system"] for row in table(texts)} == {"alder", "birch", "lead3"}
    ran = medassay("annotate", "new", study, "--cases", texts, "--annotators", "anna,ben")
    assert ran.code == 0, ran.err
    assert "15 cases, 45 texts" in ran.out
    ran = medassay("annotate", "export", study, "--out", tmp_path / "human.csv")
    assert (ran.code, ran.err) == (2, f"medassay: {study}: no task is finished yet\n")


def test_no_or_unknown_command(medassay: Callable) -> None:
    ran = medassay()
    assert ran.code == 2
    assert "Usage" in ran.out + ran.err
    ran = medassay("scroe")
    assert ran.code == 2
    assert "scroe" in ran.err


def test_version(medassay: Callable) -> None:
    import medassay as package

    ran = medassay("--version")
    assert (ran.code, ran.out) == (0, f"medassay {package.__version__}\n")


def command(
    *arguments: str, folder: Path, path: Path | None = None, given: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, **({"PYTHONPATH": str(path)} if path else {})}
    full = [sys.executable, "-m", "medassay", *arguments]
    return subprocess.run(full, cwd=folder, env=environment, input=given, capture_output=True, timeout=60, check=False)


def test_standard_input_and_silence_in_a_pipe(tmp_path: Path) -> None:
    for given in (b"candidate,reference\nx y,x\n", b'{"candidate": "x y", "reference": "x"}\n'):
        done = command("score", "-", "--metrics", "rouge1", folder=tmp_path, given=given)
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"rouge1" in done.stdout
        assert b"\x1b" not in done.stdout


def test_a_reader_that_goes_away_is_no_problem(tmp_path: Path) -> None:
    score = [sys.executable, "-m", "medassay", "score", str(example("notes.csv")), "--metrics", "rouge1"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(score, stdout=writing, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_output_that_cannot_be_written_is_an_error() -> None:
    score = [sys.executable, "-m", "medassay", "score", str(example("notes.csv")), "--metrics", "rouge1"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(score, stdout=full, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 2
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


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
