"""Ratings: the answers and scores of each annotator for each text, from a study, a table or another tool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from medassay.human.plan import Item, Unit
from medassay.human.protocols.base import CASE, Protocol, WordCounts
from medassay.human.state import CANNOT_JUDGE, answers
from medassay.study import Floats

if TYPE_CHECKING:
    from medassay.human.store import StoredTask

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
    """The position of the text in the annotator's (random) order, from 1."""
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
class FinalValues:
    """The final answers and scores of one text. `problem` names the limit that is broken, if one is."""

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
    lengths: Mapping[Key, WordCounts] = field(default_factory=dict)
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

    def final(self, key: Key) -> FinalValues:
        """The final values of a text: the decision, and the annotators' average where nothing is decided.

        Scores that depend on a decision are computed from the final answers. Where these contradict each other
        (an answer came in after the decision), the scores are undefined and `problem` says why.
        """
        averages = self.averages(key)
        decided = self.decisions.get(key, {})
        if not decided:
            return FinalValues(averages, False)
        values = {**averages, **decided}
        broken = self.protocol.broken(values)
        if broken:
            return FinalValues({**values, **dict.fromkeys(self.protocol.derived)}, True, broken[0].reason)
        before, after = (self.protocol.derive(answers_given, self.length(key)) for answers_given in (averages, values))
        touched = {name: after[name] for name in self.protocol.derived if after[name] != before[name]}
        return FinalValues({**values, **touched}, True)

    def length(self, key: Key) -> WordCounts:
        """What the counts of a text are normalised by; nothing where it is not known."""
        return self.lengths.get(key, WordCounts(0, 0))

    def items(self, column: str) -> list[Key]:
        """The texts a column speaks of; a count per case (facts in the reference) is one item per case."""
        question = self.protocol.question(column)
        if question is not None and question.per == "case":
            return [(case_id, "") for case_id in dict.fromkeys(row.case_id for row in self.rows)]
        return self.keys

    def table(self, column: str, *, per_text: bool = False) -> Floats:
        """Raters × items for one column, NaN where missing.

        Args:
            column: An answer or a derived score.
            per_text: Repeat a count that is made once per case for each text of the case.
        """
        position = {key: i for i, key in enumerate(self.keys if per_text else self.items(column))}
        rater = {name: i for i, name in enumerate(self.annotators)}
        table = np.full((len(rater), len(position)), np.nan)
        for row in self.rows:
            value = row.values.get(column)
            key = row.key if row.key in position else (row.case_id, "")
            if value is not None and key in position:
                table[rater[row.annotator], position[key]] = value
        return table


def with_derived(protocol: Protocol, raw: Mapping[str, float | None], words: WordCounts) -> dict[str, float | None]:
    """Raw answers and the scores that follow from them."""
    own = {question.name: raw.get(question.name) for question in protocol.questions}
    return {**own, **protocol.derive(own, words)}


def count_words(text: str) -> int:
    """Words of a text: stretches between white space."""
    return len(text.split())


def text_rating(protocol: Protocol, unit: Unit, item: Item, raw: Mapping[str, float | None], **details: Any) -> Rating:
    """The rating of one text from its raw answers; `details` are the other fields of `Rating`."""
    words = WordCounts(count_words(item.candidate), count_words(unit.reference))
    return Rating(unit.case_id, item.system, values=with_derived(protocol, raw, words), **details)


def task_ratings(protocol: Protocol, task: StoredTask) -> list[Rating]:
    """The ratings of one task, one for each text that was answered or cannot be judged."""
    state = task.state
    rows = []
    for number, item in enumerate(task.candidates, 1):
        slot = str(number)
        raw = answers(protocol, state, slot)
        flags = {**state["flags"].get(CASE, {}), **state["flags"].get(slot, {})}
        if all(value is None for value in raw.values()) and CANNOT_JUDGE not in flags:
            continue
        comments = [state["comments"].get(where, "") for where in (CASE, slot)]
        drafted = sum(bool(mark.get("from_draft")) for mark in state["marks"] if mark["slot"] == slot)
        rating = text_rating(
            protocol,
            task.unit,
            item,
            raw,
            annotator=task.annotator,
            comment="\n".join(text for text in comments if text),
            seconds=state["active_ms"] / 1000,
            slot=number,
            flags=flags,
            draft=task.draft,
            from_draft=drafted + len(state["from_draft"].get(slot, ())),
        )
        rows.append(rating)
    return rows


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
