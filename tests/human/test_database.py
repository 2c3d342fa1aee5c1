"""The database of a study: one that is lost, emptied, replaced or damaged is noticed."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from tests.human.sample import put

from medassay.errors import InputError
from medassay.human.database import DatabaseGone
from medassay.human.store import Store
from medassay.human.study import load_study


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
