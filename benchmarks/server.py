"""The score server with many clients at once, against the same cases scored as one batch by the same workers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.reading import write_reports
from benchmarks.texts import pairs
from medassay.cases import read_cases
from medassay.cores import cores
from medassay.serving.scorer import Scorer

LEXICAL = "rouge1,rouge2,rougeL,bleu,chrf"
CLIENTS = 32
ROUNDS = 3
_WORK = ((LEXICAL, 25_600, 60, 16), ("hare", 256, 0, 8))
"""Metrics, cases in all, words per text (0: reports put together from the examples), cases per request."""

Pairs = Sequence[tuple[str, str]]


def run() -> Iterator[Figure]:
    """Cases a second, the median of rounds that take turns, and errors."""
    for metrics, number, words, size in _WORK:
        made = pairs(number, words) if words else _reports(number)
        rounds = [(_batch(metrics, made), *_served(metrics, made, size)) for _ in range(ROUNDS)]
        whole = sorted(batch for batch, _, _ in rounds)[ROUNDS // 2]
        served = sorted(rate for _, rate, _ in rounds)[ROUNDS // 2]
        errors = sum(failed for _, _, failed in rounds)
        share = served / whole
        yield Figure(
            f"{metrics.partition(',')[0]}{' …' * (',' in metrics)}, {size} per request",
            f"{served:,.0f} cases/s, as one batch {whole:,.0f}: {share:.0%}; {errors} errors "
            f"(load {os.getloadavg()[0]:.1f})",
            "80 %, none",
            share >= 0.8 and errors == 0,
        )


def _reports(number: int) -> Pairs:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports.csv"
        write_reports(path, number)
        cases = [row.case for row in read_cases(path) if row.case is not None]
    return [(case.candidate, case.references[0]) for case in cases]


def _batch(metrics: str, made: Pairs) -> float:
    with Scorer(metrics, workers=cores()) as scorer:
        scorer.warm()
        began = time.perf_counter()
        scorer.score_batch([one for one, _ in made], [other for _, other in made])
        return len(made) / (time.perf_counter() - began)


def _served(metrics: str, made: Pairs, size: int) -> tuple[float, int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "medassay", "serve-scores", "--metrics", metrics, "--port", str(port)],
        stdout=subprocess.DEVNULL,
    )
    try:
        _wait(port)
        bodies = [
            json.dumps({"candidates": [a for a, _ in some], "references": [b for _, b in some]}).encode()
            for some in (made[start : start + size] for start in range(0, len(made), size))
        ]
        began = time.perf_counter()
        errors = _flood(port, bodies)
        return len(made) / (time.perf_counter() - began), errors
    finally:
        process.terminate()
        process.wait(60)


def _wait(port: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the score server did not start")


def _flood(port: int, bodies: Sequence[bytes]) -> int:
    """Every body asked once, by clients side by side; how many were not answered with 200."""
    todo = list(bodies)
    lock = threading.Lock()
    errors = 0

    def client() -> None:
        nonlocal errors
        with socket.create_connection(("127.0.0.1", port), timeout=300) as line:
            while True:
                with lock:
                    if not todo:
                        return
                    body = todo.pop()
                if not _answered(line, body):
                    with lock:
                        errors += 1

    clients = [threading.Thread(target=client) for _ in range(CLIENTS)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    return errors


def _answered(line: socket.socket, body: bytes) -> bool:
    """One request over an open connection; whether it was answered with 200. As little work as a client can do: on
    one machine clients take cores from the server."""
    head = b"POST /score HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    line.sendall(head % len(body) + body)
    told = line.recv(1 << 16)
    while b"\r\n\r\n" not in told:
        told += line.recv(1 << 16)
    answer, _, rest = told.partition(b"\r\n\r\n")
    missing = int(answer.lower().partition(b"content-length:")[2].split(b"\r\n")[0]) - len(rest)
    while missing > 0:
        missing -= len(line.recv(min(missing, 1 << 20)))
    return answer.startswith(b"HTTP/1.1 200")
