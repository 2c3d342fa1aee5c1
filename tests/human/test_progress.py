"""How far annotators are: finished tasks, practice, time left."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from tests.human.client import Person

from medassay.human.plan import Item, Unit
from medassay.human.progress import (
    is_passed,
    is_too_fast,
    minutes_left,
    practice_score,
    progress,
    reading_minutes,
    remarks,
)
from medassay.human.state import empty_state
from medassay.human.store import StoredTask
from medassay.human.web.app import create_app


def test_progress_shows_who_was_seen_who_is_too_fast_and_who_commented(app, coordinator):
    anna = Person(app, "anna")
    anna.finish(anna.tasks[0])
    anna.finish(anna.tasks[1])
    anna.save(anna.tasks[2], {"kind": "comment", "slot": "1", "text": "hard to read"}, active_ms=60_000)
    anna.save(anna.tasks[2], {"kind": "flag", "slot": "case", "flag": "skip", "on": True, "reason": "later"})
    store = app.state.context.store
    line = progress(store, frozenset(["anna", "ben", "chi"]))[0]
    assert (line.done, line.begun, line.too_fast, line.skipped, line.replaced) == (1, 1, 1, 1, False)
    assert time.time() - line.seen_at < 60
    assert [is_too_fast(store.task(task)) for task in anna.tasks[1:3]] == [True, False]
    page = coordinator.http.get("/coordinator").text
    assert "⚠ 1" in page and time.strftime("%Y-%m-%d", time.gmtime()) in page
    listed = {(remark.kind, remark.text, remark.system is None) for remark in remarks(store)}
    assert listed == {("comment", "hard to read", False), ("skip", "later", True)}
    assert "hard to read" in coordinator.http.get("/coordinator/comments").text


def test_practice_must_reach_the_threshold(make_study):
    app = create_app(make_study(practice_threshold=0.8))
    anna = Person(app, "anna")
    practice, task = anna.tasks[0], anna.tasks[1]
    # Expected: R 4, G 4, RG 4, C 3, coherence 1; counts may be one off.
    anna.finish(practice, R=9, G=9, RG=2, C=9, coherence=1)
    context = app.state.context
    assert practice_score(context.study, context.store.task(practice)) == pytest.approx(1 / 5)
    assert anna.http.get(f"/tasks/{task}").headers["location"] == f"/tasks/{practice}/feedback"
    assert "80 % are needed" in anna.http.get(f"/tasks/{practice}/feedback").text
    anna.save(practice, {"kind": "reopen"})
    for question, value in (("C", 3), ("RG", 3), ("G", 4)):
        anna.answer(practice, "1", **{question: value})
    anna.answer(practice, "1", R=5)
    anna.save(practice, {"kind": "done"})
    assert is_passed(context.study, context.store.task(practice))
    assert anna.http.get(f"/tasks/{task}").status_code == 200
    assert "100 %" in Person(app, "coordinator").http.get("/coordinator").text


UNIT = Unit("c", "w " * 400, "w " * 150, (Item("", "w " * 50, {}),))


def task(*, done: bool, minutes: float = 0) -> StoredTask:
    state = {**empty_state(), "done": done, "active_ms": int(minutes * 60_000)}
    return StoredTask("t", "anna", UNIT, (0,), False, 0, 0, state)


def test_before_anything_is_finished_it_is_reading_time():
    assert reading_minutes(task(done=False)) == 3.75
    assert minutes_left([task(done=False)] * 4) == 15


def test_then_it_is_ones_own_pace_less_the_time_spent():
    # Twice as slow as reading time: 7.5 min each; two open tasks, one of them begun 5 min ago.
    tasks = [task(done=True, minutes=7.5), task(done=False, minutes=5), task(done=False)]
    assert minutes_left(tasks) == 10


def test_nothing_left_is_nothing_and_an_open_task_is_never_nothing():
    assert minutes_left([task(done=True, minutes=3)]) == 0
    assert minutes_left([task(done=False, minutes=60)]) == 1
    assert minutes_left([replace(task(done=True), id="u")]) == 0
