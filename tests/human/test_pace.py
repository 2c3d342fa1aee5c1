"""The time estimate: reading time first, then one's own pace."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi", reason="the human room needs the extra 'serve'")

from dataclasses import replace

from medassay.human.plan import Item, Unit
from medassay.human.state import empty
from medassay.human.store import StoredTask
from medassay.human.web.pace import minutes_left, reading_minutes

# 400 words of source, 150 of reference, 50 of text: 600 / 200 = 3 min to read, 0.75 min to answer.
UNIT = Unit("c", "w " * 400, "w " * 150, (Item("", "w " * 50, {}),))


def task(*, done: bool, minutes: float = 0) -> StoredTask:
    state = {**empty(), "done": done, "active_ms": int(minutes * 60_000)}
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
