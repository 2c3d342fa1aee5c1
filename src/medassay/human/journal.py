"""The journal: events are only ever appended, each with an id of its own, so that a replay is recognised."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from medassay.errors import MedassayError
from medassay.human import schema
from medassay.human.history import Event

STUDY = "study"
"""The entry under which actions are recorded that concern no single task or text."""


class Conflict(MedassayError):
    """An event id that was used before for something else."""


@dataclass(frozen=True, slots=True)
class NewEvent:
    """A change as a client sends it."""

    id: str
    kind: str
    payload: Mapping[str, Any]
    client_at: float | None = None
    active_ms: int = 0


def is_recorded(connection: Connection, task: str, who: str, new: NewEvent) -> bool:
    """Whether this very event is recorded already; the same id for anything else is a conflict."""
    row = connection.execute(select(schema.events).where(schema.events.c.id == new.id)).one_or_none()
    if row is None:
        return False
    same = (row.task, row.annotator, row.kind) == (task, who, new.kind)
    if same and new.kind not in ("undo", "redo"):
        same = json.loads(row.payload) == json.loads(json.dumps(dict(new.payload)))
    if not same:
        raise Conflict("this event id has been used before")
    return True


def record(
    connection: Connection, task: str, seq: int, who: str, new: NewEvent, payload: Mapping[str, Any] | None = None
) -> float:
    """Append one event; gives the time it is recorded under."""
    now = time.time()
    connection.execute(
        schema.events.insert().values(
            id=new.id,
            task=task,
            task_seq=seq,
            annotator=who,
            kind=new.kind,
            payload=json.dumps(dict(new.payload if payload is None else payload), separators=(",", ":")),
            at=now,
            client_at=new.client_at,
            active_ms=new.active_ms,
        )
    )
    return now


def next_seq(connection: Connection, task: str) -> int:
    """The number of the next event of a task, of a decision or of the study."""
    query = select(func.max(schema.events.c.task_seq)).where(schema.events.c.task == task)
    return (connection.execute(query).scalar() or 0) + 1


def events_of(connection: Connection, task: str, up_to: int | None = None) -> list[Event]:
    """The events of a task in order, all of them or the first `up_to`."""
    table = schema.events
    query = select(table.c.id, table.c.kind, table.c.payload, table.c.active_ms, table.c.at)
    query = query.where(table.c.task == task).order_by(table.c.task_seq)
    if up_to is not None:
        query = query.where(table.c.task_seq <= up_to)
    rows = connection.execute(query)
    return [Event(row.id, row.kind, json.loads(row.payload), row.active_ms, row.at) for row in rows]
