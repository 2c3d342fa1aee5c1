"""Events: what annotators and coordinators did. They are only ever appended, and undo and redo refer to earlier ones.

Each event has an id made by its sender, so that a request that is sent twice is recorded once."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, select

from medassay.errors import MedassayError
from medassay.human import schema

CONTENT = ("mark", "unmark", "flag", "set", "comment")
TYPING_SECONDS = 3.0
"""A longer pause between two changes of one field makes them two actions."""


class Event(NamedTuple):
    """One recorded change, as the fold sees it. `at` is the server's clock, seconds since 1970."""

    id: str
    kind: str
    payload: Mapping[str, Any]
    active_ms: int = 0
    at: float = 0.0


def targets(event: Event) -> list[str]:
    """The ids of the changes that an undo or redo refers to."""
    payload = event.payload
    return [str(payload["target"])] if "target" in payload else [str(target) for target in payload["targets"]]


def undone(events: Iterable[Event]) -> set[str]:
    """The ids of the changes that are taken back at the end of the history."""
    taken: set[str] = set()
    for event in events:
        if event.kind == "undo":
            taken.update(targets(event))
        elif event.kind == "redo":
            taken.difference_update(targets(event))
    return taken


def undo_targets(events: Sequence[Event]) -> list[str]:
    """The latest action that still stands, as the changes it consists of, the last one first; empty: none.

    Changes that the page sent as one group are one action, and so is what was typed without a pause:
    "1", then "12".
    """
    taken = undone(events)
    standing = [event for event in events if event.kind in CONTENT and event.id not in taken]
    action: list[Event] = []
    while standing and (not action or _same_action(standing[-1], action[-1])):
        action.append(standing.pop())
    return [event.id for event in action]


def redo_targets(events: Sequence[Event]) -> list[str]:
    """The action undone last, provided nothing was changed since; empty: none."""
    taken = undone(events)
    for event in reversed(events):
        if event.kind in CONTENT and event.id not in taken:
            return []
        if event.kind == "undo" and taken.issuperset(targets(event)):
            return targets(event)
    return []


def _same_action(earlier: Event, later: Event) -> bool:
    group = later.payload.get("group")
    if group is not None or earlier.payload.get("group") is not None:
        return bool(earlier.payload.get("group") == group)
    return (
        earlier.kind == later.kind
        and _typed_into(earlier) is not None
        and _typed_into(earlier) == _typed_into(later)
        and _typed(later).startswith(_typed(earlier))
        and later.at - earlier.at <= TYPING_SECONDS
    )


def _typed_into(event: Event) -> tuple[str, ...] | None:
    payload = event.payload
    if event.kind == "set":
        return (payload["slot"], payload["question"])
    return (payload["slot"],) if event.kind == "comment" else None


def _typed(event: Event) -> str:
    value = event.payload["text"] if event.kind == "comment" else event.payload["value"]
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


STUDY = "study"
"""Stands in for the task of events that concern the study as a whole."""


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
    """Append one event; returns the time it is recorded with."""
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


def record_action(connection: Connection, kind: str, payload: Mapping[str, Any], who: str) -> None:
    """Append an action that concerns the study as a whole, for the audit trail."""
    query = select(func.max(schema.events.c.task_seq)).where(schema.events.c.task == STUDY)
    seq = (connection.execute(query).scalar() or 0) + 1
    record(connection, STUDY, seq, who, NewEvent(secrets.token_urlsafe(16), kind, payload))


def events_of(connection: Connection, task: str, up_to: int | None = None) -> list[Event]:
    """The events of a task in order, all of them or the first `up_to`."""
    table = schema.events
    query = select(table.c.id, table.c.kind, table.c.payload, table.c.active_ms, table.c.at)
    query = query.where(table.c.task == task).order_by(table.c.task_seq)
    if up_to is not None:
        query = query.where(table.c.task_seq <= up_to)
    rows = connection.execute(query)
    return [Event(row.id, row.kind, json.loads(row.payload), row.active_ms, row.at) for row in rows]
