"""Ratings: what each annotator said about each text, wherever it came from (a study, a table, Label Studio)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from medassay.human.decisions import Decisions
from medassay.human.protocols.base import Protocol, Words
from medassay.human.state import CANNOT_JUDGE, answers
from medassay.study import Floats

if TYPE_CHECKING:
    from medassay.human.store import Store, StoredTask

Key = tuple[str, str]
"""A text: case id and system."""


@dataclass(frozen=True, slots=True)
class Rating:
    """One annotator on one text. `values` hold raw answers and derived scores, None where undefined."""

    case_id: str
    system: str
    annotator: str
    values: Mapping[str, float | None]
    comment: str = ""
    seconds: float | None = None
    slot: int | None = None
    """Which place the text had in the annotator's (random) order, from 1."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """Reasons by flag: `flag`, `cannot_judge` (then no value is known)."""
    draft: bool | None = None
    """Whether the machine's draft was shown, by lot; None where the task took no part in the draw."""
    from_draft: int = 0
    """How many highlights and numbers were taken from the machine's draft."""

    @property
    def key(self) -> Key:
        """Which text this is about."""
        return (self.case_id, self.system)


@dataclass(frozen=True, slots=True)
class Final:
    """What stands for one text in the end. `problem` names the limit that is broken, if one is."""

    values: Mapping[str, float | None]
    decided: bool
    problem: str | None = None


@dataclass(frozen=True)
class Ratings:
    """All ratings of one protocol; decisions of the coordinator apart from them."""

    protocol: Protocol
    rows: Sequence[Rating]
    decisions: Mapping[Key, Mapping[str, float]] = field(default_factory=dict)
    """What coordinators decided, raw answers only."""
    lengths: Mapping[Key, Words] = field(default_factory=dict)
    """What counts are normalised by."""

    @property
    def annotators(self) -> list[str]:
        """In order of first appearance."""
        return list(dict.fromkeys(row.annotator for row in self.rows))

    @property
    def keys(self) -> list[Key]:
        """The texts, in order of first appearance."""
        return list(dict.fromkeys(row.key for row in self.rows))

    @property
    def systems(self) -> list[str]:
        """In order of first appearance."""
        return list(dict.fromkeys(row.system for row in self.rows))

    @cached_property
    def by_key(self) -> Mapping[Key, list[Rating]]:
        """The ratings of each text."""
        grouped: dict[Key, list[Rating]] = {}
        for row in self.rows:
            grouped.setdefault(row.key, []).append(row)
        return grouped

    def averages(self, key: Key) -> dict[str, float | None]:
        """Each column of a text averaged over its annotators; None where nobody gave a value."""
        given = self.by_key.get(key, [])
        return {column: mean(row.values.get(column) for row in given) for column in self.protocol.columns}

    def final(self, key: Key) -> Final:
        """What stands for a text in the end: the decision, and the annotators' average where nothing is decided.

        Scores that a decision bears on follow from the values that stand. Where these contradict each other
        (an answer came in after the decision), the scores are undefined and `problem` says why.
        """
        averages = self.averages(key)
        decided = self.decisions.get(key, {})
        if not decided:
            return Final(averages, False)
        values = {**averages, **decided}
        broken = self.protocol.broken(values)
        if broken:
            return Final({**values, **dict.fromkeys(self.protocol.derived)}, True, broken[0].reason)
        before, after = (self.protocol.derive(answers_given, self.length(key)) for answers_given in (averages, values))
        touched = {name: after[name] for name in self.protocol.derived if after[name] != before[name]}
        return Final({**values, **touched}, True)

    def length(self, key: Key) -> Words:
        """What the counts of a text are normalised by; nothing where it is not known."""
        return self.lengths.get(key, Words(0, 0))

    def items(self, column: str) -> list[Key]:
        """The texts a column speaks of; a count per case (facts in the reference) is one item per case."""
        question = self.protocol.question(column)
        if question is not None and question.per == "case":
            return [(case_id, "") for case_id in dict.fromkeys(row.case_id for row in self.rows)]
        return self.keys

    def table(self, column: str, annotators: Sequence[str] | None = None) -> Floats:
        """Raters × items for one column, NaN where missing."""
        names = list(annotators) if annotators is not None else self.annotators
        items = self.items(column)
        place = {key: i for i, key in enumerate(items)}
        rater = {name: i for i, name in enumerate(names)}
        table = np.full((len(names), len(items)), np.nan)
        for row in self.rows:
            value = row.values.get(column)
            key = row.key if row.key in place else (row.case_id, "")
            if row.annotator in rater and value is not None and key in place:
                table[rater[row.annotator], place[key]] = value
        return table

    def text_table(self, column: str) -> Floats:
        """Raters × texts for one column, a count per case repeated for each of its texts; NaN where missing."""
        rater = {name: i for i, name in enumerate(self.annotators)}
        place = {key: i for i, key in enumerate(self.keys)}
        table = np.full((len(rater), len(place)), np.nan)
        for row in self.rows:
            value = row.values.get(column)
            if value is not None and row.annotator in rater:
                table[rater[row.annotator], place[row.key]] = value
        return table


def with_derived(protocol: Protocol, raw: Mapping[str, float | None], words: Words) -> dict[str, float | None]:
    """Raw answers and the scores that follow from them."""
    own = {question.name: raw.get(question.name) for question in protocol.questions}
    return {**own, **protocol.derive(own, words)}


def count_words(text: str) -> int:
    """Words of a text: stretches between white space."""
    return len(text.split())


def from_store(store: Store, *, unfinished: bool = False) -> Ratings:
    """The ratings of a study: finished tasks only (or all), practice left out."""
    return LiveRatings(store).read(unfinished=unfinished)


class LiveRatings:
    """The ratings of a running study; only tasks that have moved on since the last look are read again."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._rows: dict[str, tuple[int, list[tuple[int, Rating]]]] = {}
        self._latest: tuple[tuple[object, ...], Ratings] | None = None
        self._lengths: dict[Key, Words] = {}
        self._place: dict[Key, int] = {}
        for unit in store.units():
            reference = count_words(unit.reference)
            for item in unit.items:
                key = (unit.case_id, item.system)
                self._place[key] = len(self._place)
                self._lengths[key] = Words(count_words(item.candidate), reference)

    def read(self, *, unfinished: bool = False) -> Ratings:
        """The ratings as they stand now; the same object again where nothing has changed."""
        revision = (unfinished, *self.store.revision())
        if self._latest is None or self._latest[0] != revision:
            self._latest = (revision, self._read(unfinished))
        return self._latest[1]

    def _read(self, unfinished: bool) -> Ratings:
        ranked: list[tuple[int, Rating]] = []
        order = {name: i for i, name in enumerate(self.store.names)}
        for task in self.store.tasks():
            if not task.training and task.seq and (task.state["done"] or unfinished):
                ranked += self._of(task, order)
        ranked.sort(key=itemgetter(0))
        rows = [row for _, row in ranked]
        return Ratings(self.store.protocol, rows, Decisions(self.store).all(), self._lengths)

    def _of(self, task: StoredTask, order: Mapping[str, int]) -> list[tuple[int, Rating]]:
        """A task's ratings with their places in the table: texts as in the file, annotators as in the study."""
        known = self._rows.get(task.id)
        if known is None or known[0] != task.seq:
            rank = order[task.annotator]
            rows = [(self._place[r.key] * 1000 + rank, r) for r in task_ratings(self.store.protocol, task)]
            known = self._rows[task.id] = (task.seq, rows)
        return known[1]


def task_ratings(protocol: Protocol, task: StoredTask) -> list[Rating]:
    """The ratings of one task, one for each text that was answered or cannot be judged."""
    state, reference = task.state, count_words(task.unit.reference)
    rows = []
    for number, item in enumerate(task.candidates, 1):
        slot = str(number)
        raw = answers(protocol, state, slot)
        flags = {**state["flags"].get("case", {}), **state["flags"].get(slot, {})}
        if all(value is None for value in raw.values()) and CANNOT_JUDGE not in flags:
            continue
        words = Words(count_words(item.candidate), reference)
        comments = [state["comments"].get(where, "") for where in ("case", slot)]
        taken = sum(bool(mark.get("from_draft")) for mark in state["marks"] if mark["slot"] == slot)
        rows.append(
            Rating(
                task.unit.case_id,
                item.system,
                task.annotator,
                with_derived(protocol, raw, words),
                "\n".join(text for text in comments if text),
                state["active_ms"] / 1000,
                number,
                flags,
                task.draft,
                taken + len(state["from_draft"].get(slot, ())),
            )
        )
    return rows


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
