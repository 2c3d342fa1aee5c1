"""Ratings: what each annotator said about each text, wherever it came from (a study, a table, Label Studio)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from medassay.human.protocols.base import Protocol, Words
from medassay.human.state import answers
from medassay.study import Floats

if TYPE_CHECKING:
    from medassay.human.store import Store

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

    @property
    def key(self) -> Key:
        """Which text this is about."""
        return (self.case_id, self.system)


@dataclass(frozen=True)
class Ratings:
    """All ratings of one protocol; decisions of the coordinator apart from them."""

    protocol: Protocol
    rows: Sequence[Rating]
    decisions: Mapping[Key, Mapping[str, float | None]] = field(default_factory=dict)

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
    rows = []
    for task in store.tasks():
        if task.training or not (task.state["done"] or unfinished):
            continue
        reference = count_words(task.unit.reference)
        seconds = task.state["active_ms"] / 1000
        for slot, item in enumerate(task.candidates, 1):
            raw = answers(store.protocol, task.state, str(slot))
            if all(value is None for value in raw.values()):
                continue
            values = with_derived(store.protocol, raw, Words(count_words(item.candidate), reference))
            comments = [task.state["comments"].get(place, "") for place in ("case", str(slot))]
            comment = "\n".join(text for text in comments if text)
            rows.append(Rating(task.unit.case_id, item.system, task.annotator, values, comment, seconds, slot))
    order = {name: i for i, name in enumerate(store.names)}
    place = {
        (unit.case_id, item.system): (i, k) for i, unit in enumerate(store.units()) for k, item in enumerate(unit.items)
    }
    rows.sort(key=lambda row: (place[row.key], order[row.annotator]))
    return Ratings(store.protocol, rows, _decisions(store))


def _decisions(store: Store) -> dict[Key, Mapping[str, float | None]]:
    texts = {(unit.case_id, item.system): (unit, item) for unit in store.units() for item in unit.items}
    decided: dict[Key, Mapping[str, float | None]] = {}
    for key, payload in store.decisions().items():
        unit, item = texts[key]
        words = Words(count_words(item.candidate), count_words(unit.reference))
        decided[key] = with_derived(store.protocol, payload["values"], words)
    return decided


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
