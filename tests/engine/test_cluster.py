"""The Ray engine: the same bytes as the local one, whatever dies on the way."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from medassay.engine import load_engine
from medassay.engine.base import DIED, CaseFiles, Engine
from medassay.engine.job import Job, Outcome
from medassay.engine.local import Local
from medassay.engine.parts import Parts
from medassay.errors import InputError, MedassayError, ModelError
from medassay.metrics.registry import load_metrics

pytestmark = pytest.mark.ray

MODULE = """
import os, signal
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

class Card(Metric):
    name = "card"
    summary = defined = "here"
    runs_on = "device"
    keep_every = 8
    def measure(self, cases):
        called("cards", str(os.getpid()))
        return [Score(float(len(case.candidate))) for case in cases]
"""


@pytest.fixture(scope="module")
def ray() -> Iterator[None]:
    ray = pytest.importorskip("ray")
    os.environ["RAY_BACKEND_LOG_LEVEL"] = "fatal"
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200 << 20)
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


def score(source: str, metrics: str, out: Path, engine: Engine, **more: object) -> Outcome:
    return Job(source, load_metrics(metrics), out=out, resamples=20, engine=engine, **more).run()  # type: ignore[arg-type]


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
def test_a_stopped_run_continues_with_what_is_missing(folder: Path) -> None:
    texts = [f"text {i}" for i in range(300)]
    texts[290] = "refused"
    source = cases(folder / "cases.csv", texts)
    with pytest.raises(MedassayError, match=f"on the worker {socket.gethostname()}: refused until allowed"):
        score(source, "py:made_metric:counted", folder / "out.csv", engine())
    parts = list((folder / "out.csv.resume.parts").glob("part-*.parquet"))
    assert 0 < len(parts) < 5
    assert not (folder / "out.csv").exists()
    before = len(lines(folder / "calls"))
    (folder / "allowed").touch()
    assert not score(source, "py:made_metric:counted", folder / "out.csv", engine()).problems
    assert len(lines(folder / "calls")) - before == 300 - 64 * len(parts)
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
def test_metrics_that_want_a_device_have_workers_of_their_own(folder: Path) -> None:
    source = cases(folder / "cases.csv", [f"text {i}" for i in range(40)])
    both = "rouge1,py:made_metric:Card"
    score(source, both, folder / "out.csv", engine())
    score(source, both, folder / "here.csv", Local(0))
    assert (folder / "out.csv").read_bytes() == (folder / "here.csv").read_bytes()
    assert str(os.getpid()) in lines(folder / "cards") and len(set(lines(folder / "cards"))) > 1


@pytest.mark.usefixtures("ray")
def test_a_worker_without_the_model_says_so(folder: Path) -> None:
    from medassay.models.graphs import HOME

    shutil.copytree(HOME, folder / "models")
    (metric,) = load_metrics(f"bertscore(models={folder / 'models'})")
    source = cases(folder / "cases.csv", ["one", "two"])
    (folder / "models").rename(folder / "elsewhere")
    with pytest.raises(MedassayError, match=r"on the worker .*models"):
        Job(source, [metric], engine=engine()).run()


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
