"""Reports written by the subject model during a trust run, stored so that a resumed run writes none of them again.

For each case with an image the subject writes what is missing of three reports: the plain one (`candidate`),
the one about the image with perturbed stains (`candidate_stain`), the one under a false history
(`candidate_attack`). A report that failed is empty, with the reason in a column `…_error`; it is tried again by
the next run, and never counts as a match.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from medassay.cases import Case, Row
from medassay.columns import Value
from medassay.errors import InputError, MedassayError
from medassay.metrics.histories import VERSION, choose
from medassay.metrics.subject import GenerationFailed, Prompts, Subject
from medassay.slides.ahead import in_order

ADDED = frozenset(
    {"attack_history", *(f"candidate{end}" for end in ("_stain", "_attack", "_error", "_stain_error", "_attack_error"))}
)
"""Columns that a generator may add to the cases."""


class ReportStore:
    """Generated reports by content, in the file of the run's store; safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self.lock = threading.Lock()
        try:
            self.db = sqlite3.connect(path, timeout=60, check_same_thread=False)
            self.db.execute("PRAGMA journal_mode=WAL")
            self.db.execute("CREATE TABLE IF NOT EXISTS texts (key BLOB PRIMARY KEY, text TEXT) WITHOUT ROWID")
        except sqlite3.Error as error:
            raise MedassayError(f"{path}: cannot keep reports here ({error}); choose another --store") from error

    def get(self, key: bytes) -> str | None:
        """The report of that key, if it was written before."""
        with self.lock:
            row = self.db.execute("SELECT text FROM texts WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def put(self, key: bytes, text: str) -> None:
        """Store a report; once this returns, it survives a kill."""
        with self.lock, self.db:
            self.db.execute("INSERT OR REPLACE INTO texts VALUES (?, ?)", (key, text))

    def close(self) -> None:
        """Close the file."""
        self.db.close()


class Generator:
    """Fills the reports that cases lack, several cases at a time, in order.

    images: the folder that relative image names are looked for in. stained: the folder of perturbed copies.
    written, reused: how many reports were written by the subject, and how many were read from the store.
    """

    def __init__(
        self,
        subject: Subject,
        prompts: Prompts,
        reports: ReportStore,
        *,
        images: Path | None,
        stained: Path,
        mpp: float | None = None,
        seed: int = 0,
        histories: str = VERSION,
    ) -> None:
        self.subject, self.prompts, self.reports = subject, prompts, reports
        self.images, self.stained, self.mpp = images, stained, mpp
        self.seed, self.histories = seed, histories
        self.written = self.reused = 0
        self._counting = threading.Lock()
        self._staining = threading.Lock()

    def fill(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows with every report that the subject could write."""
        try:
            yield from in_order(self._row, rows, self.subject.concurrency)
        except BaseException:
            self.subject.stop()
            raise

    def _row(self, row: Row) -> Row:
        return row if row.case is None else replace(row, case=self._case(row.case))

    def _case(self, case: Case) -> Case:
        from medassay.slides.perturb import locate

        try:
            image = locate(case, self.images)
        except InputError as error:
            lacking = [column for column in ("candidate_stain", "candidate_attack") if not case.has(column)]
            return replace(case, extra={**case.extra, **{f"{column}_error": str(error) for column in lacking}})
        extra: dict[str, Value] = dict(case.extra)
        candidate = case.candidate
        if not candidate.strip():
            candidate = self._into(extra, "candidate", image, self.prompts.plain) or ""
            extra.pop("candidate", None)
        if candidate and not case.has("candidate_stain"):
            copy = self._stained(case, extra)
            if copy is not None:
                self._into(extra, "candidate_stain", copy, self.prompts.plain)
        if candidate and not case.has("candidate_attack"):
            self._attack(case, candidate, image, extra)
        return replace(case, candidate=candidate, extra=extra)

    def _attack(self, case: Case, candidate: str, image: Path, extra: dict[str, Value]) -> None:
        try:
            history = choose(case, candidate, self.seed, self.histories)
        except InputError as error:
            extra["candidate_attack"], extra["candidate_attack_error"] = "", str(error)
            return
        extra["attack_history"] = history.id
        self._into(extra, "candidate_attack", image, self.prompts.attacked(history.text))

    def _stained(self, case: Case, extra: dict[str, Value]) -> Path | None:
        """The perturbed copy of a case's image; one at a time, as cases may share an image."""
        from medassay.slides.perturb import perturb_images, perturb_overview

        with self._staining:
            side = self.subject.side
            if side is not None:
                # A subject that is sent a small picture needs no perturbed copy of a whole slide.
                copy = perturb_overview(case, self.stained, side, images=self.images, seed=self.seed, mpp=self.mpp)
            else:
                copy = next(perturb_images([case], self.stained, images=self.images, seed=self.seed, mpp=self.mpp))
        if copy.problem is not None:
            extra["candidate_stain"], extra["candidate_stain_error"] = "", copy.problem
        return copy.path

    def _into(self, extra: dict[str, Value], column: str, image: Path, prompt: str) -> str | None:
        """Write one report into its column; where it fails, an empty text and the reason."""
        key = self._key(image, prompt)
        text = self.reports.get(key)
        with self._counting:
            self.reused += text is not None
        if text is None:
            try:
                text = self.subject.write(image, self.prompts.system, prompt)
            except (GenerationFailed, InputError) as error:
                extra[column], extra[f"{column}_error"] = "", str(error)
                return None
            self.reports.put(key, text)
            with self._counting:
                self.written += 1
        extra[column] = text
        return text

    def _key(self, image: Path, prompt: str) -> bytes:
        """Everything that makes a report: the subject, what it was asked, the image's bytes."""
        hasher = hashlib.blake2b(json.dumps([self.subject.name, self.prompts.system, prompt]).encode(), digest_size=20)
        hasher.update(fingerprint(image))
        return hasher.digest()


_WHOLE = 64_000_000
"""Bytes up to which a file is hashed whole; of a larger one the ends and the size stand for it."""


def fingerprint(path: Path) -> bytes:
    """A hash of an image file's content; of a large slide, of its size, first and last megabytes."""
    size = path.stat().st_size
    hasher = hashlib.blake2b(str(size).encode(), digest_size=16)
    with path.open("rb") as stream:
        if size <= _WHOLE:
            while block := stream.read(1 << 20):
                hasher.update(block)
        else:
            hasher.update(stream.read(4 << 20))
            stream.seek(-(4 << 20), 2)
            hasher.update(stream.read())
    return hasher.digest()
