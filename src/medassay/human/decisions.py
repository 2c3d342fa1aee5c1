"""Decisions of coordinators: the final answers for a text, by the same rules as an annotator's.

What is counted once for a case (facts in the reference) is decided once for the case. A decision may leave
questions open; what annotators answered on average then stands beside it, and must not contradict it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from medassay.errors import MedassayError
from medassay.human import schema
from medassay.human.events import Conflict, NewEvent, is_recorded, record
from medassay.human.plan import task_id
from medassay.human.protocols.base import MAX_COUNT, Protocol, Question

if TYPE_CHECKING:
    from medassay.human.ratings import Ratings
    from medassay.human.store import Store


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision that stands for one text: its own part and that of its case.

    `base` are the numbers of the last decision on the text and on the case (0: none yet); a new decision
    names the ones it follows, so that nobody overwrites a decision they have not seen.
    """

    values: Mapping[str, float]
    note: str = ""
    who: str = ""
    at: float | None = None
    base: tuple[int, int] = (0, 0)


class OutdatedDecision(MedassayError):
    """Another decision was recorded after the one that the form was based on; nothing was recorded."""

    def __init__(self, standing: Decision) -> None:
        super().__init__("another decision was recorded in between")
        self.standing = standing


class Contradiction(MedassayError):
    """A decision that breaks a limit, by itself or together with what annotators answered."""


def text_key(case_id: str, system: str) -> str:
    """The identifier of a text in an address."""
    return task_id(0, system, case_id)


def _decision_key(case_id: str, system: str) -> str:
    """The name under which decisions on a text are recorded."""
    return "decision:" + text_key(case_id, system)


def _case_key(case_id: str) -> str:
    """The name under which decisions on a case as a whole are recorded."""
    return "decision-case:" + task_id(0, "", case_id)


def read(text: str, question: Question, label: str) -> float:
    """A decided value as it was typed."""
    try:
        value = float(text)
    except ValueError:
        raise Contradiction(f"“{label}”: “{text[:20]}” is not a number.") from None
    if question.choices and value not in question.choices:
        raise Contradiction(f"“{label}”: {value:g} is not one of the choices.")
    if not question.choices and not (0 <= value <= MAX_COUNT and value % 1 == 0):
        raise Contradiction(f"“{label}”: a count is a whole number from 0 to {MAX_COUNT}.")
    return value


def check(ratings: Ratings, case_id: str, system: str, values: Mapping[str, float]) -> None:
    """Refuse a decision that contradicts itself, or what stands for the texts of the case beside it."""
    protocol = ratings.protocol
    texts = dict.fromkeys([(case_id, system), *(key for key in ratings.by_key if key[0] == case_id)])
    shared = {name: value for name, value in values.items() if _per_case(protocol, name)}
    for key in texts:
        # The case's own decisions are replaced as a whole, like those of the text in hand.
        standing = {n: v for n, v in ratings.decisions.get(key, {}).items() if not _per_case(protocol, n)}
        decided = values if key == (case_id, system) else {**standing, **shared}
        broken = protocol.broken({**ratings.averages(key), **decided})
        if broken:
            where = f"{key[1] or 'This text'}: "
            beside = " Blank fields stand for the annotators’ average." if set(broken[0].terms) - set(decided) else ""
            raise Contradiction(where + broken[0].reason + beside)


def _per_case(protocol: Protocol, name: str) -> bool:
    question = protocol.question(name)
    return question is not None and question.per == "case"


class Decisions:
    """The decisions of one study, kept in its database."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def read(self, case_id: str, system: str) -> Decision:
        """The decision that stands for one text."""
        with self.store.database.reading() as connection:
            return self._read(connection, case_id, system)

    def _read(self, connection: Connection, case_id: str, system: str) -> Decision:
        rows = {}
        for key in (_decision_key(case_id, system), _case_key(case_id)):
            row = connection.execute(select(schema.decisions).where(schema.decisions.c.key == key)).one_or_none()
            rows[key] = row
        own, shared = rows.values()
        values = {} if own is None else dict(json.loads(own.payload)["values"])
        if shared is not None:
            values = {n: v for n, v in values.items() if not _per_case(self.store.protocol, n)}
            values |= json.loads(shared.payload)["values"]
        latest = max((row for row in (own, shared) if row is not None), key=lambda row: row.at, default=None)
        return Decision(
            values,
            "" if own is None else json.loads(own.payload).get("note", ""),
            "" if latest is None else latest.who,
            None if latest is None else latest.at,
            (0 if own is None else own.seq, 0 if shared is None else shared.seq),
        )

    def all(self) -> dict[tuple[str, str], dict[str, float]]:
        """What is decided, by text; texts of a case share what is counted once for it."""
        table = schema.decisions
        own: dict[tuple[str, str], dict[str, float]] = {}
        shared: dict[str, dict[str, float]] = {}
        with self.store.database.reading() as connection:
            for row in connection.execute(select(table).order_by(table.c.at)):
                values = json.loads(row.payload)["values"]
                whole = {n: v for n, v in values.items() if _per_case(self.store.protocol, n)}
                if row.system is None:
                    shared[row.case_id] = whole
                else:
                    own[(row.case_id, row.system)] = {n: v for n, v in values.items() if n not in whole}
                    if whole:  # decisions of version 0.1 hold a case's count with each text; the latest stands
                        shared.setdefault(row.case_id, {}).update(whole)
        for case_id, values in shared.items():
            for item in self.store.unit(case_id).items:
                own.setdefault((case_id, item.system), {}).update(values)
        return {key: values for key, values in own.items() if values}

    def decide(
        self,
        case_id: str,
        system: str,
        values: Mapping[str, float],
        *,
        who: str,
        event: str,
        note: str = "",
        base: tuple[int, int] | None = None,
    ) -> bool:
        """Record a decision on one text and its case; False where this very event was recorded before.

        Raises `OutdatedDecision` where another decision came after `base`.
        """
        own = {name: value for name, value in values.items() if not _per_case(self.store.protocol, name)}
        shared = {name: value for name, value in values.items() if name not in own}
        new = NewEvent(event, "decide", {"case": case_id, "system": system, "values": own, "note": note})
        whole = NewEvent(f"{event}-case", "decide", {"case": case_id, "values": shared})
        try:
            with self.store.database.writing() as connection:
                if is_recorded(connection, _decision_key(case_id, system), who, new):
                    return False
                standing = self._read(connection, case_id, system)
                if base is not None and standing.base != base:
                    raise OutdatedDecision(standing)
                _save(connection, _decision_key(case_id, system), standing.base[0] + 1, who, new)
                before = {n: v for n, v in standing.values.items() if _per_case(self.store.protocol, n)}
                if shared != before:
                    _save(connection, _case_key(case_id), standing.base[1] + 1, who, whole)
                return True
        except IntegrityError as error:
            raise Conflict("this event id has been used before, or two decisions came at once; try again") from error


def _save(connection: Connection, key: str, seq: int, who: str, new: NewEvent) -> None:
    at = record(connection, key, seq, who, new)
    schema.store_decision(connection, key, seq, new.payload, who, at)
