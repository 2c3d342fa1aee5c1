"""Backup and restore, from and to SQLite and PostgreSQL; studies of version 0.1 go on."""

from __future__ import annotations

import json
import sqlite3
import zipfile

import pytest
from tests.human.sample import put

from medassay.errors import InputError
from medassay.human.access import Access, Links, load_key
from medassay.human.backup import backup, restore
from medassay.human.decisions import Decisions
from medassay.human.plan import task_id, tasks_for
from medassay.human.store import Store
from medassay.human.study import fingerprint


@pytest.fixture
def store(make_study, database):
    opened = Store(make_study(database=database))
    yield opened
    opened.close()


def test_a_backup_restores_to_the_same_study(store, tmp_path):
    task = store.tasks("anna")[1].id
    store.append(task, "anna", put("e1", 4))
    Decisions(store).decide("c1", "alpha", {"G": 3}, who="coordinator", event="d1")
    out = tmp_path / "copy.zip"
    assert backup(store, out) == 2
    assert out.stat().st_mode & 0o077 == 0
    store.append(task, "anna", put("e2", 9))
    study, events = restore(out, tmp_path / "back", database="again.db")
    assert events == 2
    again = Store(study)
    assert again.task(task).state["answers"] == {"case": {"R": 4}}
    assert [t.id for t in again.tasks()] == [t.id for t in store.tasks()]
    assert Decisions(again).all() == {("c1", "alpha"): {"G": 3}}
    assert load_key(study.key_path) == load_key(store.study.key_path), "the links are the same"
    assert again.append(task, "anna", put("e3", 5)).seq == 2 and again.audit() == []
    again.close()
    with pytest.raises(InputError, match="is there already"):
        restore(out, tmp_path / "back")


def test_a_damaged_or_foreign_archive_leaves_nothing_behind(store, tmp_path):
    out = tmp_path / "copy.zip"
    store.append(store.tasks("anna")[1].id, "anna", put("e1"))
    backup(store, out)
    with zipfile.ZipFile(out) as good, zipfile.ZipFile(tmp_path / "bad.zip", "w") as bad:
        for name in good.namelist():
            bad.writestr(name, b"" if name == "tables/events.jsonl" else good.read(name))
    with pytest.raises(InputError, match="damaged"):
        restore(tmp_path / "bad.zip", tmp_path / "back", database="again.db")
    assert not (tmp_path / "back" / "study.yaml").exists()
    (tmp_path / "no.zip").write_bytes(b"nothing")
    with pytest.raises(InputError, match="not a backup"):
        restore(tmp_path / "no.zip", tmp_path / "back")
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as evil:
        manifest = {"format": "medassay study backup 1", "schema": 1, "study": "../x.yaml", "cases": "c", "events": 0}
        evil.writestr("manifest.json", json.dumps(manifest))
    with pytest.raises(InputError, match="not a backup"):
        restore(tmp_path / "evil.zip", tmp_path / "back")


OLD_SCHEMA = """
CREATE TABLE meta (key VARCHAR(64) PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE cases (case_id TEXT PRIMARY KEY, position INTEGER NOT NULL, training BOOLEAN NOT NULL,
  source TEXT NOT NULL, reference TEXT NOT NULL, items TEXT NOT NULL);
CREATE TABLE annotators (name VARCHAR(64) PRIMARY KEY, position INTEGER NOT NULL, link INTEGER NOT NULL);
CREATE TABLE tasks (id VARCHAR(64) PRIMARY KEY, annotator VARCHAR(64) NOT NULL, case_id TEXT NOT NULL,
  position INTEGER NOT NULL, training BOOLEAN NOT NULL, candidate_order TEXT NOT NULL);
CREATE TABLE events (seq INTEGER PRIMARY KEY AUTOINCREMENT, id VARCHAR(64) NOT NULL UNIQUE, task VARCHAR(64) NOT NULL,
  task_seq INTEGER NOT NULL, annotator VARCHAR(64) NOT NULL, kind VARCHAR(16) NOT NULL, payload TEXT NOT NULL,
  at FLOAT NOT NULL, client_at FLOAT, active_ms INTEGER NOT NULL, UNIQUE (task, task_seq));
CREATE TABLE states (task VARCHAR(64) PRIMARY KEY, seq INTEGER NOT NULL, state TEXT NOT NULL, done BOOLEAN NOT NULL,
  updated_at FLOAT);
"""


def test_a_running_study_of_version_0_1_keeps_its_tasks_links_and_answers(make_study):
    """A database as version 0.1 wrote it: ids without a key, states without flags, decisions as events only."""
    study = make_study(training=False)
    key = load_key(study.key_path)
    units = study.units()
    connection = sqlite3.connect(study.path.parent / "study.db")
    connection.executescript(OLD_SCHEMA)
    connection.executemany("INSERT INTO meta VALUES (?, ?)", [("schema", "2"), ("study", fingerprint(study, units))])
    for place, unit in enumerate(units):
        items = json.dumps([{"system": i.system, "candidate": i.candidate, "extra": i.extra} for i in unit.items])
        row = (unit.case_id, place, False, unit.source, unit.reference, items)
        connection.execute("INSERT INTO cases VALUES (?, ?, ?, ?, ?, ?)", row)
    blank = {"answers": {}, "marks": [], "comments": {}, "done": False, "active_ms": 0}
    old = {}
    for position, name in enumerate(study.annotators):
        connection.execute("INSERT INTO annotators VALUES (?, ?, 0)", (name, position))
        for place, task in enumerate(tasks_for(name, units, study.seed)):
            old[task.id] = (name, task.case_id, task.order)
            row = (task.id, name, task.case_id, place, False, json.dumps(task.order))
            connection.execute("INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?)", row)
            connection.execute("INSERT INTO states VALUES (?, 0, ?, 0, NULL)", (task.id, json.dumps(blank)))
    mine = task_id(study.seed, "anna", "c1")
    event = ("e1", mine, 1, "anna", "set", '{"slot":"case","question":"R","value":4}', 1.0, None, 500)
    fields = "id, task, task_seq, annotator, kind, payload, at, client_at, active_ms"
    add = f"INSERT INTO events ({fields}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    connection.execute(add, event)
    state = {**blank, "answers": {"case": {"R": 4}}, "active_ms": 500}
    connection.execute("UPDATE states SET seq = 1, state = ? WHERE task = ?", (json.dumps(state), mine))
    decided = {"case": "c1", "system": "alpha", "values": {"R": 5, "G": 4}, "note": "by hand"}
    key_of = "decision:" + task_id(0, "alpha", "c1")
    connection.execute(add, ("d1", key_of, 1, "coordinator", "decide", json.dumps(decided), 2.0, None, 0))
    connection.commit()
    connection.close()

    store = Store(study)
    assert {t.id: (t.annotator, t.unit.case_id, t.order) for t in store.tasks()} == old
    assert store.audit() == []
    assert Decisions(store).all() == {("c1", "alpha"): {"G": 4, "R": 5}, ("c1", "beta"): {"R": 5}}
    assert Decisions(store).read("c1", "alpha").note == "by hand"
    assert store.append(mine, "anna", put("e2", 5), base=1).seq == 2
    from medassay.human.people import current_links

    assert current_links(store) == Links(dict.fromkeys(study.annotators, 0), {"coordinator": 0})
    # What version 0.1 computed as the links of this key.
    access = Access(key)
    import base64
    import hashlib
    import hmac

    def old_link(*parts: str) -> str:
        tag = hmac.digest(hashlib.sha256(b"links" + key).digest(), "\0".join(parts).encode(), "sha256")
        return base64.urlsafe_b64encode(tag).decode().rstrip("=")

    assert access.link("anna", 0) == old_link("annotator", "anna", "0")
    assert access.coordinator_link() == old_link("coordinator")
    store.close()


def test_new_studies_have_ids_and_orders_that_need_the_key(make_study):
    rows = [(f"c{i}", f"s{k}", f"text {i} {k}", "ref", "src") for i in range(8) for k in range(4)]
    study = make_study(rows)
    store = Store(study)
    guessed = {task.id: task.order for name in study.annotators for task in tasks_for(name, study.units(), study.seed)}
    real = {task.id: task.order for task in store.tasks() if not task.training}
    assert not set(guessed) & set(real) and all(len(task) == 32 for task in real)
    same = sum(
        guessed[task_id(study.seed, task.annotator, task.unit.case_id)] == task.order
        for task in store.tasks()
        if not task.training
    )
    assert same < 8, "24 orders of 4 texts agree by chance only"
    store.close()
