"""Backup and restore of a whole study in one file, for SQLite and PostgreSQL, while the server may run.

The archive holds the study file, its key, the cases, and every row of the database as JSON lines. It holds
reports and all links: it is written readable by its owner only.
"""

from __future__ import annotations

import json
import os
import re
import time
import zipfile
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, select, text
from sqlalchemy.exc import SQLAlchemyError

from medassay.errors import InputError
from medassay.files import OutputFile, unwritable
from medassay.human import schema
from medassay.human.database import make_engine
from medassay.human.store import Store
from medassay.human.study import Study, load_study

FORMAT = "medassay study backup 1"
_MANIFEST, _STUDY, _KEY, _CASES = "manifest.json", "study.yaml", "study.key", "cases"
_BATCH = 500


def backup(store: Store, out: Path) -> int:
    """Write the study to an archive, as it is at one moment; returns the number of events in it."""
    study = store.study
    try:
        with OutputFile(out) as file:
            file.temporary.chmod(0o600)
            with zipfile.ZipFile(file.temporary, "w", zipfile.ZIP_DEFLATED) as archive:
                events = _write_tables(store, archive)
                archive.writestr(_STUDY, study.path.read_bytes())
                archive.writestr(_KEY, study.key_path.read_bytes())
                archive.writestr(_CASES, study.cases.read_bytes())
                manifest = {
                    "format": FORMAT,
                    "schema": len(schema.MIGRATIONS),
                    "study": study.path.name,
                    "cases": study.cases.name,
                    "events": events,
                    "made_at": time.time(),
                }
                archive.writestr(_MANIFEST, json.dumps(manifest, indent=1))
            file.commit()
            if not file.special:
                out.chmod(0o600)  # an older file may have been open to others
    except OSError as error:
        raise unwritable(out, error) from error
    return events


def _write_tables(store: Store, archive: zipfile.ZipFile) -> int:
    events = 0
    level = {} if store.database.path is not None else {"isolation_level": "REPEATABLE READ"}
    store.database.check()
    with store.engine.connect().execution_options(**level) as connection:
        for table in schema.metadata.sorted_tables:
            order = list(table.primary_key.columns)
            with archive.open(f"tables/{table.name}.jsonl", "w") as binary, TextIOWrapper(binary, "utf-8") as lines:
                for row in connection.execute(select(table).order_by(*order)):
                    lines.write(json.dumps(dict(row._mapping)) + "\n")
                    events += table is schema.events
    return events


def restore(archive: Path, folder: Path, database: str | None = None) -> tuple[Study, int]:
    """Put a study back from an archive into a folder that has none of its files, and check it.

    Args:
        archive: A file that `backup` wrote.
        folder: Where the study file, its key and the cases go.
        database: Where the rows go; by default as the study file says.

    Returns:
        The study and the number of events.
    """
    with _open(archive) as opened:
        manifest = _manifest(opened, archive)
        study_path, cases = folder / manifest["study"], folder / manifest["cases"]
        for path in (study_path, study_path.with_suffix(".key"), study_path.with_suffix(".begun"), cases):
            if path.exists():
                raise InputError(f"{path}: is there already; restore into an empty folder")
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        try:
            for path, name in ((study_path, _STUDY), (study_path.with_suffix(".key"), _KEY), (cases, _CASES)):
                written.append(path)
                _write_private(path, opened.read(name))
            _point_to(study_path, cases.name, database)
            study = load_study(study_path)
            own = _fill(study, opened, manifest)
            written.append(study.marker_path)
            _write_private(study.marker_path, f"{own}\n".encode())
            return study, _verify(study, int(manifest["events"]), archive)
        except Exception:
            for path in written:  # half a study is worse than none; rows that were written stay unused
                path.unlink(missing_ok=True)
            raise


def _open(archive: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(archive)
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{archive}: not a backup of 'medassay annotate backup' ({error})") from error


def _manifest(opened: zipfile.ZipFile, archive: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads(opened.read(_MANIFEST))
        good = manifest["format"] == FORMAT and int(manifest["events"]) >= 0
        names = [manifest["study"], manifest["cases"]]
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"{archive}: not a backup of 'medassay annotate backup'") from error
    if not good or any(not isinstance(name, str) or Path(name).name != name for name in names):
        raise InputError(f"{archive}: not a backup of 'medassay annotate backup'")
    if manifest["schema"] > len(schema.MIGRATIONS):
        raise InputError(f"{archive}: made by a later medassay; upgrade medassay to restore it")
    return manifest


def _write_private(path: Path, content: bytes) -> None:
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(content)
    except OSError as error:
        raise unwritable(path, error) from error


def _point_to(study_path: Path, cases: str, database: str | None) -> None:
    """Let the study file name the cases beside it and, where one was given, the database."""
    content = study_path.read_text(encoding="utf-8")
    for key, value in (("cases", cases), ("database", database)):
        if value is not None:
            line = f"{key}: {json.dumps(value)}"
            content, times = re.subn(rf"(?m)^{key}:[^\n]*$", lambda _, line=line: line, content, count=1)  # type: ignore[misc]
            content = content if times else f"{line}\n{content}"
    study_path.write_text(content, encoding="utf-8")


def _fill(study: Study, opened: zipfile.ZipFile, manifest: dict[str, Any]) -> str:
    """Write all rows into an empty database; returns the id of the study's database."""
    engine = make_engine(study.url())
    own = ""
    try:
        with engine.connect().execution_options(write=True) as connection, connection.begin():
            if inspect(connection).has_table("meta"):
                raise InputError(f"{study.path}: its database is not empty; name another with --database")
            schema.migrate(connection, schema.MIGRATIONS[: manifest["schema"]])
            for table in schema.metadata.sorted_tables:
                for rows in _batches(opened, table.name):
                    if table is schema.meta:
                        own = next((row["value"] for row in rows if row["key"] == "id"), own)
                        rows = [row for row in rows if row["key"] != "schema"]
                    connection.execute(table.insert(), rows)
            _continue_numbering(connection)
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", error)).strip().splitlines()[0]
        raise InputError(f"{study.path}: the database cannot be filled: {reason}") from error
    finally:
        engine.dispose()
    return own


def _batches(opened: zipfile.ZipFile, table: str) -> Iterator[list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    with opened.open(f"tables/{table}.jsonl") as lines:
        for line in lines:
            rows.append(json.loads(line))
            if len(rows) == _BATCH:
                yield rows
                rows = []
    if rows:
        yield rows


def _continue_numbering(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(
            text("SELECT setval(pg_get_serial_sequence('events', 'seq'), coalesce((SELECT max(seq) FROM events), 1))")
        )


def _verify(study: Study, expected: int, archive: Path) -> int:
    store = Store(study)
    try:
        events = sum(1 for _ in store.history())
        problems = store.audit()
    finally:
        store.close()
    if events != expected or problems:
        reason = problems[0] if problems else f"{expected} events expected, {events} found"
        raise InputError(f"{archive}: the backup is damaged: {reason}")
    return events
