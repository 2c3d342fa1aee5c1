"""The server as a process: it serves many at once, and stops without losing what it accepted."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

METRIC = """
import time

def patient(candidate):
    time.sleep(0.3)
    return float(len(candidate))
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    (tmp_path / "patient_metric.py").write_text(METRIC)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "medassay", "serve-scores", "--metrics", "py:patient_metric:patient,rouge1"]
        + ["--workers", "2", "--port", str(port)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/health", timeout=5).close()
            break
        except OSError:
            time.sleep(0.05)
    yield process, url
    process.kill()
    process.communicate()


def ask(url: str, candidates: list[str]) -> list[float]:
    body = json.dumps({"candidates": candidates, "references": candidates}).encode()
    request = urllib.request.Request(f"{url}/score", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        scores = json.loads(reply.read())["scores"]
    assert all(one["value"] == 1.0 for one in scores["rouge1"])
    return [one["value"] for one in scores["py:patient_metric:patient"]]


def test_a_stop_finishes_what_was_accepted(server: tuple[subprocess.Popen[str], str]) -> None:
    process, url = server
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask, url, ["x" * (k + 1), "y"]) for k in range(8)]
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with urllib.request.urlopen(f"{url}/health", timeout=5) as reply:
                if json.loads(reply.read())["cases"] == 16:
                    break
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert [one.result() for one in asked] == [[float(k + 1), 1.0] for k in range(8)]
    _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
    with pytest.raises(OSError):
        ask(url, ["x"])


def test_what_it_needs_is_said(medassay: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEDASSAY_SERVE_KEY", raising=False)
    ran = medassay("serve-scores", "--host", "0.0.0.0")
    assert (ran.code, "set MEDASSAY_SERVE_KEY" in ran.err) == (2, True)
    ran = medassay("serve-scores", "--metrics", "z(rouge1,chrf)", "--workers", "0")
    assert (ran.code, "depends on the whole set" in ran.err) == (2, True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = medassay("serve-scores", "--metrics", "rouge1", "--workers", "0", "--port", port)
    assert (ran.code, "choose another --port" in ran.err) == (2, True)
    assert os.environ.get("MEDASSAY_SERVE_KEY") is None
