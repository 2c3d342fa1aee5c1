"""The store, on SQLite and on PostgreSQL: nothing lost, nothing twice, everything can be rebuilt."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import text
from tests.human.sample import put

from medassay.human.events import Conflict, NewEvent
from medassay.human.state import Outdated, Refused
from medassay.human.store import Store


def test_what_was_acknowledged_is_there_after_reopening(store, study):
    task = store.tasks("anna")[1]
    ack = store.append(task.id, "anna", put("e1", 4))
    assert ack.seq == 1
    again = Store(study)
    assert again.task(task.id).state["answers"] == {"case": {"R": 4}}
    assert [event.id for event in again.events(task.id)] == ["e1"]
    again.close()


def test_a_replayed_event_is_recorded_once(store):
    task = store.tasks("anna")[1].id
    first = store.append(task, "anna", put("e1"))
    second = store.append(task, "anna", put("e1"))
    assert (second.seq, second.state, second.again) == (first.seq, first.state, True)
    assert len(store.events(task)) == 1


def test_an_old_replay_does_not_turn_back_a_newer_answer(store):
    task = store.tasks("anna")[1].id
    store.append(task, "anna", put("e1", 3))
    store.append(task, "anna", put("e2", 5))
    assert store.append(task, "anna", put("e1", 3)).state["answers"]["case"]["R"] == 5


def test_one_id_for_two_things_is_a_conflict(store):
    task, other = (t.id for t in store.tasks("anna")[1:3])
    store.append(task, "anna", put("e1", 3))
    for place, person, new in [(task, "anna", put("e1", 4)), (other, "anna", put("e1", 3)), (task, "ben", put("e1"))]:
        with pytest.raises(Conflict):
            store.append(place, person, new)
    assert len(store.events(task)) == 1


def test_a_refused_event_leaves_no_trace(store):
    task = store.tasks("anna")[1].id
    with pytest.raises(Refused):
        store.append(task, "anna", NewEvent("e1", "done", {}))
    assert store.events(task) == []
    assert store.append(task, "anna", put("e1")).seq == 1


def test_undo_twice_sent_undoes_once(store):
    task = store.tasks("anna")[1].id
    store.append(task, "anna", put("e1", 3))
    store.append(task, "anna", put("e2", 5))
    for _ in range(2):
        ack = store.append(task, "anna", NewEvent("u1", "undo", {}))
        assert ack.state["answers"]["case"]["R"] == 3
    assert store.append(task, "anna", NewEvent("r1", "redo", {})).state["answers"]["case"]["R"] == 5
    assert store.audit() == []


def test_two_windows_at_once_lose_nothing(store):
    task = store.tasks("anna")[1].id
    errors: list[Exception] = []

    def window(name: str) -> None:
        try:
            for i in range(15):
                payload = {
                    "mark": f"{name}{i}",
                    "slot": "case",
                    "type": "reference_fact",
                    "start": ord(name) - 97,
                    "end": 5 + i,
                }
                store.append(task, "anna", NewEvent(f"{name}{i}", "mark", {**payload, "flags": []}))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=window, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(store.task(task).state["marks"]) == store.task(task).seq == 60
    assert store.audit() == []


def test_one_event_sent_by_many_threads_is_recorded_once(store):
    task = store.tasks("anna")[1].id
    acks = []
    threads = [threading.Thread(target=lambda: acks.append(store.append(task, "anna", put("e1")))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ack.again for ack in acks) == [False] + [True] * 7
    assert len(store.events(task)) == 1


def test_the_audit_finds_a_state_that_was_tampered_with(store):
    task = store.tasks("anna")[1].id
    store.append(task, "anna", put("e1", 3))
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE states SET state = replace(state, '3', '9')"))
    assert len(store.audit()) == 1 and task in store.audit()[0]


def test_a_change_that_was_made_on_an_older_version_overwrites_nothing(store):
    task = store.tasks("anna")[1].id
    store.append(task, "anna", put("e1", 3), base=0)
    with pytest.raises(Outdated, match="another window"):
        store.append(task, "anna", put("e2", 5), base=0)
    assert store.task(task).state["answers"]["case"]["R"] == 3
    assert store.append(task, "anna", put("e3", 2, "G", "1"), base=0).seq == 2, "another answer does not clash"
    assert store.append(task, "anna", put("e1", 3), base=0).again, "a replay is acknowledged again"
    for kind in ("undo", "done"):
        with pytest.raises(Outdated, match="another window"):
            store.append(task, "anna", NewEvent(f"k-{kind}", kind, {}), base=1)
    with pytest.raises(Outdated, match="Reload"):
        store.append(task, "anna", put("e4", 5), base=9)
    assert store.append(task, "anna", put("e5", 5), base=2).seq == 3
