"""Many annotators at once and a server killed under them: a short run of the benchmark, on both databases."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.human.client import Person, first_key

from medassay.human.state import empty_state
from medassay.human.web.app import create_app

ROOT = Path(__file__).parents[2]


@pytest.mark.load
def test_under_load_and_kills_nothing_fails_and_nothing_is_lost(database):
    words = [sys.executable, "-m", "benchmarks.human_load", "--database", database]
    words += ["--annotators", "50", "--seconds", "10", "--kills", "5"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout)
    assert figures["saves"] > 100 and figures["saves_under_kills"] > 50
    assert figures["lost_replies"] == 0, "without a kill every request is answered"
    assert (figures["acknowledged_but_missing"], figures["recorded_twice"], figures["audit_problems"]) == (0, 0, 0)


ROWS = 10_000


@pytest.mark.load
def test_ten_thousand_cases_are_paged_and_fast(make_study):
    """Two systems and two annotators a case, all finished: 20,000 texts, 20,000 tasks, 40,000 ratings."""
    rows = [(f"case-{i}", s, f"text {i}", "reference", "source") for i in range(ROWS) for s in ("alpha", "beta")]
    app = create_app(make_study(rows, annotators=["anna", "ben"], training=False))
    store = app.state.context.store
    with store.engine.begin() as connection:
        for number, task in enumerate(store.tasks()):
            given = {"G": 4 + number % 3, "RG": 2 + number % 2, "C": 3, "coherence": 1}
            state = {**empty_state(), "answers": {"case": {"R": 5}, "1": given, "2": given}, "done": True}
            values = {"task": task.id, "state": json.dumps(state)}
            connection.execute(text("UPDATE states SET seq = 1, done = 1, state = :state WHERE task = :task"), values)
    coordinator = Person(app, "coordinator")  # the first look reads everything
    key = first_key(coordinator)
    took = {}
    for path in (
        "/coordinator/texts?column=G",
        "/coordinator/texts?column=G&page=200&undecided=true",
        f"/coordinator/texts/{key}?column=G",
        "/coordinator",
    ):
        began = time.perf_counter()
        reply = coordinator.http.get(path)
        took[path] = time.perf_counter() - began
        assert reply.status_code == 200 and len(reply.content) < 200_000
    print(took)
    assert max(took.values()) < 2.0, took
    # An answer comes in: only its task is read again.
    anna = store.tasks("anna")[0]
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE states SET seq = 2 WHERE task = :task"), {"task": anna.id})
    began = time.perf_counter()
    assert coordinator.http.get("/coordinator/texts?column=G").status_code == 200
    assert time.perf_counter() - began < 3.0
