"""Open a study's database, and notice when it is no longer the one that the study began with."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, func, select
from sqlalchemy.exc import SQLAlchemyError

from medassay.errors import InputError, MedassayError
from medassay.human import schema
from medassay.human.freeze import freeze
from medassay.human.study import Study


class DatabaseGone(MedassayError):
    """The database file was deleted, emptied or replaced under a running server; nothing can be saved."""


def _private(path: str) -> None:
    """Create a new database file that only its owner can read: it will hold reports."""
    with suppress(OSError):  # what else is wrong with the path, SQLite will say
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))


def make_engine(url: str) -> Engine:
    """An engine for SQLite or PostgreSQL. No parameter of a statement ever reaches a log or a traceback."""
    try:
        if not url.startswith("sqlite"):
            return create_engine(url, pool_size=10, max_overflow=10, pool_pre_ping=True, hide_parameters=True)
        _private(url.removeprefix("sqlite:///"))
        engine = create_engine(url, connect_args={"timeout": 30}, hide_parameters=True, pool_size=20, max_overflow=20)
    except (ImportError, SQLAlchemyError) as error:
        raise InputError(
            f"database: cannot open it ({error}); a file name, or postgresql://… with 'pip install medassay[postgres]'"
        ) from error

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _: object) -> None:
        connection.isolation_level = None  # medassay says BEGIN itself
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A writer takes its lock at once: no transaction fails halfway because another one wrote first.
        write = connection.get_execution_options().get("write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


class Database:
    """One study's database, brought up to date and frozen on opening. Safe to use from many threads, and from
    several processes."""

    def __init__(self, study: Study) -> None:
        url = study.url()
        self.path = Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:///") else None
        begun = _recorded_id(study)
        if begun is not None and self.path is not None and not _size(self.path):
            raise InputError(_missing_message(study))
        self.engine = make_engine(url)
        self._lock = threading.Lock() if self.path is not None else None
        self._identity: tuple[int, int] | None = None
        try:
            with self.writing() as connection:
                own = self._prepare(connection, study, begun)
        except SQLAlchemyError as error:
            reason = str(getattr(error, "orig", error)).strip().splitlines()[0]
            raise InputError(f"{study.path}: the database cannot be opened: {reason}") from error
        if begun is None:
            _write_marker(study, own)
        self._identity = self._present()

    def _prepare(self, connection: Connection, study: Study, begun: str | None) -> str:
        """Bring the database up to date, freeze the study into it or check that it is the one in it."""
        schema.migrate(connection)
        held: dict[str, str] = {row.key: row.value for row in connection.execute(select(schema.meta))}
        if begun is not None and ("study" not in held or held.get("id", begun) != begun):
            raise InputError(_missing_message(study))
        if "study" in held:
            _check_whole(connection, study)
        freeze(connection, study)
        if "id" in held:
            return held["id"]
        own = begun or secrets.token_hex(16)
        connection.execute(schema.meta.insert().values(key="id", value=own))
        return own

    def _present(self) -> tuple[int, int] | None:
        if self.path is None:
            return None
        try:
            file = self.path.stat()
        except OSError:
            raise DatabaseGone("the database file is gone") from None
        if file.st_size == 0:
            raise DatabaseGone("the database file has been emptied")
        return file.st_dev, file.st_ino

    def check(self) -> None:
        """Raise `DatabaseGone` where the file is not the one that was opened: SQLite would go on writing to a
        deleted file, and what was acknowledged would be lost."""
        if self._identity is not None and self._present() != self._identity:
            raise DatabaseGone("the database file has been replaced")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read with."""
        self.check()
        with self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction to write in; when the block ends without an exception, it is on disk."""
        # Writers of one process queue on a lock: faster than SQLite's busy timeout.
        if self._lock is not None:
            self._lock.acquire()
        try:
            self.check()
            with self.engine.connect().execution_options(write=True) as connection, connection.begin():
                yield connection
            self.check()
        finally:
            if self._lock is not None:
                self._lock.release()

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _check_whole(connection: Connection, study: Study) -> None:
    """Refuse a database that has lost its tasks."""
    tasks, states = (
        connection.execute(select(func.count()).select_from(table)).scalar() for table in (schema.tasks, schema.states)
    )
    if not tasks or tasks != states:
        raise InputError(
            f"{study.path}: the database has {tasks} tasks and {states} states of tasks; rows are missing. "
            "Put a backup in its place ('medassay annotate restore')"
        )


def _recorded_id(study: Study) -> str | None:
    """The id of the database that this study began with; None before the first start."""
    try:
        return study.marker_path.read_text(encoding="ascii", errors="replace").strip() or None
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{study.marker_path}: cannot be read ({error.strerror})") from error


def _write_marker(study: Study, own: str) -> None:
    try:
        with suppress(FileExistsError):  # another process opened the study at the same moment
            marker = os.open(study.marker_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(marker, "w", encoding="ascii") as stream:
                stream.write(own + "\n")
    except OSError as error:
        raise InputError(f"{study.marker_path}: cannot be written ({error.strerror})") from error


def _missing_message(study: Study) -> str:
    return (
        f"{study.path}: this study has begun, but its database is gone, empty or another one. Put it back, or a "
        f"backup in its place ('medassay annotate restore'). To begin anew and give up all answers, delete "
        f"{study.marker_path.name}"
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
