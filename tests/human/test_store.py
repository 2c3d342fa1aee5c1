"""The store, on SQLite and on PostgreSQL: nothing lost, nothing twice, everything can be rebuilt."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from medassay.errors import InputError
from medassay.human import schema
from medassay.human.state import Refused
from medassay.human.store import Conflict, NewEvent, Store
from medassay.human.study import load_study


@pytest.fixture
def study(make_study, database):
    return make_study(database=database)


@pytest.fixture
def store(study):
    opened = Store(study)
    yield opened
    opened.close()


def put(event: str, value: int = 3, question: str = "R", slot: str = "case") -> NewEvent:
    return NewEvent(event, "set", {"slot": slot, "question": question, "value": value})


def test_tasks_practice_first_then_all_cases(store):
    for name in ("anna", "ben", "chi"):
        mine = store.tasks(name)
        assert [task.training for task in mine] == [True, False, False, False]
        assert {task.unit.case_id for task in mine[1:]} == {"c1", "c2", "c3"}


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


def test_the_database_itself_refuses_to_rewrite_history(store):
    task = store.tasks("anna")[1].id
    store.append(task, "anna", put("e1"))
    for statement in ("UPDATE events SET payload = '{}'", "DELETE FROM events"):
        with pytest.raises(DatabaseError, match="append-only"), store.engine.begin() as connection:
            connection.execute(text(statement))
    assert len(store.events(task)) == 1


def test_the_audit_finds_a_state_that_was_tampered_with(store):
    task = store.tasks("anna")[1].id
    store.append(task, "anna", put("e1", 3))
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE states SET state = replace(state, '3', '9')"))
    assert len(store.audit()) == 1 and task in store.audit()[0]


def test_a_study_that_has_begun_cannot_change_under_its_answers(store, study):
    changed = study.path.read_text(encoding="utf-8").replace("seed: 1", "seed: 2", 1)
    study.path.write_text(changed, encoding="utf-8")
    with pytest.raises(InputError, match="differ from what this study began with"):
        Store(load_study(study.path))


def test_an_annotator_may_join_later(store, study):
    before = [(t.id, t.order) for t in store.tasks("anna")]
    changed = study.path.read_text(encoding="utf-8").replace("[anna, ben, chi]", "[anna, ben, chi, dee]", 1)
    study.path.write_text(changed, encoding="utf-8")
    later = Store(load_study(study.path))
    assert len(later.tasks("dee")) == 4
    assert [(t.id, t.order) for t in later.tasks("anna")] == before
    later.close()


def test_an_older_database_is_brought_up_to_date(make_study, database):
    study = make_study(database=database)
    from medassay.human.store import _engine

    engine = _engine(study.url())
    with engine.connect().execution_options(write=True) as connection, connection.begin():
        assert schema.migrate(connection, schema.MIGRATIONS[:1]) == 0
    with engine.connect().execution_options(write=True) as connection, connection.begin():
        assert schema.migrate(connection) == 1
    with engine.connect().execution_options(write=True) as connection, connection.begin():
        assert schema.migrate(connection) == len(schema.MIGRATIONS)
        with pytest.raises(InputError, match="upgrade medassay"):
            schema.migrate(connection, schema.MIGRATIONS[:1])
    engine.dispose()
    opened = Store(study)
    assert len(opened.tasks()) == 12
    opened.close()


def test_decisions_are_events_too_and_the_last_one_stands(store):
    def decide(event: str, value: float) -> NewEvent:
        return NewEvent(event, "decide", {"case": "c1", "system": "alpha", "values": {"G": value}, "note": ""})

    assert store.decide("c1", "alpha", decide("d1", 3))
    assert not store.decide("c1", "alpha", decide("d1", 3))
    store.decide("c1", "alpha", decide("d2", 4))
    assert store.decisions()[("c1", "alpha")]["values"] == {"G": 4}
    assert len(list(store.history())) == 2


def test_a_database_that_is_not_there_is_explained(make_study):
    with pytest.raises(InputError, match="database"):
        Store(make_study(database="postgresql://nobody@127.0.0.1:1/none"))


def test_a_new_database_file_is_private(make_study):
    study = make_study()
    Store(study).close()
    assert (study.path.parent / "study.db").stat().st_mode & 0o077 == 0
