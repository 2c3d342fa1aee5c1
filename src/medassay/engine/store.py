"""The store of scores, written during a run, so that an interrupted run continues where it stopped.

A store is one SQLite file. The key of a score is the hash of everything that it depends on: the metric's signature
and the content of every case field that it may read. Another setting, version or text gives another key, so that no
outdated score is used. Failures of a metric are never stored: the next run tries again.
"""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from medassay.cases import Case
from medassay.errors import MedassayError
from medassay.metrics.base import Metric
from medassay.scores import Score

JOURNALS = ("-wal", "-shm", "-journal")
"""Endings of what SQLite puts beside a store."""
VERSION = 2
"""Of the scores that a store holds. Those of 0.1 have none: some metrics kept their names and changed their meaning."""
_CHUNK = 500
"""Keys looked up in one statement; SQLite allows at least 999 variables."""


class Store:
    """Scores by content, on disk. Use as a context manager."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._writer: ThreadPoolExecutor | None = None
        self._writer_connection: sqlite3.Connection | None = None
        try:
            self.db = self._connect()
            self.db.execute("PRAGMA journal_mode=WAL")
            # With row ids: scores are appended, and only the short keys are put in order, which is three times faster.
            (former,) = self.db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'scores'").fetchone()
            (version,) = self.db.execute("PRAGMA user_version").fetchone()
            if not former:
                self.db.execute("CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, score TEXT)")
                self.db.execute(f"PRAGMA user_version={VERSION}")
        except sqlite3.Error as error:
            raise MedassayError(
                f"{self.path}: cannot keep results here ({error}). Delete the file if it is damaged, "
                "choose a writable folder with --out or --store, or run with --no-store"
            ) from error
        if former and version != VERSION:
            self.db.close()
            by = "medassay 0.1" if version == 0 else "a later medassay"
            raise MedassayError(
                f"{self.path}: this store was made by {by}, whose metrics mean something else (docs/ledger.md). Delete "
                "it, name another one with --store, or run with --no-store"
            )

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=60)
        # In WAL, NORMAL: a killed process loses nothing committed; a power cut at most the last batch.
        db.execute("PRAGMA synchronous=NORMAL")
        return db

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish writing, and close the file."""
        if self._writer is not None:
            self._writer.submit(self._close_writer_connection)
            self._writer.shutdown(wait=True)
            self._writer = None
        self.db.close()

    def _close_writer_connection(self) -> None:
        if self._writer_connection is not None:
            self._writer_connection.close()
            self._writer_connection = None

    def get(self, metric: Metric, cases: Sequence[Case], evidence: bool = False) -> list[Score | None]:
        """The stored score of each case, None where there is none yet."""
        keys = keys_of(metric, cases, evidence)
        stored = self.find(keys)
        return [stored.get(key) for key in keys]

    def put(self, metric: Metric, cases: Sequence[Case], scores: Sequence[Score]) -> None:
        """Store the scores, but no failure; once this returns, they survive a kill."""
        each = zip(keys_of(metric, cases), scores)
        self.write([(key, score.to_json()) for key, score in each if score.failed is None])

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Score]:
        """The stored scores under these keys; a key that is not there, or whose score is no score, is left out."""
        stored: dict[bytes, Score] = {}
        for start in range(0, len(keys), _CHUNK):
            some = keys[start : start + _CHUNK]
            marks = ",".join("?" * len(some))
            try:
                rows = self.db.execute(f"SELECT key, score FROM scores WHERE key IN ({marks})", some).fetchall()
            except sqlite3.Error as error:
                raise MedassayError(
                    f"{self.path}: kept results cannot be read ({error}); the file is damaged. Delete it and give the "
                    "same command again"
                ) from error
            for key, text in rows:
                with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):  # measured again
                    stored[key] = Score.from_json(text)
        return stored

    def write(self, rows: Iterable[tuple[bytes, str]]) -> None:
        """Store (key, JSON) rows, all or none; once this returns, they survive a kill."""
        self._insert(self.db, rows)

    def write_soon(self, rows: Sequence[tuple[bytes, str]]) -> Future[None]:
        """As `write`, in a thread that writes while this one goes on; in the order of the calls."""
        if self._writer is None:
            self._writer = ThreadPoolExecutor(1, thread_name_prefix="medassay-store")
        return self._writer.submit(self._insert_in_writer, rows)

    def _insert_in_writer(self, rows: Sequence[tuple[bytes, str]]) -> None:
        if self._writer_connection is None:  # a connection belongs to its thread
            self._writer_connection = self._connect()
        self._insert(self._writer_connection, rows)

    def _insert(self, db: sqlite3.Connection, rows: Iterable[tuple[bytes, str]]) -> None:
        try:
            with db:
                db.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", rows)
        except sqlite3.Error as error:
            if isinstance(error, sqlite3.OperationalError):
                remedy = "is the disk full? Make room and give the same command again: it continues where it stopped"
            else:
                remedy = "the file is damaged. Delete it and give the same command again"
            raise MedassayError(f"{self.path}: results could not be kept ({error}); {remedy}") from error

    @property
    def parts(self) -> Path:
        """The folder beside the file where an engine may keep finished parts."""
        return self.path.with_name(self.path.name + ".parts")

    def delete(self) -> None:
        """Remove the file, and the parts beside it: the run they served is complete."""
        self.close()
        shutil.rmtree(self.parts, ignore_errors=True)
        for suffix in ("", *JOURNALS):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)


def keys_of(
    metric: Metric,
    cases: Sequence[Case],
    evidence: bool = False,
    digests: dict[frozenset[str], list[bytes]] | None = None,
    *,
    shared: bool = True,
) -> list[bytes]:
    """The content address of one metric's score of each case.

    Args:
        digests: the cases' digests by the fields that were read for them, filled here: metrics that read the same
            fields share them.
        shared: whether the key is for a store that other runs read; else it holds for this very metric object.
    """
    fields = metric.fields
    known = {} if digests is None else digests
    if fields not in known:
        known[fields] = [case.digest(fields) for case in cases]
    if not shared:
        prefix = b"%d/%d/" % (id(metric), evidence)
        return [prefix + digest for digest in known[fields]]
    start = hashlib.blake2b(str(metric.signature).encode(), digest_size=20)
    start.update(b"evidence" if evidence else b"value")
    keys = []
    for digest in known[fields]:
        hasher = start.copy()
        hasher.update(digest)
        keys.append(hasher.digest())
    return keys
