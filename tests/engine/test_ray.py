"""The Ray engine: the same bytes as the local one, whatever dies on the way."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medassay.api import FileOutcome, FileRun
from medassay.engine import load_engine
from medassay.engine.base import DIED, CaseFiles, Engine
from medassay.engine.local import Local
from medassay.engine.ray import StagePool, stage_pools
from medassay.engine.ray_parts import Parts
from medassay.engine.ray_tasks import read_slices
from medassay.engine.store import Store
from medassay.errors import InputError, MedassayError, ModelError
from medassay.metrics.registry import load_metrics

pytestmark = pytest.mark.ray

MODULE = """
import os, resource, signal, time
from pathlib import Path
from medassay.metrics.base import Metric
from medassay.scores import Score

HERE = Path(__file__).parent

def called(name, text):
    with (HERE / name).open("a") as stream:
        stream.write(text + "\\\\n")

def counted(candidate):
    called("calls", candidate)
    if candidate == "refused" and not (HERE / "allowed").exists():
        from medassay.errors import MedassayError
        raise MedassayError("refused until allowed")
    if candidate == "killer":
        os.kill(os.getpid(), signal.SIGKILL)
    if candidate == "once" and not (HERE / "mark").exists():
        (HERE / "mark").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return float(len(candidate))

def patient(candidate):
    end = time.monotonic() + 20
    while candidate.startswith("late") and not (HERE / "cards").exists():
        if time.monotonic() > end or (HERE / "tired").exists():
            (HERE / "tired").touch()
            raise ValueError("no device worked while there was work for the cores")
        time.sleep(0.05)
    return 1.0

def filled(candidate):
    small = (20_000 if (HERE / "allowed").exists() else 1_000)
    resource.setrlimit(resource.RLIMIT_FSIZE, (small, resource.RLIM_INFINITY))
    return 1.0

def slow(candidate):
    called("calls", candidate)
    time.sleep(float(os.environ.get("PAUSE", "0")))
    return float(len(candidate))

class Card(Metric):
    name = "card"
    summary = defined = "here"
    roles = (("nli", "paper"),)
    def measure(self, cases, evidence=False):
        called("cards", f"{os.getpid()} {os.environ.get('CUDA_VISIBLE_DEVICES', '')}")
        return [Score(float(len(case.candidate))) for case in cases]
"""


@pytest.fixture(scope="module")
def ray() -> Iterator[None]:
    ray = pytest.importorskip("ray")
    os.environ["RAY_BACKEND_LOG_LEVEL"] = "fatal"
    ray.init(
        "local", num_cpus=2, num_gpus=1, include_dashboard=False, log_to_driver=False, object_store_memory=200 << 20
    )
    yield
    ray.shutdown()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "made_metric.py").write_text(MODULE.replace("\\\\n", "\\n"))
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("made_metric", None)
    return tmp_path


def cases(path: Path, texts: list[str]) -> str:
    path.write_text("\n".join(["id,candidate,reference", *(f"c{i},{t},a b {t}" for i, t in enumerate(texts))]) + "\n")
    return str(path)


def score(source: str, metrics: str, out: Path, engine: Engine, **more: Any) -> FileOutcome:
    return FileRun(source, load_metrics(metrics), out=out, resamples=20, engine=engine, **more).run()


def engine() -> Engine:
    return load_engine("ray", workers=2)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.usefixtures("ray")
def test_a_folder_gives_the_same_bytes_as_locally(folder: Path) -> None:
    source = folder / "cases"
    source.mkdir()
    texts = [f"tumor {i % 11} seen {'x' * (i % 5)}" for i in range(150)]
    cases(source / "a.csv", texts)
    records = [{"id": f"j{i}", "candidate": text, "reference": ["tumor", "x y"]} for i, text in enumerate(texts)]
    records[7]["id"] = "c3"  # stands in the other file already
    (source / "b.jsonl").write_text("\n".join([*map(json.dumps, records), "no json"]) + "\n")
    metrics = "rouge1,z(rouge1,chrf),bertscore(idf=yes)"
    for suffix in ("csv", "parquet"):
        here, there = (
            score(str(source), metrics, folder / f"{name}.{suffix}", one)
            for name, one in (("here", Local(0)), ("there", engine()))
        )
        assert here.problems == there.problems and len(here.problems) == 2
        assert here.aggregates == there.aggregates
        for end in ("", ".meta.json"):
            ours, theirs = (folder / f"{name}.{suffix}{end}" for name in ("here", "there"))
            assert ours.read_bytes() == theirs.read_bytes()
    assert not list(folder.glob("*.resume*"))


@pytest.mark.usefixtures("ray")
def test_a_run_continues_with_what_is_missing_or_has_failed(folder: Path) -> None:
    texts = [f"text {i}" for i in range(300)]
    texts[290] = "refused"
    source = cases(folder / "cases.csv", texts)
    with Store(folder / "out.csv.resume") as store:
        batches = engine().score(CaseFiles(source), load_metrics("py:made_metric:counted"), store)
        refused = [one.scores["py:made_metric:counted"].failed for batch in batches for one in batch][290]
    assert refused == "MedassayError: refused until allowed"
    before = len(lines(folder / "calls"))
    (folder / "allowed").touch()
    # Parts are found again, but for the one that holds a failure.
    assert not score(source, "py:made_metric:counted", folder / "out.csv", engine()).problems
    assert len(lines(folder / "calls")) - before == 300 - 4 * 64
    score(source, "py:made_metric:counted", folder / "whole.csv", Local(0))
    assert (folder / "out.csv").read_bytes() == (folder / "whole.csv").read_bytes()
    assert not list(folder.glob("*.resume*"))


@pytest.mark.usefixtures("ray")
def test_parts_of_another_file_or_metric_are_not_taken_over(folder: Path) -> None:
    first = Parts(folder / "parts")
    first.begin({"size": 1})
    first.write(0, 0, [], [])
    first.begin({"size": 1})
    assert first.path(0, 0).exists()
    first.begin({"size": 2})
    assert not first.path(0, 0).exists()


@pytest.mark.usefixtures("ray")
def test_a_killed_worker_loses_nothing_and_a_case_that_kills_is_named(folder: Path) -> None:
    texts = [f"text {i}" for i in range(100)]
    texts[20], texts[70] = "once", "killer"
    source = cases(folder / "cases.csv", texts)
    outcome = score(source, "py:made_metric:counted", folder / "out.jsonl", engine())
    assert outcome.problems == [f"row 72: metric 'py:made_metric:counted': {DIED}"]
    rows = [json.loads(line) for line in lines(folder / "out.jsonl")]
    assert [row["id"] for row in rows] == [f"c{i}" for i in range(100)]
    values = [row["py:made_metric:counted"] for row in rows]
    assert values == [None if i == 70 else float(len(text)) for i, text in enumerate(texts)]


@pytest.mark.usefixtures("ray")
@pytest.mark.parametrize("cards", [True, False])
def test_metrics_that_want_a_device_have_workers_of_their_own_at_the_same_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch, cards: bool
) -> None:
    import ray

    if not cards:
        monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 2.0})
    source = cases(folder / "cases.csv", [f"{'late' if i > 63 else 'text'} {i}" for i in range(160)])
    both = "py:made_metric:patient,py:made_metric:Card"
    score(source, both, folder / "out.csv", load_engine("ray", workers=2 if cards else 4), batch=8)
    used = {line.split()[1] if cards else line.split()[0] for line in lines(folder / "cards")}
    assert used == {"0"} if cards else len(used) <= 2
    score(source, both, folder / "here.csv", Local(0))
    assert (folder / "out.csv").read_bytes() == (folder / "here.csv").read_bytes()
    assert lines(folder / "cards")[-1].split()[0] == str(os.getpid())


def test_stages_are_no_larger_than_what_runs_at_once() -> None:
    both = ["cores", "device"]
    assert stage_pools(["cores"], None, 8, 0) == [StagePool(8, 0.9, 0)]
    assert stage_pools(["device"], None, 8, 2) == [StagePool(2, 0, 1)]
    assert stage_pools(both, None, 8, 1) == [StagePool(8, 0.9, 0), StagePool(1, 0, 1)]
    assert stage_pools(both, 4, 8, 1) == [StagePool(4, 0.9, 0), StagePool(1, 0, 1)]
    assert stage_pools(both, None, 8, 0) == [StagePool(4, 0.9, 0), StagePool(4, 0.9, 0)]
    assert stage_pools(both, 3, 8, 0) == [StagePool(2, 0.9, 0), StagePool(1, 0.9, 0)]
    assert stage_pools(both, 1, 1, 0) == [StagePool(1, 0.45, 0), StagePool(1, 0.45, 0)]
    assert stage_pools(["cores"], 4, 2, 0) == [StagePool(4, 0.45, 0)]


@pytest.mark.usefixtures("ray")
def test_a_killed_reader_loses_no_slice(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark, parts = folder / "mark", folder / "out.csv.resume.parts"

    def dying(files: Any, **given: Any) -> Iterator[Any]:
        for number, one in enumerate(read_slices(files, **given)):
            if number == 4 and not mark.exists():
                while len(list(parts.glob("part-*.parquet"))) < 3:
                    time.sleep(0.05)
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            yield one

    monkeypatch.setattr("medassay.engine.ray.read_slices", dying)
    source = cases(folder / "cases.csv", [f"text {i}" for i in range(640)])
    score(source, "py:made_metric:slow", folder / "out.csv", engine())
    assert mark.exists() and len(lines(folder / "calls")) == 640
    score(source, "py:made_metric:slow", folder / "here.csv", Local(0))
    assert (folder / "out.csv").read_bytes() == (folder / "here.csv").read_bytes()


@pytest.mark.usefixtures("ray")
def test_a_worker_without_the_model_says_so(folder: Path) -> None:
    from medassay.models.graphs import HOME

    shutil.copytree(HOME, folder / "models")
    (metric,) = load_metrics(f"bertscore(models={folder / 'models'})")
    source = cases(folder / "cases.csv", ["one", "two"])
    (folder / "models").rename(folder / "elsewhere")
    with pytest.raises(MedassayError, match=r"on the worker .*models"):
        FileRun(source, [metric], engine=engine()).run()


@pytest.mark.usefixtures("ray")
def test_what_concerns_the_file_is_told_as_locally(folder: Path) -> None:
    (folder / "empty.csv").write_text("id,candidate\n")
    (folder / "wrong.csv").write_text("id,text\n1,x\n")
    for name, said in (
        ("empty.csv", "no rows"),
        ("wrong.csv", "no column 'candidate'"),
        ("absent.csv", "no such file"),
    ):
        with pytest.raises(MedassayError, match=said):
            score(str(folder / name), "rouge1", folder / "out.csv", engine())
    cases(folder / "twice.csv", ["a", "b"])
    text = (folder / "twice.csv").read_text().replace("c1", "c0")
    (folder / "twice.csv").write_text(text)
    with pytest.raises(InputError, match="row 3: id 'c0' already stands in row 2"):
        score(str(folder / "twice.csv"), "rouge1", folder / "out.csv", engine(), strict=True)


@pytest.mark.usefixtures("ray")
def test_a_full_disk_is_told_and_the_run_continues_once_there_is_room(folder: Path) -> None:
    source = cases(folder / "cases.csv", [f"text {i}" for i in range(200)])
    with pytest.raises(MedassayError, match=r"on the worker .*File too large; is the disk full\?"):
        score(source, "py:made_metric:filled", folder / "out.parquet", engine())
    left = {path.name for path in (folder / "out.parquet.resume.parts").iterdir()}
    assert left == {"plan.json", "tries"} and not list(folder.glob("*.partial*"))
    (folder / "allowed").touch()
    assert not score(source, "py:made_metric:filled", folder / "out.parquet", engine()).problems
    assert not list(folder.glob("*.resume*"))


@pytest.mark.parametrize("group", [True, False])
def test_an_interrupted_run_stops_continues_and_ends_in_the_same_bytes(folder: Path, group: bool) -> None:
    source = cases(folder / "cases.csv", [f"text {i}" for i in range(1000)])

    def command(pause: float) -> subprocess.Popen[str]:
        arguments = ["score", source, "--metrics", "py:made_metric:slow", "--out", "out.csv", "--resamples", "20"]
        return subprocess.Popen(
            [sys.executable, "-m", "medassay", *arguments, "--engine", "ray", "--workers", "2"],
            cwd=folder,
            env={**os.environ, "PAUSE": str(pause)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    parts = folder / "out.csv.resume.parts"
    process = command(pause=0.02)
    deadline = time.monotonic() + 60
    while len(list(parts.glob("part-*.parquet"))) < 3 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT) if group else process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "the same command continues where it stopped" in said and "Traceback" not in said
    assert not (folder / "out.csv").exists() and not list(folder.glob("*.partial*"))
    kept, done = len(list(parts.glob("part-*.parquet"))), len(lines(folder / "calls"))
    assert 3 <= kept < 16

    process = command(pause=0)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert len(lines(folder / "calls")) - done == 1000 - 64 * kept
    score(source, "py:made_metric:slow", folder / "here.csv", Local(0))
    assert (folder / "out.csv").read_bytes() == (folder / "here.csv").read_bytes()
    assert not list(folder.glob("*.resume*"))


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_no_cluster_at_the_address_is_told(folder: Path, scheme: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"{scheme}127.0.0.1:{free.getsockname()[1]}"
    source = cases(folder / "cases.csv", ["one"])
    ran = subprocess.run(
        [sys.executable, "-m", "medassay", "score", source, "--engine", "ray", "--address", address],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 2
    assert f"no Ray cluster at {address}" in ran.stderr and "ray start --head" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_what_the_engine_does_not_do_is_refused(folder: Path) -> None:
    judge = load_metrics("judge(url=http://localhost:1/v1,model=m)")
    with pytest.raises(MedassayError, match="asks an endpoint; use the engine local"):
        next(load_engine("ray").score(CaseFiles("x.csv"), judge, None))
    with pytest.raises(InputError, match="not a stream"):
        next(load_engine("ray").score(CaseFiles("-"), load_metrics("rouge1"), None))
    with pytest.raises(MedassayError, match="at least one worker"):
        load_engine("ray", workers=0)
    assert issubclass(ModelError, MedassayError)
