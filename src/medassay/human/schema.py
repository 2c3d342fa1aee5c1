"""The database: tables, and the numbered steps that bring an older database up to date."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    inspect,
    select,
)

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
    sqlite_autoincrement=True,
)

# What the events of a task add up to; can be thrown away and rebuilt.
states = Table(
    "states",
    metadata,
    Column("task", String(64), primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("done", Boolean, nullable=False),
    Column("updated_at", Float),
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


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_create, _forbid_changes)
"""Step n brings a database of version n to n + 1. Steps are added at the end and never edited."""


def migrate(connection: Connection, steps: tuple[Callable[[Connection], None], ...] = MIGRATIONS) -> int:
    """Bring the database up to date inside the caller's transaction; gives the version it had."""
    if connection.dialect.name == "postgresql":
        # Two servers that start at once must not both create the tables.
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7302511)")
    version = 0
    if inspect(connection).has_table("meta"):
        found = connection.execute(select(meta.c.value).where(meta.c.key == "schema")).scalar()
        version = int(found or 0)
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
