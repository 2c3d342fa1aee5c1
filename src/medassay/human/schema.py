"""The database: tables, and the numbered steps that bring an older database up to date."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    inspect,
    select,
)
from sqlalchemy.schema import CreateColumn

from medassay.errors import InputError

metadata = MetaData()
_Long = BigInteger().with_variant(Integer(), "sqlite")

meta = Table("meta", metadata, Column("key", String(64), primary_key=True), Column("value", Text, nullable=False))

cases = Table(
    "cases",
    metadata,
    Column("case_id", Text, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("training", Boolean, nullable=False),
    Column("source", Text, nullable=False),
    Column("reference", Text, nullable=False),
    Column("items", Text, nullable=False),  # JSON: [{system, candidate, extra}], in file order
)

annotators = Table(
    "annotators",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("link", Integer, nullable=False),  # raised by one to make the old link worthless
    Column("replaced_by", String(64)),  # who took over the tasks that were not finished
)

coordinators = Table(
    "coordinators",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("link", Integer, nullable=False),
)

# Sessions that were signed out before their cookie ran out.
ended_sessions = Table(
    "ended_sessions", metadata, Column("id", String(64), primary_key=True), Column("at", Float, nullable=False)
)

tasks = Table(
    "tasks",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("annotator", String(64), nullable=False, index=True),
    Column("case_id", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("training", Boolean, nullable=False),
    Column("candidate_order", Text, nullable=False),  # JSON: indices into the case's items
    Column("withdrawn", Boolean, nullable=False, server_default=false()),  # taken over by somebody else
    Column("draft", Boolean),  # whether the machine's draft is shown, by lot; NULL: not part of the draw
)

# Append-only: nothing in medassay updates or deletes a row of this table.
events = Table(
    "events",
    metadata,
    Column("seq", _Long, primary_key=True, autoincrement=True),
    Column("id", String(64), nullable=False, unique=True),  # made by the client: a replay is recognised
    Column("task", String(64), nullable=False),
    Column("task_seq", Integer, nullable=False),
    Column("annotator", String(64), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("payload", Text, nullable=False),
    Column("at", Float, nullable=False),  # the server's clock, seconds since 1970
    Column("client_at", Float),  # the client's clock: kept for the audit, used for nothing
    Column("active_ms", Integer, nullable=False),
    UniqueConstraint("task", "task_seq"),
    Index("events_by_person", "annotator", "at"),
    sqlite_autoincrement=True,
)

# The state of each task after its events: a cache that can be rebuilt.
states = Table(
    "states",
    metadata,
    Column("task", String(64), primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("done", Boolean, nullable=False),
    Column("updated_at", Float),
)

# The current decision on each text, and on each case as a whole; can be rebuilt from the events.
decisions = Table(
    "decisions",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("case_id", Text, nullable=False),
    Column("system", Text),  # NULL: what is counted once for the case
    Column("seq", Integer, nullable=False),
    Column("payload", Text, nullable=False),
    Column("who", String(64), nullable=False),
    Column("at", Float, nullable=False),
)

# The machine's drafts, made before the first task is shown.
drafts = Table(
    "drafts",
    metadata,
    Column("case_id", Text, primary_key=True),
    Column("statements", Text, nullable=False),  # JSON: a list for each item of the case, in file order
)


def _create(connection: Connection) -> None:
    metadata.create_all(connection)


def _forbid_changes(connection: Connection) -> None:
    """The database itself refuses to change or delete an event, whoever asks."""
    if connection.dialect.name == "sqlite":
        for action in ("UPDATE", "DELETE"):
            connection.exec_driver_sql(
                f"CREATE TRIGGER events_no_{action.lower()} BEFORE {action} ON events "
                "BEGIN SELECT RAISE(ABORT, 'events are append-only'); END"
            )
    else:
        connection.exec_driver_sql(
            "CREATE FUNCTION medassay_append_only() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'events are append-only'; END $$"
        )
        connection.exec_driver_sql(
            "CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events "
            "FOR EACH STATEMENT EXECUTE FUNCTION medassay_append_only()"
        )


def _coordinate(connection: Connection) -> None:
    """Coordinators by name, sessions that end, tasks that are taken over, drafts, decisions kept for reading."""
    metadata.create_all(connection)
    present = inspect(connection)
    for table, column in ((annotators, "replaced_by"), (tasks, "withdrawn"), (tasks, "draft")):
        if column not in {item["name"] for item in present.get_columns(table.name)}:
            definition = CreateColumn(table.c[column]).compile(dialect=connection.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {definition}")
    if "events_by_person" not in {item["name"] for item in present.get_indexes("events")}:
        next(index for index in events.indexes if index.name == "events_by_person").create(connection)
    rows = connection.execute(select(events).where(events.c.kind == "decide").order_by(events.c.seq))
    for row in list(rows):
        store_decision(connection, row.task, row.task_seq, json.loads(row.payload), row.annotator, row.at)


def store_decision(connection: Connection, key: str, seq: int, payload: Mapping[str, Any], who: str, at: float) -> None:
    """Replace the current decision on a text or a case."""
    connection.execute(decisions.delete().where(decisions.c.key == key))
    connection.execute(
        decisions.insert().values(
            key=key,
            case_id=payload["case"],
            system=payload.get("system"),
            seq=seq,
            payload=json.dumps(dict(payload), separators=(",", ":")),
            who=who,
            at=at,
        )
    )


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_create, _forbid_changes, _coordinate)
"""Step n brings a database of version n to n + 1. Steps are added at the end and never edited."""


def migrate(connection: Connection, steps: tuple[Callable[[Connection], None], ...] = MIGRATIONS) -> int:
    """Bring the database up to date inside the caller's transaction; returns the version it had."""
    if connection.dialect.name == "postgresql":
        # Two servers that start at once must not both create the tables.
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7302511)")
    version = 0
    if inspect(connection).has_table("meta"):
        stored = connection.execute(select(meta.c.value).where(meta.c.key == "schema")).scalar()
        version = int(stored or 0)
    if version > len(steps):
        raise InputError(
            f"the database has schema {version}, this medassay knows {len(steps)}; upgrade medassay to open it"
        )
    for step in steps[version:]:
        step(connection)
    if version == 0:
        connection.execute(meta.insert().values(key="schema", value=str(len(steps))))
    elif version < len(steps):
        connection.execute(meta.update().where(meta.c.key == "schema").values(value=str(len(steps))))
    return version
