"""Annotators and coordinators: their links and sessions, replacing an annotator, and the audit trail."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from medassay.errors import InputError, nearest
from medassay.human import schema
from medassay.human.access import COORDINATOR, SESSION_SECONDS, Links
from medassay.human.events import record_action
from medassay.human.freeze import TRAINING, add_annotator, practice_units
from medassay.human.store import Store
from medassay.human.study import check_name

COMMAND_LINE = "command line"
"""The name in the audit trail for what was done on the command line."""


def current_links(store: Store) -> Links:
    """The numbers of all valid links."""
    people, coordinators = schema.annotators, schema.coordinators
    with store.database.reading() as connection:
        current = select(people.c.name, people.c.link).where(people.c.replaced_by.is_(None))
        own = {row.name: row.link for row in connection.execute(current)}
        named = {row.name: row.link for row in connection.execute(select(coordinators))}
    # The coordinator without a name is there where nobody is named.
    return Links(own, {name: named[name] for name in store.study.coordinators or (COORDINATOR,)})


def last_seen(store: Store) -> dict[str, float]:
    """When the latest event of each person came in, seconds since 1970."""
    latest = func.max(schema.events.c.at).label("latest")
    query = select(schema.events.c.annotator, latest).group_by(schema.events.c.annotator)
    with store.database.reading() as connection:
        return {row.annotator: row.latest for row in connection.execute(query)}


def renew_link(store: Store, name: str, who: str) -> None:
    """Invalidate somebody's link and every session that was started with it."""
    current = current_links(store)
    table = schema.coordinators if name in current.coordinators else schema.annotators
    if name not in current.coordinators and name not in current.annotators:
        known = [*current.annotators, *current.coordinators]
        raise InputError(f"'{name}' is not in this study{nearest(name, known)}")
    with store.database.writing() as connection:
        connection.execute(table.update().where(table.c.name == name).values(link=table.c.link + 1))
        record_action(connection, "renew", {"name": name}, who)


def end_session(store: Store, session: str) -> None:
    """Sign a session out for good; sessions whose cookie has run out are forgotten."""
    table, now = schema.ended_sessions, time.time()
    with store.database.writing() as connection:
        connection.execute(table.delete().where(table.c.at < now - SESSION_SECONDS))
        if connection.execute(select(table.c.id).where(table.c.id == session)).first() is None:
            connection.execute(table.insert().values(id=session, at=now))


def ended_sessions(store: Store) -> frozenset[str]:
    """The sessions that were signed out."""
    with store.database.reading() as connection:
        return frozenset(connection.execute(select(schema.ended_sessions.c.id)).scalars())


def replace_annotator(store: Store, name: str, by: str, who: str) -> int:
    """Let `by` (a new name) take over what `name` has not finished; returns the number of cases taken over.

    Finished tasks stay the first person's. Tasks not finished are withdrawn with what was recorded in them
    kept, and begun afresh by the second person, after practice. The first person's link is worthless from
    then on.
    """
    check_name(by, "annotator", "replace")
    current = current_links(store)
    if name not in current.annotators:
        raise InputError(f"annotator '{name}' is not in this study{nearest(name, current.annotators)}")
    if by in store.names or by in current.coordinators:
        raise InputError(f"'{by}' is in this study already; take a name that is not")
    open_tasks = [task for task in store.tasks(name) if not task.state["done"]]
    units = [task.unit for task in open_tasks if not task.unit.case_id.startswith(TRAINING)]
    people, tasks = schema.annotators, schema.tasks
    with store.database.writing() as connection:
        position = (connection.execute(select(func.max(people.c.position))).scalar() or 0) + 1
        connection.execute(people.update().where(people.c.name == name).values(replaced_by=by, link=people.c.link + 1))
        for task in open_tasks:
            connection.execute(tasks.update().where(tasks.c.id == task.id).values(withdrawn=True))
        add_annotator(connection, store.study, by, position, practice_units(store.study), units)
        record_action(connection, "replace", {"annotator": name, "by": by, "cases": len(units)}, who)
    store.reload()
    return len(units)


@dataclass(frozen=True, slots=True)
class Action:
    """One line of the audit trail."""

    at: float
    who: str
    kind: str
    payload: dict[str, Any]


def audit_trail(store: Store, *, start: int = 0, limit: int = 50) -> tuple[list[Action], int]:
    """What coordinators did, the latest first, and how many actions there are in all."""
    table = schema.events
    named = select(schema.coordinators.c.name)
    own = table.c.annotator.in_(named) | (table.c.annotator == COMMAND_LINE)
    with store.database.reading() as connection:
        total = connection.execute(select(func.count()).select_from(table).where(own)).scalar() or 0
        query = select(table).where(own).order_by(table.c.at.desc(), table.c.seq.desc()).offset(start).limit(limit)
        rows = [Action(r.at, r.annotator, r.kind, json.loads(r.payload)) for r in connection.execute(query)]
    return rows, total
