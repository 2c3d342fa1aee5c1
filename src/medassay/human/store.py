"""The store: every change an append-only event, acknowledged only once it is on disk.

Events of a task are numbered without gaps. An event carries an id made by the client, so that a
request sent twice (a lost reply, a reload, a replay) is recorded once. The state kept beside the
events is a cache: `audit` rebuilds it and compares.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, func, select
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from medassay.errors import InputError, MedassayError
from medassay.human import schema
from medassay.human.freeze import TRAINING, freeze
from medassay.human.plan import Item, Unit, task_id
from medassay.human.protocols import Protocol
from medassay.human.state import Event, Refused, Shape, State, empty, fold, redo_target, step, undo_target
from medassay.human.study import Study


class Conflict(MedassayError):
    """An event id that was used before for something else."""


@dataclass(frozen=True, slots=True)
class StoredTask:
    """A task with its texts in the order shown. `seq` is the number of events it has."""

    id: str
    annotator: str
    unit: Unit
    order: tuple[int, ...]
    training: bool
    position: int
    seq: int
    state: State

    @property
    def candidates(self) -> tuple[Item, ...]:
        """The candidates in the order this annotator sees them: slot "1" is the first."""
        return tuple(self.unit.items[i] for i in self.order)

    @property
    def shape(self) -> Shape:
        """Text lengths, to check highlights against."""
        return Shape(len(self.unit.reference), tuple(len(item.candidate) for item in self.candidates))


@dataclass(frozen=True, slots=True)
class Ack:
    """The answer to a save: the task's event number and state now. `again`: it was recorded before."""

    seq: int
    state: State
    again: bool = False


@dataclass(frozen=True, slots=True)
class NewEvent:
    """A change as a client sends it."""

    id: str
    kind: str
    payload: Mapping[str, Any]
    client_at: float | None = None
    active_ms: int = 0


def _private(path: str) -> None:
    """Make a new database file readable by its owner only: it will hold reports."""
    with suppress(OSError):  # what else is wrong with the path, SQLite will say
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))


def _engine(url: str) -> Engine:
    try:
        if not url.startswith("sqlite"):
            return create_engine(url, pool_size=10, max_overflow=10, pool_pre_ping=True, hide_parameters=True)
        _private(url.removeprefix("sqlite:///"))
        engine = create_engine(url, connect_args={"timeout": 30}, hide_parameters=True, pool_size=20, max_overflow=20)
    except (ImportError, SQLAlchemyError) as error:
        raise InputError(
            f"database: cannot open it ({error}); a file name, or postgresql://… with 'pip install medassay[postgres]'"
        ) from error

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, _: object) -> None:
        connection.isolation_level = None  # medassay says BEGIN itself
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # A writer takes its lock at once: no transaction fails halfway because another one wrote first.
        write = connection.get_execution_options().get("write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


class Store:
    """One study's database. Safe to use from many threads, and from several processes."""

    def __init__(self, study: Study) -> None:
        self.protocol: Protocol = study.protocol
        self.engine = _engine(study.url())
        self._turn = threading.Lock() if self.engine.dialect.name == "sqlite" else None
        self._tasks: dict[str, StoredTask] = {}
        self._units: dict[str, Unit] = {}
        try:
            with self._writing() as connection:
                schema.migrate(connection)
                freeze(connection, study)
        except SQLAlchemyError as error:
            reason = str(getattr(error, "orig", error)).strip().splitlines()[0]
            raise InputError(f"{study.path}: the database cannot be opened: {reason}") from error
        self._load()

    def close(self) -> None:
        """Give back all connections."""
        self.engine.dispose()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        # In one process writers queue on a lock: cheaper than SQLite's sleeping and trying again.
        if self._turn is not None:
            self._turn.acquire()
        try:
            with self.engine.connect().execution_options(write=True) as connection, connection.begin():
                yield connection
        finally:
            if self._turn is not None:
                self._turn.release()

    def _load(self) -> None:
        """Texts and tasks do not change while the server runs; they are read once."""
        with self.engine.connect() as connection:
            for row in connection.execute(select(schema.cases).order_by(schema.cases.c.position)):
                items = tuple(Item(i["system"], i["candidate"], i["extra"]) for i in json.loads(row.items))
                self._units[row.case_id] = Unit(row.case_id, row.source, row.reference, items)
            for row in connection.execute(select(schema.tasks).order_by(schema.tasks.c.position)):
                self._tasks[row.id] = StoredTask(
                    row.id,
                    row.annotator,
                    self._units[row.case_id],
                    tuple(json.loads(row.candidate_order)),
                    row.training,
                    row.position,
                    0,
                    empty(),
                )
            self.names: list[str] = list(
                connection.execute(select(schema.annotators.c.name).order_by(schema.annotators.c.position)).scalars()
            )

    # Reading

    def units(self) -> list[Unit]:
        """The study's cases in file order, without practice."""
        return [unit for name, unit in self._units.items() if not name.startswith(TRAINING)]

    def owns(self, annotator: str, task: str) -> bool:
        """Whether the task is this annotator's."""
        found = self._tasks.get(task)
        return found is not None and found.annotator == annotator

    def known(self, task: str) -> StoredTask:
        """One task's texts and order, without its present state; KeyError where there is none."""
        return self._tasks[task]

    def task(self, task: str) -> StoredTask:
        """One task with its present state; KeyError where there is none."""
        known = self._tasks[task]
        with self.engine.connect() as connection:
            row = connection.execute(select(schema.states).where(schema.states.c.task == task)).one()
        return _with_state(known, row.seq, json.loads(row.state))

    def tasks(self, annotator: str | None = None) -> list[StoredTask]:
        """All tasks, or one annotator's, in the order they are done, with their present states."""
        chosen = select(schema.states.c.task, schema.states.c.seq, schema.states.c.state)
        if annotator is not None:
            mine = select(schema.tasks.c.id).where(schema.tasks.c.annotator == annotator)
            chosen = chosen.where(schema.states.c.task.in_(mine))
        with self.engine.connect() as connection:
            now = {row.task: (row.seq, row.state) for row in connection.execute(chosen)}
        return [_with_state(t, now[i][0], json.loads(now[i][1])) for i, t in self._tasks.items() if i in now]

    def events(self, task: str) -> list[Event]:
        """The events of a task (or of a decision), in order."""
        with self.engine.connect() as connection:
            return _events(connection, task)

    def history(self) -> Iterator[dict[str, Any]]:
        """Every event of the study in the order recorded, for the audit trail."""
        with self.engine.connect() as connection:
            for row in connection.execute(select(schema.events).order_by(schema.events.c.seq)):
                yield {**row._mapping, "payload": json.loads(row.payload)}

    def last_seen(self) -> dict[str, float]:
        """When each annotator's latest event came in, seconds since 1970."""
        query = select(schema.events.c.annotator, func.max(schema.events.c.at)).group_by(schema.events.c.annotator)
        with self.engine.connect() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def link_numbers(self) -> dict[str, int]:
        """How often each annotator's link has been renewed."""
        with self.engine.connect() as connection:
            query = select(schema.annotators.c.name, schema.annotators.c.link)
            return {row[0]: row[1] for row in connection.execute(query)}

    # Writing

    def renew_link(self, annotator: str) -> None:
        """Make an annotator's link, and every session begun with it, worthless."""
        table = schema.annotators
        with self._writing() as connection:
            connection.execute(table.update().where(table.c.name == annotator).values(link=table.c.link + 1))

    def append(self, task: str, annotator: str, new: NewEvent) -> Ack:
        """Record one event and give the state after it. When this returns, the event is on disk.

        The same event again changes nothing and gives the present state; the same id with another
        content raises `Conflict`; what makes no sense raises `Refused`, and nothing is recorded.
        """
        known = self._tasks[task]
        try:
            with self._writing() as connection:
                locked = select(schema.states).where(schema.states.c.task == task).with_for_update()
                row = connection.execute(locked).one()
                state: State = json.loads(row.state)
                if _seen(connection, task, annotator, new):
                    return Ack(row.seq, state, again=True)
                payload = dict(new.payload)
                if new.kind in ("undo", "redo"):
                    past = _events(connection, task)
                    payload = {"target": _target(new.kind, past, state)}
                    past.append(Event(new.id, new.kind, payload, new.active_ms))
                    after = fold(self.protocol, known.shape, past)
                else:
                    change = Event(new.id, new.kind, payload, new.active_ms)
                    after = step(self.protocol, known.shape, state, change)
                _record(connection, task, row.seq + 1, annotator, new, payload)
                _save_state(connection, task, row.seq + 1, after)
                return Ack(row.seq + 1, after)
        except IntegrityError as error:
            raise Conflict("this event id has been used before") from error

    def decide(self, case_id: str, system: str, new: NewEvent) -> bool:
        """Record the coordinator's decision on one text; False where this very event was recorded before."""
        task = decision_key(case_id, system)
        try:
            with self._writing() as connection:
                if _seen(connection, task, "coordinator", new):
                    return False
                query = select(func.max(schema.events.c.task_seq)).where(schema.events.c.task == task)
                seq = (connection.execute(query).scalar() or 0) + 1
                _record(connection, task, seq, "coordinator", new, new.payload)
                return True
        except IntegrityError as error:
            raise Conflict("this event id has been used before, or two decisions came at once; try again") from error

    def decisions(self) -> dict[tuple[str, str], dict[str, Any]]:
        """The decision that stands for each text that has one: `{(case, system): {values, note}}`."""
        query = select(schema.events.c.payload).where(schema.events.c.kind == "decide").order_by(schema.events.c.seq)
        found: dict[tuple[str, str], dict[str, Any]] = {}
        with self.engine.connect() as connection:
            for text in connection.execute(query).scalars():
                payload = json.loads(text)
                found[(payload["case"], payload["system"])] = payload
        return {key: payload for key, payload in found.items() if payload["values"]}

    def audit(self) -> list[str]:
        """Rebuild every task from its events; what differs from the state kept, or has a gap, is named."""
        found = []
        for stored in self.tasks():
            past = self.events(stored.id)
            if len(past) != stored.seq:
                found.append(f"task {stored.id}: {stored.seq} events expected, {len(past)} found")
            elif fold(self.protocol, stored.shape, past) != stored.state:
                found.append(f"task {stored.id}: the state kept is not what its events add up to")
        return found


def decision_key(case_id: str, system: str) -> str:
    """The name under which decisions on a text are recorded."""
    return "decision:" + task_id(0, system, case_id)


def _with_state(task: StoredTask, seq: int, state: State) -> StoredTask:
    return StoredTask(task.id, task.annotator, task.unit, task.order, task.training, task.position, seq, state)


def _target(kind: str, past: list[Event], state: State) -> str:
    if state["done"]:
        raise Refused("This task is finished. Reopen it to change an answer.")
    target = undo_target(past) if kind == "undo" else redo_target(past)
    if target is None:
        raise Refused(f"There is nothing to {kind}.")
    return target


def _seen(connection: Connection, task: str, annotator: str, new: NewEvent) -> bool:
    """Whether this very event is recorded already; the same id for anything else is a conflict."""
    row = connection.execute(select(schema.events).where(schema.events.c.id == new.id)).one_or_none()
    if row is None:
        return False
    same = (row.task, row.annotator, row.kind) == (task, annotator, new.kind)
    if same and new.kind not in ("undo", "redo"):
        same = json.loads(row.payload) == json.loads(json.dumps(dict(new.payload)))
    if not same:
        raise Conflict("this event id has been used before")
    return True


def _record(
    connection: Connection, task: str, seq: int, annotator: str, new: NewEvent, payload: Mapping[str, Any]
) -> None:
    connection.execute(
        schema.events.insert().values(
            id=new.id,
            task=task,
            task_seq=seq,
            annotator=annotator,
            kind=new.kind,
            payload=json.dumps(dict(payload), separators=(",", ":")),
            at=time.time(),
            client_at=new.client_at,
            active_ms=new.active_ms,
        )
    )


def _save_state(connection: Connection, task: str, seq: int, state: State) -> None:
    connection.execute(
        schema.states.update()
        .where(schema.states.c.task == task)
        .values(seq=seq, state=json.dumps(state, separators=(",", ":")), done=state["done"], updated_at=time.time())
    )


def _events(connection: Connection, task: str) -> list[Event]:
    table = schema.events
    query = select(table.c.id, table.c.kind, table.c.payload, table.c.active_ms).where(table.c.task == task)
    rows = connection.execute(query.order_by(table.c.task_seq))
    return [Event(row.id, row.kind, json.loads(row.payload), row.active_ms) for row in rows]
