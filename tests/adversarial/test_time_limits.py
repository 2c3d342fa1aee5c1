"""The time limit per case: the case that takes longer has failed, and nothing else is lost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.adversarial.commands import read_csv, write_csv, write_inputs

import medassay as package
from medassay.cases import Case, Row
from medassay.engine.base import DIED, too_long
from medassay.engine.local import Local, score_cases
from medassay.engine.store import Store
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.metrics.registry import load_metric
from medassay.scores import Score
from medassay.serving import Scorer

LATE = too_long(1)

SOURCE = """
import re, time
def slow(candidate):
    if candidate == "hang":
        re.match("(a+)+$", "a" * 60 + "b")  # holds the interpreter: no Python code runs beside it
    if candidate.startswith("sleep "):
        time.sleep(float(candidate.removeprefix("sleep ")))
    return float(len(candidate))
"""


class Slow(Metric):
    """The length of the text; `hang` never ends, `sleep S` takes S seconds, `die` ends the process."""

    name = "slow"
    summary = "length"
    defined = "here"
    needs = frozenset({"candidate"})
    bounds = (None, None)

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return [self._length(case.candidate) for case in cases]

    def _length(self, text: str) -> Score:
        if text.startswith("hang"):
            re.match(r"(a+)+$", "a" * 60 + "b")
        if text.startswith("sleep "):
            time.sleep(float(text.split()[1]))
        if text.startswith("die"):
            os._exit(7)
        return Score(float(len(text)))


def scores(texts: Sequence[str], limit: float = 1.0, workers: int = 1) -> list[float | str | None]:
    cases = [Case(str(k), text) for k, text in enumerate(texts)]
    column = score_cases(cases, [Slow()], workers=workers, case_timeout=limit)["slow"]
    return [score.value if score.failed is None else score.failed for score in column]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("at", [0, 7, 19])
def test_a_case_that_hangs_fails_and_the_rest_of_its_batch_is_scored(workers: int, at: int) -> None:
    texts = [f"text {k}" for k in range(20)]
    texts[at] = "hang"
    expected = [float(len(text)) for text in texts]
    assert scores(texts, workers=workers) == [*expected[:at], LATE, *expected[at + 1 :]]


def test_several_that_hang_and_one_that_kills() -> None:
    assert scores(["a", "hang 1", "die", "bc", "hang 2", "def"]) == [1.0, LATE, DIED, 2.0, LATE, 3.0]


def test_a_batch_that_is_slow_without_a_slow_case_is_measured_in_smaller_pieces() -> None:
    texts = [f"sleep 0.2 {k}" for k in range(30)]
    assert scores(texts) == [float(len(text)) for text in texts]


def test_the_other_metrics_of_the_case_are_measured() -> None:
    cases = [Case("1", "hang", ("hang",)), Case("2", "no tumour", ("no tumour",))]
    columns = score_cases(cases, [load_metric("rouge1"), Slow(), load_metric("chrf")], workers=1, case_timeout=1.0)
    assert [score.value for score in columns["rouge1"]] == [1.0, 1.0]
    assert [score.failed for score in columns["slow"]] == [LATE, None]
    assert [score.value for score in columns["chrf"]] == [100.0, 100.0]


def test_models_are_opened_before_the_clock_starts() -> None:
    cases = [Case(str(k), f"Adenocarcinoma of the colon, grade {k}.") for k in (1, 2)]
    free = score_cases(cases, [load_metric("logic")], workers=1)["logic"]
    assert score_cases(cases, [load_metric("logic")], workers=1, case_timeout=20.0)["logic"] == free


def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    case = Case("1", "hang")
    with Store(tmp_path / "store") as store:
        batches = Local(1, case_timeout=1.0).score(lambda: [Row(1, case)], [Slow()], store)
        assert [scored.scores["slow"].failed for batch in batches for scored in batch] == [LATE]
        assert store.get(Slow(), [case]) == [None]


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan"), float("inf")])
def test_what_is_no_time_is_refused(limit: float) -> None:
    with pytest.raises(MedassayError, match=r"case timeout: .* is no time"):
        Local(1, case_timeout=limit)


def test_in_python_and_in_a_warm_scorer() -> None:
    result = package.score(["hang", "abc"], metrics=[Slow()], case_timeout=1.0)
    assert [score.failed for score in result["slow"]] == [LATE, None]
    assert LATE in result.problems[0]
    with Scorer(Slow(), case_timeout=1.0) as scorer:
        scored = scorer.score_batch(["hang", "abc"])["slow"]
        assert [(score.value, score.failed) for score in scored] == [(None, LATE), (3.0, None)]


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, medassay: Callable) -> None:
    (tmp_path / "slow_command.py").write_text(SOURCE)
    write_csv(tmp_path / "c.csv", [["id", "candidate"], [1, "abc"], [2, "hang"], [3, "abcd"]])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    command = ["score", "c.csv", "--metrics", "py:slow_command:slow", "--out", "o.csv", "--case-timeout", "1"]
    ran = medassay(*command)
    assert ran.code == 1
    assert f"row 3: metric 'py:slow_command:slow': {LATE}" in ran.err
    rows = read_csv(tmp_path / "o.csv")
    assert [row["py:slow_command:slow"] for row in rows] == ["3.0", "", "4.0"]
    assert [row["py:slow_command:slow.failed"] for row in rows] == ["", LATE, ""]
    assert medassay(*command[:-1], "0").code == 2
    assert "local engine" in medassay(*command, "--engine", "ray").err


def test_trust_has_the_limit_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, medassay: Callable) -> None:
    write_inputs(tmp_path)
    monkeypatch.chdir(tmp_path)
    plain = medassay("trust", "cases.csv", "--resamples", "0", "--out", "plain.csv")
    limited = medassay("trust", "cases.csv", "--resamples", "0", "--out", "limited.csv", "--case-timeout", "60")
    assert plain.code == limited.code
    assert (tmp_path / "plain.csv").read_bytes() == (tmp_path / "limited.csv").read_bytes()


PARENT = """
import sys
sys.path.insert(0, {folder!r})
import medassay
print("ready", flush=True)
medassay.score(["abc", "hang"], metrics=["py:slow_parent:slow"], workers=2{limit})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the system ends workers with their parent on Linux")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("limit", ["", ", case_timeout=600"])
def test_a_worker_inside_a_hung_case_ends_with_its_parent(tmp_path: Path, how: signal.Signals, limit: str) -> None:
    (tmp_path / "slow_parent.py").write_text(SOURCE)
    script = PARENT.format(folder=str(tmp_path), limit=limit)
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "ready\n"
    workers = _until(lambda: busy if len(busy := _busy(parent.pid)) else None)
    parent.send_signal(how)
    parent.wait(20)
    _until(lambda: not any(map(_alive, workers)))


def _busy(parent: int) -> list[int]:
    """Children of a process that have used a second of processor time: they are inside the expression."""
    listed = Path(f"/proc/{parent}/task").glob("*/children")
    children = [int(pid) for path in listed for pid in path.read_text().split()]
    return [pid for pid in children if _seconds(pid) > 1.0]


def _seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _until(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """What the condition gives once it is true."""
    end = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.05)
    return answer


CASES = [{"id": k, "candidate": "a b " * k, "reference": "a b c"} for k in range(1, 6)]
OVER_SET = "z(rouge1,bleu)"


@pytest.mark.parametrize("name", ["pipe", "pipe.jsonl", "pipe.csv"])
def test_a_pipe_that_must_be_read_twice_is_copied(tmp_path: Path, medassay: Callable, name: str) -> None:
    """A metric over the set sees all cases before any is measured; a pipe can be read only once."""
    lines = "".join(json.dumps(case) + "\n" for case in CASES)
    if name.endswith(".csv"):
        lines = "id,candidate,reference\n" + "".join(",".join(map(str, case.values())) + "\n" for case in CASES)
    (plain := tmp_path / f"plain.{'csv' if name.endswith('.csv') else 'jsonl'}").write_text(lines)
    os.mkfifo(pipe := tmp_path / name)
    writer = threading.Thread(target=pipe.write_text, args=(lines,), daemon=True)
    writer.start()
    ran = medassay("score", pipe, "--metrics", OVER_SET, "--out", tmp_path / "o.csv", "--resamples", "0")
    writer.join(10)
    assert ran.code == 0, ran.err
    assert medassay("score", plain, "--metrics", OVER_SET, "--out", tmp_path / "p.csv", "--resamples", "0").code == 0
    assert (tmp_path / "o.csv").read_bytes() == (tmp_path / "p.csv").read_bytes()


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_that_must_be_read_twice_is_copied(tmp_path: Path, name: str) -> None:
    lines = "".join(json.dumps(case) + "\n" for case in CASES)
    command = [sys.executable, "-m", "medassay", "score", name, "--metrics", OVER_SET, "--out", str(tmp_path / "o.csv")]
    ran = subprocess.run([*command, "--resamples", "0"], input=lines, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert len(read_csv(tmp_path / "o.csv")) == len(CASES)


@pytest.mark.parametrize("command", [["validate", "--human", "people"], ["baseline", "lead3", "--out", "b.csv"]])
def test_commands_that_read_again_refuse_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, medassay: Callable, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pipe.csv")
    for name in ("pipe.csv", "-"):
        ran = medassay(*command, name)
        assert (ran.code, "can be read only once" in ran.err) == (2, True), ran.err
