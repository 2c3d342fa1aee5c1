"""The tables: append-only events, and migrations."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError
from tests.human.sample import put

from medassay.errors import InputError
from medassay.human import schema
from medassay.human.database import make_engine
from medassay.human.store import Store


def test_the_database_itself_refuses_to_rewrite_history(store):
    task = store.tasks("anna")[1].id
    store.append(task, "anna", put("e1"))
    for statement in ("UPDATE events SET payload = '{}'", "DELETE FROM events"):
        with pytest.raises(DatabaseError, match="append-only"), store.engine.begin() as connection:
            connection.execute(text(statement))
    assert len(store.events(task)) == 1


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
