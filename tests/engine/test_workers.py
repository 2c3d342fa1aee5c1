"""Worker processes: the same scores as in one process, whatever dies on the way."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from tests.engine.sample import Deadly, rows

from medassay.cases import Case, Row
from medassay.engine.base import DIED
from medassay.engine.local import Local, score_cases
from medassay.engine.slices import WorkUnit
from medassay.engine.store import Store
from medassay.engine.workers import WorkerPool
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.metrics.ensemble import ZMean
from medassay.metrics.registry import load_metrics
from medassay.scores import Score


def values(texts: Sequence[str], metric: Metric, workers: int = 2, store: Store | None = None) -> list[float | str]:
    given = rows(texts)
    scored = [row for batch in Local(workers).score(lambda: given, [metric], store, batch=8) for row in batch]
    assert [row.row for row in scored] == given
    scores = [row.scores[metric.name] for row in scored]
    return [score.value if score.value is not None else score.failed or "" for score in scores]


def test_order_and_values_are_those_of_one_process() -> None:
    texts = [str(i) for i in range(100)]
    assert values(texts, Deadly()) == [float(text) for text in texts]


def test_work_is_done_by_as_many_processes_as_asked_for_and_by_no_more_than_needed() -> None:
    where = [f"where {i}" for i in range(400)]
    assert len(set(values(where[:7], Deadly(), 3))) == 1
    pids = set(values(["meet 1", *where[:7], "meet 2", *where], Meeting(), 3))
    assert 1 < len(pids) <= 3
    assert os.getpid() not in pids
    assert set(values(where[:9], Deadly(), 0)) == {float(os.getpid())}


class Meeting(Deadly):
    """The process that measures; one that measures `meet` waits for another that does."""

    name = "meeting"
    both = multiprocessing.Barrier(2)

    def score_text(self, text: str, evidence: bool) -> Score:
        if text.startswith("meet"):
            self.both.wait(60)
        return Score(float(os.getpid()))


@pytest.mark.parametrize("at", [0, 3, 7, 8, 19])
def test_a_case_that_kills_is_named_and_the_others_are_scored(at: int) -> None:
    texts = [str(i) for i in range(20)]
    texts[at] = "killer"
    wanted: list[float | str] = [float(i) for i in range(20)]
    wanted[at] = DIED
    assert values(texts, Deadly()) == wanted


class Gentle(Deadly):
    name = "gentle"

    def score_text(self, text: str, evidence: bool) -> Score:
        return Score(float(len(text)))


def test_a_death_costs_the_other_metrics_nothing() -> None:
    given = rows(["1", "22", "killer", "333"])
    last = Gentle()
    last.name = "last"
    for metrics in ([Deadly(), Gentle(), last], [Gentle(), Deadly(), last], [Gentle(), last, Deadly()]):
        scored = [row for batch in Local(1).score(lambda: given, metrics, None) for row in batch]
        assert [row.scores["deadly"].value for row in scored] == [1, 22, None, 333]
        assert [row.scores["gentle"].value for row in scored] == [1, 2, 6, 3]
        assert [row.scores["last"].value for row in scored] == [1, 2, 6, 3]


def test_a_death_by_accident_loses_nothing(tmp_path: Path) -> None:
    texts = [str(i) for i in range(20)]
    texts[5] = f"once {tmp_path / 'mark'}"
    assert values(texts, Deadly()) == [-1.0 if i == 5 else float(i) for i in range(20)]


def test_a_death_is_not_kept_so_that_a_later_run_tries_again(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store:
        metric = Deadly()
        assert values(["1", "killer", "3"], metric, store=store) == [1.0, DIED, 3.0]
        cases = [Case("", text) for text in ("1", "killer", "3")]
        assert [score is None for score in store.get(metric, cases)] == [False, True, False]


def test_a_metric_that_always_kills_fails_and_the_others_go_on() -> None:
    given = rows([f"killer {i}" for i in range(200)])
    scored = [row for batch in Local(2).score(lambda: given, [Deadly(), Gentle()], None) for row in batch]
    reasons = {row.scores["deadly"].failed for row in scored}
    assert any("worker processes keep dying (signal 9)" in (reason or "") for reason in reasons)
    assert all(reason for reason in reasons)
    assert [row.scores["gentle"].value for row in scored] == [float(len(f"killer {i}")) for i in range(200)]


def test_what_a_metric_says_to_the_user_arrives() -> None:
    assert values(["1", "user"], Deadly()) == [1.0, "MedassayError: nothing to be done"]


def test_real_metrics_give_the_same_scores_by_any_number_of_processes() -> None:
    texts = ["Tubular adenoma.", "No tumour seen; margins clear.", "Invasive carcinoma, grade 2.", "Gastritis."] * 30
    cases = [Case(str(i), text, (texts[(i * 7 + 1) % 120],), row=i) for i, text in enumerate(texts)]
    request = "rouge1,bleu,z(rouge1_r,chrf),bertscore(idf=yes)"
    one, two = (score_cases(cases, load_metrics(request), workers=workers) for workers in (0, 2))
    assert one == two


def test_an_ensemble_over_the_set_is_measured_side_by_side(tmp_path: Path) -> None:
    cases = [Case(str(i), "a b c d"[: 1 + i % 7], ("a b c",), row=i) for i in range(50)]
    metric = load_metrics("z(rouge1,chrf)")[0]
    assert isinstance(metric, ZMean)
    given = [Row(case.row, case) for case in cases]
    with Store(tmp_path / "s") as store:
        scored = [row for batch in Local(2).score(lambda: given, [metric], store) for row in batch]
    assert [row.scores[metric.name] for row in scored] == list(
        score_cases(cases, load_metrics("z(rouge1,chrf)"))[metric.name]
    )


class Waiting(Deadly):
    name = "waiting"
    waits_for_network = True


def test_a_metric_that_waits_has_a_process_of_its_own() -> None:
    pids = set(values([f"where {i}" for i in range(40)], Waiting(), 3))
    assert len(pids) == 1 and os.getpid() not in pids


class OnDevice(Deadly):
    """Records the threads that measure."""

    roles = (("nli", "paper"),)
    threads: ClassVar[set[str]] = set()

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name  # type: ignore[misc]

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        OnDevice.threads.add(threading.current_thread().name)
        return super().measure(cases, evidence)


def test_metrics_on_a_device_share_one_thread() -> None:
    metrics = [OnDevice("one"), OnDevice("two")]
    given = rows([str(i) for i in range(40)])
    scored = [row for batch in Local(2).score(lambda: given, metrics, None) for row in batch]
    assert [row.scores["two"].value for row in scored] == [float(i) for i in range(40)]
    assert OnDevice.threads == {"medassay-device"}


def test_who_waits_when_the_workers_are_closed_is_told() -> None:
    metric = Blocked()
    workers = WorkerPool([metric], 1)
    waiting = [workers.submit([WorkUnit(metric, [Case("1", "1")])], texts=False)[0] for _ in range(4)]
    workers.close()
    for future in waiting:
        with pytest.raises(MedassayError, match="stopped"):
            future.result(timeout=10)
    with pytest.raises(MedassayError, match="stopped"):
        workers.submit([WorkUnit(metric, [Case("1", "1")])], texts=False)


class Blocked(Deadly):
    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        signal.pause()  # until the process is ended
        return super().measure(cases, evidence)


def test_workers_that_cannot_be_forked_are_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medassay.engine.workers.START", "spawn")
    cases = [Case(str(i), "no tumor " + "x" * i, ("no tumor seen",), row=i) for i in range(4)]
    one, two = (score_cases(cases, load_metrics("rouge1,bertscore"), workers=workers) for workers in (0, 1))
    assert one == two


def test_a_number_of_workers_below_none_is_refused() -> None:
    with pytest.raises(MedassayError, match="less than 0"):
        Local(-1)


@pytest.fixture
def orphan(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A process with two workers that never come to an end, and their pids."""
    (tmp_path / "busy_metric.py").write_text(
        "import os, signal\n"
        "def busy(candidate):\n"
        "    with open('pids', 'w') as pipe:\n"
        "        pipe.write(f'{os.getpid()}\\n')\n"
        "    signal.pause()\n"
    )
    lines = "\n".join(f"c{i},text {i}" for i in range(1000))
    (tmp_path / "cases.csv").write_text(f"id,candidate\n{lines}\n")
    os.mkfifo(tmp_path / "pids")
    pipe = os.open(tmp_path / "pids", os.O_RDWR)
    arguments = ["score", "cases.csv", "--metrics", "py:busy_metric:busy", "--workers", "2", "--out", "out.csv"]
    process = subprocess.Popen(
        [sys.executable, "-m", "medassay", *arguments],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    written = b""
    while written.count(b"\n") < 2 and select.select([pipe], [], [], 60)[0]:
        written += os.read(pipe, 1000)
    os.close(pipe)
    yield process, [int(pid) for pid in written.split()]
    process.kill()
    process.communicate()


def has_ended(pid: int) -> bool:
    """Whether a process is gone within a minute."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 60)[0])
    finally:
        os.close(handle)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for processes by pidfd")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(orphan: tuple[subprocess.Popen[str], list[int]], how: signal.Signals) -> None:
    process, pids = orphan
    assert len(set(pids)) == 2
    if how is signal.SIGINT:
        os.killpg(process.pid, how)  # as the terminal does: to the whole group
    else:
        process.send_signal(how)
    _, errors = process.communicate(timeout=60)
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert errors.count("\n") == 1 and "the same command continues" in errors
    assert all(has_ended(pid) for pid in pids)
