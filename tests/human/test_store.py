"""The store, on SQLite and on PostgreSQL: nothing lost, nothing twice, everything can be rebuilt."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from medassay.errors import InputError
from medassay.human import schema
from medassay.human.database import DatabaseGone, make_engine
from medassay.human.decisions import Decisions, Overtaken
from medassay.human.journal import Conflict, NewEvent
from medassay.human.people import links, replace_annotator
from medassay.human.state import Outdated, Refused
from medassay.human.store import Store
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
    engine = make_engine(study.url())
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
    decisions = Decisions(store)
    assert decisions.decide("c1", "alpha", {"G": 3}, who="coordinator", event="d1")
    assert not decisions.decide("c1", "alpha", {"G": 3}, who="coordinator", event="d1")
    decisions.decide("c1", "alpha", {"G": 4}, who="coordinator", event="d2")
    assert decisions.all() == {("c1", "alpha"): {"G": 4}}
    assert len(list(store.history())) == 2


def test_a_count_per_case_is_decided_for_the_case(store):
    decisions = Decisions(store)
    decisions.decide("c1", "alpha", {"R": 5, "G": 4}, who="ann", event="d1")
    assert decisions.all() == {("c1", "alpha"): {"G": 4, "R": 5}, ("c1", "beta"): {"R": 5}}
    decisions.decide("c1", "beta", {"R": 6}, who="bob", event="d2")
    assert decisions.read("c1", "alpha").values == {"G": 4, "R": 6}
    assert decisions.read("c1", "alpha").who == "bob"


def test_nobody_overwrites_a_decision_they_have_not_seen(store):
    decisions = Decisions(store)
    base = decisions.read("c1", "alpha").base
    decisions.decide("c1", "beta", {"R": 5}, who="ann", event="d1", base=base)
    with pytest.raises(Overtaken) as caught:
        decisions.decide("c1", "alpha", {"R": 4}, who="bob", event="d2", base=base)
    assert caught.value.standing.who == "ann" and caught.value.standing.values == {"R": 5}
    decisions.decide("c1", "alpha", {"R": 4}, who="bob", event="d2", base=caught.value.standing.base)
    assert decisions.read("c1", "beta").values == {"R": 4}


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


def test_an_annotator_takes_over_what_another_has_not_finished(store, study):
    mine = store.tasks("ben")
    finish(store, mine[1].id, "ben")
    store.append(mine[2].id, "ben", put("begun", 3))
    assert replace_annotator(store, "ben", "dee", "coordinator") == 2
    assert [task.id for task in store.tasks("ben")] == [mine[1].id]
    assert {task.unit.case_id for task in store.tasks("dee") if not task.training} == {
        mine[2].unit.case_id,
        mine[3].unit.case_id,
    }
    assert all(task.seq == 0 for task in store.tasks("dee"))
    assert set(links(store).annotators) == {"anna", "chi", "dee"}
    assert [event.id for event in store.events(mine[2].id)] == ["begun"], "nothing that was recorded is lost"
    again = Store(study)
    assert again.audit() == [] and again.names == ["anna", "ben", "chi", "dee"]
    again.close()
    with pytest.raises(InputError, match="already"):
        replace_annotator(store, "anna", "chi", "coordinator")
    with pytest.raises(InputError, match="not in this study"):
        replace_annotator(store, "ben", "eve", "coordinator")


def finish(store, task: str, who: str) -> None:
    store.append(task, who, put(f"{task}-R", 4))
    for slot in store.known(task).shape.texts:
        for question, value in (("G", 4), ("RG", 2), ("C", 3), ("coherence", 1)):
            store.append(task, who, put(f"{task}-{slot}-{question}", value, question, slot))
    store.append(task, who, NewEvent(f"{task}-done", "done", {}))


def test_a_deleted_or_emptied_database_is_noticed(make_study):
    study = make_study()
    path = study.path.parent / "study.db"
    store = Store(study)
    task = store.tasks("anna")[1].id
    store.append(task, "anna", put("e1"))
    kept = path.read_bytes()
    path.unlink()
    for attempt in (lambda: store.append(task, "anna", put("e2")), lambda: store.task(task)):
        with pytest.raises(DatabaseGone):
            attempt()
    with pytest.raises(InputError, match="is gone, empty or another one"):
        Store(study)
    path.write_bytes(b"")
    with pytest.raises(DatabaseGone):
        store.append(task, "anna", put("e2"))
    store.close()
    for leftover in study.path.parent.glob("study.db-*"):
        leftover.unlink()
    with pytest.raises(InputError, match="annotate restore"):
        Store(study)
    assert kept


def test_a_database_of_another_study_is_noticed(make_study):
    study = make_study()
    Store(study).close()
    other = study.path.parent / "other.yaml"
    other.write_text(study.path.read_text(encoding="utf-8").replace("study.db", "other.db"), encoding="utf-8")
    Store(load_study(other)).close()
    (study.path.parent / "other.db").replace(study.path.parent / "study.db")
    with pytest.raises(InputError, match="another one"):
        Store(study)


def test_a_database_that_lost_rows_is_refused(store, study):
    with store.engine.begin() as connection:
        connection.execute(text("DELETE FROM states"))
    with pytest.raises(InputError, match="rows are missing"):
        Store(study)


def test_a_database_that_is_not_there_is_explained(make_study):
    with pytest.raises(InputError, match="database"):
        Store(make_study(database="postgresql://nobody@127.0.0.1:1/none"))


def test_a_new_database_file_is_private(make_study):
    study = make_study()
    Store(study).close()
    assert (study.path.parent / "study.db").stat().st_mode & 0o077 == 0
