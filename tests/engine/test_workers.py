"""Worker processes: the same scores as in one process, whatever dies on the way."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from medassay.cases import Case, Row
from medassay.engine.base import DIED
from medassay.engine.local import Local, score_cases
from medassay.engine.placement import checkpoint_every, placement
from medassay.engine.slices import Slices, Unit
from medassay.engine.store import Store
from medassay.engine.workers import Workers
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.metrics.ensemble import ZMean
from medassay.metrics.registry import load_metric, load_metrics
from medassay.metrics.scoring import leaves
from medassay.scores import Score


class Deadly(Metric):
    """The candidate as a number; a process that measures `killer` dies, and so does the first with `once FILE`."""

    name = "deadly"
    summary = "the number in the text"
    defined = "here"
    needs = frozenset({"candidate"})
    bounds = (None, None)

    def settings(self) -> Mapping[str, object]:
        return {"pid": "any"}

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        return [self._one(case.candidate, evidence) for case in cases]

    def _one(self, text: str, evidence: bool) -> Score:
        if text.startswith("killer"):
            os.kill(os.getpid(), signal.SIGKILL)
        if text.startswith("once "):
            mark = Path(text.removeprefix("once "))
            if not mark.exists():
                mark.touch()
                os._exit(9)
            return Score(-1.0)
        if text == "user":
            raise MedassayError("nothing to be done")
        if text.startswith("where"):
            return Score(float(os.getpid()))
        return Score(float(text), parts={}, evidence={"seen": text} if evidence else {})


def rows(texts: Sequence[str]) -> list[Row]:
    return [Row(i, Case(str(i), text)) for i, text in enumerate(texts)]


def values(texts: Sequence[str], metric: Metric, workers: int = 2, store: Store | None = None) -> list[float | str]:
    given = rows(texts)
    made = [one for batch in Local(workers).score(lambda: given, [metric], store, batch=8) for one in batch]
    assert [one.row for one in made] == given
    scores = [one.scores[metric.name] for one in made]
    return [score.value if score.value is not None else score.failed or "" for score in scores]


def test_order_and_values_are_those_of_one_process() -> None:
    texts = [str(i) for i in range(100)]
    assert values(texts, Deadly()) == [float(text) for text in texts]


def test_work_is_done_by_as_many_processes_as_asked_for_and_by_no_more_than_needed() -> None:
    where = [f"where {i}" for i in range(400)]
    assert len(set(values(where[:7], Deadly(), 3))) == 1
    places = set(values(where, Deadly(), 3))
    assert 1 < len(places) <= 3
    assert os.getpid() not in places
    assert set(values(where[:9], Deadly(), 0)) == {float(os.getpid())}


@pytest.mark.parametrize("at", [0, 3, 7, 8, 19])
def test_a_case_that_kills_is_named_and_the_others_are_scored(at: int) -> None:
    texts = [str(i) for i in range(20)]
    texts[at] = "killer"
    wanted: list[float | str] = [float(i) for i in range(20)]
    wanted[at] = DIED
    assert values(texts, Deadly()) == wanted


class Gentle(Deadly):
    name = "gentle"

    def _one(self, text: str, evidence: bool) -> Score:
        return Score(float(len(text)))


def test_a_death_costs_the_other_metrics_nothing() -> None:
    given = rows(["1", "22", "killer", "333"])
    last = Gentle()
    last.name = "last"
    for metrics in ([Deadly(), Gentle(), last], [Gentle(), Deadly(), last], [Gentle(), last, Deadly()]):
        made = [one for batch in Local(1).score(lambda: given, metrics, None) for one in batch]
        assert [one.scores["deadly"].value for one in made] == [1, 22, None, 333]
        assert [one.scores["gentle"].value for one in made] == [1, 2, 6, 3]
        assert [one.scores["last"].value for one in made] == [1, 2, 6, 3]


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
    made = [one for batch in Local(2).score(lambda: given, [Deadly(), Gentle()], None) for one in batch]
    reasons = {one.scores["deadly"].failed for one in made}
    assert any("worker processes keep dying (signal 9)" in (reason or "") for reason in reasons)
    assert all(reason for reason in reasons)
    assert [one.scores["gentle"].value for one in made] == [float(len(f"killer {i}")) for i in range(200)]


def test_what_a_metric_says_to_the_user_arrives() -> None:
    assert values(["1", "user"], Deadly()) == [1.0, "MedassayError: nothing to be done"]


def test_equal_content_is_measured_once_though_it_is_under_way(tmp_path: Path) -> None:
    submitted: list[list[str]] = []

    class Watched(Workers):
        def submit(self, units, *, texts):  # type: ignore[no-untyped-def]
            submitted.extend([case.candidate for case in unit.cases] for unit in units)
            return super().submit(units, texts=texts)

    metric = Deadly()
    pool = Watched([metric], 2)
    texts = [str(i % 12) for i in range(40)]
    try:
        with Store(tmp_path / "s") as store:
            made = [one for batch in Slices(pool, store).run(rows(texts), [metric], 8) for one in batch]
    finally:
        pool.close()
    assert [one.scores["deadly"].value for one in made] == [float(text) for text in texts]
    assert submitted == [[str(i) for i in range(8)], ["8", "9", "10", "11"]]


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
        made = [one for batch in Local(2).score(lambda: given, [metric], store) for one in batch]
    assert [one.scores[metric.name] for one in made] == list(
        score_cases(cases, load_metrics("z(rouge1,chrf)"))[metric.name]
    )


def test_the_first_rows_have_evidence_where_that_is_asked_for() -> None:
    given = rows([str(i) for i in range(12)])
    batches = list(Local(1).score(lambda: given, [Deadly()], None, batch=4, evidence=5))
    shown = [bool(one.scores["deadly"].evidence) for batch in batches for one in batch]
    assert shown == [True] * 8 + [False] * 4


class Waiting(Deadly):
    name = "waiting"
    waits_for_network = True


def test_a_metric_that_waits_has_a_process_of_its_own() -> None:
    pids = set(values([f"where {i}" for i in range(40)], Waiting(), 3))
    assert len(pids) == 1 and os.getpid() not in pids


def test_placements() -> None:
    rouge, part, ensemble = load_metrics("rouge1,rouge1_r,z(bleu,chrf)")
    assert [metric.name for metric in leaves([rouge, ensemble, rouge, part])] == ["rouge1", "bleu", "chrf", "rouge1"]
    assert placement(rouge) == "cores"
    assert placement(Waiting()) == "network"
    onnx, torch = Deadly(), Deadly()
    onnx.roles, torch.roles = (("nli", "embedded"),), (("nli", "paper"),)
    assert (placement(onnx), placement(torch)) == ("cores", "device")


def test_a_part_is_placed_as_its_whole() -> None:
    part = load_metric("judge(url=http://127.0.0.1:9/v1,model=m).accuracy")
    (whole,) = leaves([part])
    assert (placement(whole), checkpoint_every(whole)) == ("network", 16)
    assert pickle.loads(pickle.dumps(whole)).signature == whole.signature


@pytest.mark.parametrize(
    "request_", ["hare", "expert", "bertscore", "logic", "grounding", "stability", "bartscore", "fidelity", "note"]
)
def test_every_model_that_a_metric_holds_is_declared(request_: str) -> None:
    """A metric is placed by its roles, so a model that is loaded must be among them."""
    (metric,) = load_metrics(request_)
    held = {one.loaded_from[0] for one in vars(metric).values() if hasattr(one, "loaded_from")}
    assert held <= {role for role, _ in metric.roles} and metric.roles
    assert placement(metric) == "cores"


class OnDevice(Deadly):
    """Notes which thread measures, and whether another one does at the same time."""

    roles = (("nli", "paper"),)
    busy = 0
    seen: ClassVar[set[tuple[str, int]]] = set()

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name  # type: ignore[misc]

    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        OnDevice.busy += 1
        OnDevice.seen.add((threading.current_thread().name, OnDevice.busy))
        time.sleep(0.02)
        OnDevice.busy -= 1
        return super().measure(cases, evidence)


def test_metrics_on_a_device_share_one_thread() -> None:
    metrics = [OnDevice("one"), OnDevice("two")]
    given = rows([str(i) for i in range(40)])
    made = [one for batch in Local(2).score(lambda: given, metrics, None) for one in batch]
    assert [one.scores["two"].value for one in made] == [float(i) for i in range(40)]
    assert OnDevice.seen == {("medassay-device", 1)}


def test_who_waits_when_the_workers_are_closed_is_told() -> None:
    metric = Sleeping()
    workers = Workers([metric], 1)
    waiting = [workers.submit([Unit(metric, [Case("1", "1")])], texts=False)[0] for _ in range(4)]
    workers.close()
    for future in waiting:
        with pytest.raises(MedassayError, match="stopped"):
            future.result(timeout=10)
    with pytest.raises(MedassayError, match="stopped"):
        workers.submit([Unit(metric, [Case("1", "1")])], texts=False)


class Sleeping(Deadly):
    def measure(self, cases: Sequence[Case], evidence: bool = False) -> list[Score]:
        time.sleep(30)
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
def orphan(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process with two workers that are busy for long, and whose pids it has written."""
    (tmp_path / "busy_metric.py").write_text(
        "import os, time\n"
        "def busy(candidate):\n"
        "    open(os.environ['PIDS'], 'a').write(f'{os.getpid()}\\n')\n"
        "    time.sleep(0.02)\n"
        "    return 1.0\n"
    )
    lines = "\n".join(f"c{i},text {i}" for i in range(20_000))
    (tmp_path / "cases.csv").write_text(f"id,candidate\n{lines}\n")
    arguments = ["score", "cases.csv", "--metrics", "py:busy_metric:busy", "--workers", "2", "--out", "out.csv"]
    process = subprocess.Popen(
        [sys.executable, "-m", "medassay", *arguments],
        cwd=tmp_path,
        env={**os.environ, "PIDS": str(tmp_path / "pids")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    yield process
    process.kill()
    process.communicate()


def pids(folder: Path) -> set[int]:
    path = folder / "pids"
    return {int(line) for line in path.read_text().splitlines() if line} if path.exists() else set()


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def wait_for(condition, seconds: float = 60) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(orphan: subprocess.Popen[str], tmp_path: Path, how: signal.Signals) -> None:
    wait_for(lambda: len(pids(tmp_path)) == 2)
    if how is signal.SIGINT:
        os.killpg(orphan.pid, how)  # as the terminal does: to the whole group
    else:
        orphan.send_signal(how)
    _, said = orphan.communicate(timeout=60)
    if how is signal.SIGINT:
        assert orphan.returncode == 130
        assert said.count("\n") == 1 and "the same command continues" in said
    wait_for(lambda: not any(alive(pid) for pid in pids(tmp_path)))
