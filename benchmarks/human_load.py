"""Many annotators at once, and a server that is killed under them.

    python -m benchmarks.human_load                        50 annotators, 2 minutes, then 20 kills; SQLite
    python -m benchmarks.human_load --database postgresql://user@host/empty-database

Load: every annotator signs in, opens tasks and saves a change about twice a second (far brisker than a
person). Reported are the latencies of every request as the client sees them. Kills: the same load while
the server process gets SIGKILL at a random moment and is started again; a client that got no answer sends
the same change again. Afterwards every acknowledged save must be in the database exactly once, and every
task's state must be what its events add up to.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import os
import random
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from medassay.human.access import Access, load_key
from medassay.human.store import Store
from medassay.human.study import Study, load_study, new_study_text

SENTENCE = "The patient was seen for follow-up and reports no chest pain, no dyspnoea and good exercise tolerance. "
SERVE = "from medassay.commands.annotate import annotate_app as app; app()"


@dataclass
class Tally:
    """What the clients saw."""

    latencies: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    acknowledged: dict[str, str] = field(default_factory=dict)
    """Event id → task, for every save the server said is on disk."""
    lost_replies: int = 0

    def percentile(self, q: float) -> float:
        """Milliseconds."""
        return float(np.percentile(self.latencies, q) * 1000) if self.latencies else float("nan")

    @property
    def errors(self) -> int:
        """Replies that were neither a success nor a redirect."""
        return sum(n for status, n in self.statuses.items() if status >= 400)


def make_study(folder: Path, database: str, annotators: int, cases: int) -> Study:
    """A made-up study: texts of a usual length, three systems a case."""
    with (folder / "cases.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "system", "candidate", "reference", "source"])
        for case in range(cases):
            for system in "abc":
                writer.writerow([f"c{case}", system, SENTENCE * 2, SENTENCE * 2, SENTENCE * 30])
    path = folder / "study.yaml"
    names = [f"person {i}" for i in range(annotators)]
    text = new_study_text(
        name="load", protocol="fact-counting", cases="cases.csv", annotators=names, database=database, training=False
    )
    path.write_text(text, encoding="utf-8")
    return load_study(path)


class Server:
    """The real server in a process of its own."""

    def __init__(self, study: Study) -> None:
        self.study = study
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Returns when it answers."""
        words = [sys.executable, "-c", SERVE, "serve", str(self.study.path), "--port", str(self.port)]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        for _ in range(600):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return
            except OSError:
                await asyncio.sleep(0.05)
        raise RuntimeError("the server did not come up within 30 s")

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop it, kindly or not."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(timeout=30)


class Client:
    """One annotator's browser, cut down to what matters here: a connection, a cookie, a token."""

    def __init__(self, port: int, link: str, tally: Tally, rng: random.Random) -> None:
        self.port, self.link, self.tally, self.rng = port, link, tally, rng
        self.cookie = ""
        self.csrf = ""
        self.version = 0
        self.marks = 0
        self.stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes, str]:
        """One request on the open connection; raises OSError where the server is gone."""
        began = time.perf_counter()
        if self.stream is None:
            self.stream = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.stream
        payload = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\ncontent-length: {len(payload)}\r\n"
        head += f"cookie: {self.cookie}\r\nx-csrf-token: {self.csrf}\r\ncontent-type: application/json\r\n\r\n"
        try:
            writer.write(head.encode() + payload)
            await writer.drain()
            top = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = int(re.search(r"content-length: (\d+)", top, re.I)[1])  # type: ignore[index]
            content = await reader.readexactly(length)
        except (OSError, asyncio.IncompleteReadError):
            self.stream = None
            self.tally.lost_replies += 1
            raise ConnectionError from None
        status = int(top.split(" ", 2)[1])
        self.tally.latencies.append(time.perf_counter() - began)
        self.tally.statuses[status] += 1
        return status, content, top

    async def insist(self, method: str, path: str, body: object = None) -> tuple[int, bytes, str]:
        """The same request again and again until there is an answer, as the page does."""
        while True:
            try:
                return await self.ask(method, path, body)
            except OSError:
                await asyncio.sleep(0.1 + self.rng.random() * 0.2)

    async def sign_in(self) -> list[str]:
        """Open the personal link; gives the ids of one's tasks."""
        _, _, top = await self.insist("GET", self.link)
        self.cookie = re.search(r"set-cookie: ([^;]+)", top, re.I)[1]  # type: ignore[index]
        _, page, _ = await self.insist("GET", "/tasks")
        return list(dict.fromkeys(re.findall(r'href="/tasks/([0-9a-f]+)"', page.decode())))

    async def open(self, task: str) -> None:
        """Load a task's page and take its token and the version it shows."""
        _, page, _ = await self.insist("GET", f"/tasks/{task}")
        self.version = int(re.search(r'"version": (\d+)', page.decode())[1])  # type: ignore[index]
        self.csrf = re.search(r'name="csrf" content="([^"]+)"', page.decode())[1]  # type: ignore[index]

    async def save(self, task: str) -> None:
        """One change: a number, a highlight or a comment."""
        slot = str(self.rng.randint(1, 3))
        self.marks += 1  # no stretch twice: that would be refused
        start = self.marks % 100
        change = self.rng.choice(
            [
                {"kind": "set", "slot": slot, "question": "G", "value": self.rng.randint(0, 20)},
                {"kind": "set", "slot": "case", "question": "R", "value": self.rng.randint(0, 20)},
                {
                    "kind": "mark", "mark": secrets.token_urlsafe(12), "slot": slot, "type": "fact",
                    "start": start, "end": start + 5 + self.marks // 100, "flags": [],
                },
                {"kind": "comment", "slot": slot, "text": "word " * self.rng.randint(1, 20)},
            ]
        )  # fmt: skip
        event = secrets.token_urlsafe(12)
        body = {"id": event, "change": change, "at": time.time(), "active_ms": 500, "base": self.version}
        status, reply, _ = await self.insist("POST", f"/api/tasks/{task}/changes", body)
        if status == 200:
            self.tally.acknowledged[event] = task
            self.version = int(json.loads(reply)["version"])


async def annotate(client: Client, until: float, pause: float) -> None:
    """One annotator at work: a page, some twenty changes, the next page."""
    tasks = await client.sign_in()
    while time.monotonic() < until:
        task = client.rng.choice(tasks)
        await client.open(task)
        for _ in range(20):
            await asyncio.sleep(client.rng.uniform(0, 2 * pause))
            if time.monotonic() >= until:
                return
            await client.save(task)


def clients(study: Study, port: int, tally: Tally, seed: int) -> list[Client]:
    """One client an annotator."""
    access = Access(load_key(study.key_path))
    made = [
        Client(port, f"/enter/{access.link(name, 0)}", tally, random.Random(f"{seed}:{name}"))
        for name in study.annotators
    ]
    for client in made:
        client.marks = 3000 * (seed - 1)  # other stretches in another phase
    return made


async def load(study: Study, seconds: float, pause: float) -> Tally:
    """The server under the load of all annotators."""
    server, tally = Server(study), Tally()
    await server.start()
    try:
        until = time.monotonic() + seconds
        await asyncio.gather(*(annotate(c, until, pause) for c in clients(study, server.port, tally, 1)))
    finally:
        server.end()
    return tally


async def kills(study: Study, times: int, pause: float) -> Tally:
    """The same load while the server is killed and started again."""
    server, tally, rng = Server(study), Tally(), random.Random(7)
    await server.start()
    until = time.monotonic() + 3600
    busy = [asyncio.create_task(annotate(c, until, pause)) for c in clients(study, server.port, tally, 2)]
    try:
        for number in range(times):
            await asyncio.sleep(rng.uniform(1.0, 2.5))
            before = len(tally.acknowledged)
            server.end(signal.SIGKILL)
            await server.start()
            print(f"kill {number + 1} of {times}: {before} saves acknowledged so far", file=sys.stderr)
        await asyncio.sleep(1.5)
        for one in busy:
            one.cancel()
        await asyncio.gather(*busy, return_exceptions=True)
    finally:
        server.end()
    return tally


def verify(study: Study, acknowledged: dict[str, str]) -> tuple[int, int, list[str]]:
    """(saves missing, saves recorded twice, what the audit found)."""
    store = Store(study)
    recorded = Counter((event["id"], event["task"]) for event in store.history())
    missing = sum((event, task) not in recorded for event, task in acknowledged.items())
    twice = sum(n - 1 for n in recorded.values())
    found = store.audit()
    store.close()
    return missing, twice, found


def main() -> int:
    """Run both and print the figures; exit code 1 where anything was lost or failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--database", default="study.db", help="SQLite file name, or the URL of an empty database")
    parser.add_argument("--annotators", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--pause", type=float, default=0.5, help="mean seconds between two changes of a person")
    parser.add_argument("--kills", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="medassay-load-") as folder:
        study = make_study(Path(folder), given.database, given.annotators, cases=20)
        tally = asyncio.run(load(study, given.seconds, given.pause)) if given.seconds else Tally()
        killed = asyncio.run(kills(study, given.kills, given.pause)) if given.kills else Tally()
        missing, twice, found = verify(study, tally.acknowledged | killed.acknowledged)
    figures = {
        "database": given.database.split(":")[0] if "://" in given.database else "sqlite",
        "annotators": given.annotators,
        "seconds": given.seconds,
        "requests": len(tally.latencies),
        "saves": len(tally.acknowledged),
        "errors": tally.errors,
        "lost_replies": tally.lost_replies,
        "p50_ms": round(tally.percentile(50), 1),
        "p95_ms": round(tally.percentile(95), 1),
        "p99_ms": round(tally.percentile(99), 1),
        "max_ms": round(tally.percentile(100), 1),
        "kills": given.kills,
        "saves_under_kills": len(killed.acknowledged),
        "errors_under_kills": killed.errors,
        "acknowledged_but_missing": missing,
        "recorded_twice": twice,
        "audit_problems": len(found),
        "cpus": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(figures, indent=1))
    return 1 if missing or twice or found or tally.errors or killed.errors else 0


if __name__ == "__main__":
    sys.exit(main())
