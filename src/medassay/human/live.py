"""Ratings, agreement and lists of disagreements of a running study, kept until something changes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter

from medassay.human.decisions import Decisions, text_key
from medassay.human.plan import Unit
from medassay.human.protocols.base import WordCounts
from medassay.human.ratings import Key, Rating, Ratings, count_words, task_ratings
from medassay.human.store import Store, StoredTask
from medassay.human.tables import AgreementRow, SystemRow, agreement, system_table

REFRESH_SECONDS = 30
"""Agreement that takes long to compute is computed anew at most this often while answers come in."""


def from_store(store: Store) -> Ratings:
    """The ratings of a study: finished tasks only, practice left out."""
    return LiveRatings(store).read()


class LiveRatings:
    """The ratings of a running study; only tasks with new events are read again."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._by_task: dict[str, tuple[int, list[tuple[int, Rating]]]] = {}
        self._latest: tuple[tuple[int, ...], Ratings] | None = None
        self._lengths: dict[Key, WordCounts] = {}
        self._position: dict[Key, int] = {}
        for unit in store.units():
            reference = count_words(unit.reference)
            for item in unit.items:
                key = (unit.case_id, item.system)
                self._position[key] = len(self._position)
                self._lengths[key] = WordCounts(count_words(item.candidate), reference)

    def read(self) -> Ratings:
        """The ratings as they are now; the same object again where nothing has changed."""
        revision = self.store.revision()
        if self._latest is None or self._latest[0] != revision:
            self._latest = (revision, self._read())
        return self._latest[1]

    def _read(self) -> Ratings:
        ranked: list[tuple[int, Rating]] = []
        order = {name: i for i, name in enumerate(self.store.names)}
        for task in self.store.tasks():
            if not task.training and task.state["done"]:
                ranked += self._task_rows(task, order)
        ranked.sort(key=itemgetter(0))
        rows = [row for _, row in ranked]
        return Ratings(self.store.protocol, rows, Decisions(self.store).all(), self._lengths)

    def _task_rows(self, task: StoredTask, order: Mapping[str, int]) -> list[tuple[int, Rating]]:
        """A task's ratings with their positions in the table: texts as in the file, annotators as in the study."""
        cached = self._by_task.get(task.id)
        if cached is None or cached[0] != task.seq:
            rank = order[task.annotator]
            rows = [(self._position[r.key] * 1000 + rank, r) for r in task_ratings(self.store.protocol, task)]
            cached = self._by_task[task.id] = (task.seq, rows)
        return cached[1]


class LiveAgreement:
    """Agreement and means by system; computed again when answers have come in and, if slow, after some time."""

    def __init__(self) -> None:
        self._cached: tuple[Ratings, list[AgreementRow], list[SystemRow]] | None = None
        self._computed_at = 0.0
        self._seconds = 0.0

    def read(self, ratings: Ratings) -> tuple[Ratings, list[AgreementRow], list[SystemRow]]:
        """The tables, and the ratings that they are computed from."""
        start = time.monotonic()
        recent = self._seconds > 0.5 and start - self._computed_at < REFRESH_SECONDS
        if self._cached is None or (self._cached[0] is not ratings and not recent):
            resamples = max(50, min(300, 2_000_000 // max(1, len(ratings.by_key))))
            rows = agreement(ratings, resamples=resamples) if ratings.rows else []
            self._cached = (ratings, rows, system_table(ratings))
            self._computed_at, self._seconds = time.monotonic(), time.monotonic() - start
        return self._cached


@dataclass(frozen=True, slots=True)
class Spread:
    """One text and how far its annotators are apart on one column; −1 where fewer than two gave a value."""

    key: str
    case_id: str
    system: str
    values: tuple[float | None, ...]
    spread: float
    decided: bool


def spreads(ratings: Ratings, names: list[str], column: str) -> list[Spread]:
    """All judged texts, the furthest apart first."""
    texts = []
    for (case_id, system), rows in ratings.by_key.items():
        given = {row.annotator: row.values.get(column) for row in rows}
        known = [value for value in given.values() if value is not None]
        apart = max(known) - min(known) if len(known) > 1 else -1.0
        values = tuple(given.get(name) for name in names)
        decided = (case_id, system) in ratings.decisions
        texts.append(Spread(text_key(case_id, system), case_id, system, values, apart, decided))
    return sorted(texts, key=lambda text: -text.spread)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The texts that can be reached from one text in the list it was opened from."""

    number: int
    total: int
    before: str | None
    after: str | None
    undecided: str | None


def neighbours(texts: list[Spread], key: str) -> Neighbours:
    """The texts before and after, and the next one without a decision (from the start again at the end)."""
    index = next((i for i, text in enumerate(texts) if text.key == key), None)
    if index is None:
        undecided = next((text.key for text in texts if not text.decided), None)
        return Neighbours(0, len(texts), None, texts[0].key if texts else None, undecided)
    later = [*texts[index + 1 :], *texts[:index]]
    return Neighbours(
        index + 1,
        len(texts),
        texts[index - 1].key if index else None,
        texts[index + 1].key if index + 1 < len(texts) else None,
        next((text.key for text in later if not text.decided), None),
    )


class LiveDisagreements:
    """The judged texts by disagreement on a column, and the texts by their keys."""

    def __init__(self, store: Store, ratings: LiveRatings) -> None:
        self.store = store
        self.ratings = ratings
        self._by_column: dict[str, tuple[Ratings, list[Spread]]] = {}
        self._keys: dict[str, tuple[str, int]] = {}
        for unit in store.units():
            for index, item in enumerate(unit.items):
                self._keys.setdefault(text_key(unit.case_id, item.system), (unit.case_id, index))

    def column(self, name: str | None) -> str:
        """The column of that name, by default the protocol's main score; KeyError where there is none."""
        protocol = self.store.protocol
        chosen = name or (protocol.derived or protocol.columns)[min(2, len(protocol.derived) - 1)]
        if chosen not in protocol.columns:
            raise KeyError(chosen)
        return chosen

    def texts(self, column: str) -> list[Spread]:
        """All judged texts, the furthest apart on this column first."""
        ratings = self.ratings.read()
        cached = self._by_column.get(column)
        if cached is None or cached[0] is not ratings:
            cached = self._by_column[column] = (ratings, spreads(ratings, self.store.names, column))
        return cached[1]

    def find(self, key: str) -> tuple[Unit, int]:
        """The case and index of the text with this key; KeyError where there is none."""
        case_id, index = self._keys[key]
        return self.store.unit(case_id), index
