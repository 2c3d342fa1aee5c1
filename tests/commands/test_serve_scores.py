"""The server as a process: it serves many at once, and stops without losing what it accepted."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn")

from medassay.engine.base import DIED, too_long
from medassay.serving.limits import CONNECTIONS

METRIC = """
import fcntl
import os
import re
import signal

def patient(candidate):
    if "endless" in candidate:
        re.match("(a+)+$", "a" * 60 + "b")
    if "poison" in candidate:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "held" in candidate:
        with open("gate") as gate:
            fcntl.flock(gate, fcntl.LOCK_SH)
    return float(len(candidate))
"""
PATIENT = "py:patient_metric:patient"
LIMIT = 5.0
"""Seconds that a metric may take for one case."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    (tmp_path / "patient_metric.py").write_text(METRIC)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "medassay", "serve-scores", "--metrics", f"{PATIENT},rouge1"]
        + ["--workers", "2", "--port", str(port), "--case-timeout", f"{LIMIT:g}"],
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


def scores(url: str, candidates: list[str]) -> dict[str, list[dict[str, Any]]]:
    body = json.dumps({"candidates": candidates, "references": candidates}).encode()
    request = urllib.request.Request(f"{url}/score", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        found: dict[str, list[dict[str, Any]]] = json.loads(reply.read())["scores"]
    assert [one["value"] for one in found["rouge1"]] == [1.0] * len(candidates)
    return found


def ask(url: str, candidates: list[str]) -> list[float]:
    return [one["value"] for one in scores(url, candidates)[PATIENT]]


def test_a_text_that_kills_costs_no_other_its_score(server: tuple[subprocess.Popen[str], str]) -> None:
    process, url = server
    with ThreadPoolExecutor(5) as pool:
        others = [pool.submit(ask, url, ["x" * (k + 1), "y"]) for k in range(2)]
        poisoned = pool.submit(scores, url, ["aa", "poison", "bbb"])
        others += [pool.submit(ask, url, ["x" * (k + 1), "y"]) for k in range(2, 4)]
        assert [one.result() for one in others] == [[float(k + 1), 1.0] for k in range(4)]
        found = poisoned.result()[PATIENT]
    assert [one["value"] for one in found] == [2.0, None, 3.0]
    assert [one["failed"] for one in found] == [None, DIED, None]
    assert ask(url, ["x"]) == [1.0]
    assert process.poll() is None


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks processes up in /proc")
def test_a_text_that_never_ends_fails_and_the_others_have_their_scores(
    server: tuple[subprocess.Popen[str], str],
) -> None:
    _, url = server
    with ThreadPoolExecutor(8) as clients:
        endless = clients.submit(scores, url, ["a", "endless", "abc"])
        for _ in range(4):  # some are gathered into one batch with it, some come later
            others = [clients.submit(ask, url, ["x" * k]) for k in (1, 2, 3)]
            assert [other.result() for other in others] == [[1.0], [2.0], [3.0]]
        answered = endless.result()[PATIENT]
    assert [one["value"] for one in answered] == [1.0, None, 3.0]
    assert answered[1]["failed"] == too_long(LIMIT)
    assert ask(url, ["abcd"]) == [4.0]


def test_a_name_that_is_not_its_own_is_refused(server: tuple[subprocess.Popen[str], str]) -> None:
    _, url = server
    request = urllib.request.Request(f"{url}/health", headers={"host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    assert refused.value.code == 421
    with urllib.request.urlopen(f"{url}/docs", timeout=10) as reply:
        assert b"/score" in reply.read()


def test_workers_started_anew_hold_no_connection_of_the_server(server: tuple[subprocess.Popen[str], str]) -> None:
    process, url = server
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as line:
        line.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert b"200 OK" in line.recv(1000)  # and it stays open
        assert scores(url, ["poison"])[PATIENT][0]["failed"] == DIED
        deadline = time.monotonic() + 30
        while (held := sockets_of_children(process.pid)) != [1, 1] and time.monotonic() < deadline:
            time.sleep(0.02)  # the last one has only just been started
        assert held == [1, 1]  # the pipe to the parent


def sockets_of_children(pid: int) -> list[int]:
    """How many sockets each child of a process has open."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    children = [child for task in tasks for child in (task / "children").read_text().split()]
    return [sum(entry.is_socket() for entry in Path(f"/proc/{child}/fd").iterdir()) for child in children]


def test_connections_beyond_the_limit_are_refused(server: tuple[subprocess.Popen[str], str]) -> None:
    _, url = server
    host, port = url.removeprefix("http://").split(":")
    with ExitStack() as idle:
        for _ in range(CONNECTIONS):
            idle.enter_context(socket.create_connection((host, int(port)), timeout=30))
        with pytest.raises(urllib.error.HTTPError, match="503"):
            ask(url, ["x"])
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            assert ask(url, ["x"]) == [1.0]
            break
        except urllib.error.HTTPError:
            time.sleep(0.02)  # it has yet to see that they are gone
    assert ask(url, ["xy"]) == [2.0]


def test_a_stop_finishes_what_was_accepted(server: tuple[subprocess.Popen[str], str], tmp_path: Path) -> None:
    process, url = server
    with ThreadPoolExecutor(8) as pool, (tmp_path / "gate").open("w") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)  # held until all requests have been accepted
        asked = [pool.submit(ask, url, ["held" + "x" * k, "held"]) for k in range(8)]
        cases = 0
        while cases < 16 and process.poll() is None:
            with urllib.request.urlopen(f"{url}/health", timeout=30) as reply:
                cases = json.loads(reply.read())["cases"]
        process.send_signal(signal.SIGTERM)
        fcntl.flock(gate, fcntl.LOCK_UN)
        assert [answer.result() for answer in asked] == [[float(4 + k), 4.0] for k in range(8)]
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


def test_a_busy_port_prints_one_message(medassay: Callable) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        ran = medassay("serve-scores", "--metrics", "rouge1", "--port", port)
    assert ran.code == 2 and ran.out == ""
    assert ran.err.splitlines() == [
        f"medassay: cannot listen on 127.0.0.1, port {port} (Address already in use); choose another --port"
    ]
