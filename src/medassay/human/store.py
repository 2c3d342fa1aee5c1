"""The store of a study: every change is an append-only event, acknowledged only once it is on disk.

Events of a task are numbered without gaps. An event carries an id made by the client, so that a
request sent twice (a lost reply, a reload, a replay) is recorded once. The state kept beside the
events is a cache: `audit` rebuilds it and compares.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, func, select
from sqlalchemy.exc import IntegrityError, NoResultFound

from medassay.human import schema
from medassay.human.database import Database, DatabaseGone
from medassay.human.events import Conflict, Event, NewEvent, events_of, is_recorded, record, redo_targets, undo_targets
from medassay.human.freeze import TRAINING
from medassay.human.plan import Item, Unit
from medassay.human.protocols import Protocol
from medassay.human.state import Outdated, State, TaskShape, changed_between, empty_state, fold, read_state, step
from medassay.human.study import Study


@dataclass(frozen=True, slots=True)
class StoredTask:
    """A task with its texts in the order shown. `seq` is the number of events it has. `draft`: whether the
    machine's draft is shown, by lot; None where the task takes no part in the draw."""

    id: str
    annotator: str
    unit: Unit
    order: tuple[int, ...]
    training: bool
    position: int
    seq: int
    state: State
    draft: bool | None = None

    @property
    def candidates(self) -> tuple[Item, ...]:
        """The candidates in the order this annotator sees them: slot "1" is the first."""
        return tuple(self.unit.items[i] for i in self.order)

    @property
    def shape(self) -> TaskShape:
        """Text lengths, to check highlights against."""
        return TaskShape(len(self.unit.reference), tuple(len(item.candidate) for item in self.candidates))


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """The answer to a save: the task's event number and state now. `again`: it was recorded before."""

    seq: int
    state: State
    again: bool = False


class Store:
    """The tasks of one study. Safe to use from many threads, and from several processes."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.protocol: Protocol = study.protocol
        self.database = Database(study)
        self.engine = self.database.engine
        self._cached: dict[str, StoredTask] = {}
        self._reading = threading.Lock()
        self.reload()

    def close(self) -> None:
        """Close all connections."""
        self.database.close()

    def reload(self) -> None:
        """Read texts and tasks. They change only where an annotator joins or takes over from another."""
        with self.database.reading() as connection:
            units: dict[str, Unit] = {}
            for row in connection.execute(select(schema.cases).order_by(schema.cases.c.position)):
                items = tuple(Item(i["system"], i["candidate"], i["extra"]) for i in json.loads(row.items))
                units[row.case_id] = Unit(row.case_id, row.source, row.reference, items)
            table = schema.tasks
            current = select(table).where(~table.c.withdrawn).order_by(table.c.position, table.c.annotator)
            tasks = {row.id: _task(row, units[row.case_id]) for row in connection.execute(current)}
            people = select(schema.annotators.c.name).order_by(schema.annotators.c.position)
            names = list(connection.execute(people).scalars())
        by_case: dict[str, list[str]] = {}
        for task in tasks.values():
            by_case.setdefault(task.unit.case_id, []).append(task.id)
        with self._reading:
            self._units, self._tasks, self._by_case, self._cached = units, tasks, by_case, {}
            self.names: list[str] = names

    # Reading

    def units(self) -> list[Unit]:
        """The study's cases in file order, without practice."""
        return [unit for name, unit in self._units.items() if not name.startswith(TRAINING)]

    def unit(self, case_id: str) -> Unit:
        """One case; KeyError where there is none."""
        return self._units[case_id]

    def owns(self, annotator: str, task: str) -> bool:
        """Whether the task is this annotator's."""
        known = self._tasks.get(task)
        return known is not None and known.annotator == annotator

    def task_texts(self, task: str) -> StoredTask:
        """One task's texts and order, without its present state; KeyError where there is none."""
        return self._tasks[task]

    def task(self, task: str) -> StoredTask:
        """One task with its present state; KeyError where there is none."""
        known = self._tasks[task]
        with self.database.reading() as connection:
            row = _state_row(connection, task)
        return replace(known, seq=row.seq, state=read_state(json.loads(row.state)))

    def tasks(self, annotator: str | None = None) -> list[StoredTask]:
        """All tasks, or one annotator's, in the order they are done, with their present states."""
        listed = self._tasks.values() if annotator is None else self._mine(annotator)
        return self._with_states(list(listed), annotator)

    def tasks_of_case(self, case_id: str) -> list[StoredTask]:
        """The tasks of one case in the order of the annotators, with their present states."""
        listed = [self.task(task) for task in self._by_case.get(case_id, ())]
        return sorted(listed, key=lambda task: self.names.index(task.annotator))

    def _mine(self, annotator: str) -> list[StoredTask]:
        return [task for task in self._tasks.values() if task.annotator == annotator]

    def _with_states(self, listed: list[StoredTask], annotator: str | None) -> list[StoredTask]:
        """Only states that have moved on since they were last read are read again."""
        numbers = select(schema.states.c.task, schema.states.c.seq)
        if annotator is not None:
            mine = select(schema.tasks.c.id).where(schema.tasks.c.annotator == annotator)
            numbers = numbers.where(schema.states.c.task.in_(mine))
        with self.database.reading() as connection:
            now = {row.task: row.seq for row in connection.execute(numbers)}
            with self._reading:
                kept = self._cached
            stale = [t for t in listed if t.id in now and (t.id not in kept or kept[t.id].seq != now[t.id])]
            fresh = {}
            for start in range(0, len(stale), 500):
                part = [task.id for task in stale[start : start + 500] if now[task.id] > 0]
                rows = connection.execute(select(schema.states).where(schema.states.c.task.in_(part))) if part else ()
                fresh.update({row.task: row for row in rows})
        for task in stale:
            row = fresh.get(task.id)
            kept[task.id] = replace(task, seq=row.seq, state=read_state(json.loads(row.state))) if row else task
        return [kept[task.id] for task in listed if task.id in kept]

    def revision(self) -> tuple[int, ...]:
        """Numbers that change with every event; fast to read."""
        sums = [
            select(func.coalesce(func.sum(schema.states.c.seq), 0)),
            select(func.coalesce(func.sum(schema.decisions.c.seq), 0)),
            select(func.count()).select_from(schema.tasks).where(~schema.tasks.c.withdrawn),
        ]
        with self.database.reading() as connection:
            return tuple(int(connection.execute(query).scalar() or 0) for query in sums)

    def events(self, task: str) -> list[Event]:
        """The events of a task (or of a decision), in order."""
        with self.database.reading() as connection:
            return events_of(connection, task)

    def history(self) -> Iterator[dict[str, Any]]:
        """Every event of the study in the order recorded, for the audit trail."""
        with self.database.reading() as connection:
            for row in connection.execute(select(schema.events).order_by(schema.events.c.seq)):
                yield {**row._mapping, "payload": json.loads(row.payload)}

    # Writing

    def append(self, task: str, who: str, new: NewEvent, base: int | None = None) -> Acknowledgement:
        """Record one event. When this returns, the event is on disk.

        Args:
            task: The task's id.
            who: The annotator or coordinator.
            new: The event. One that was recorded before changes nothing.
            base: The number of events that the page had seen.

        Returns:
            The task's number of events and its state, after the event.

        Raises:
            Conflict: The event's id was used before with other content.
            Refused: The event is not valid for this task; nothing is recorded.
            Outdated: What the event changes was changed after `base`.
        """
        known = self._tasks[task]
        try:
            with self.database.writing() as connection:
                row = _state_row(connection, task, lock=True)
                state = read_state(json.loads(row.state))
                if is_recorded(connection, task, who, new):
                    return Acknowledgement(row.seq, state, again=True)
                event = Event(new.id, new.kind, dict(new.payload), new.active_ms, time.time())
                self._check_base(connection, known, event, row.seq, state, base)
                if new.kind in ("undo", "redo"):
                    past = events_of(connection, task)
                    event = event._replace(payload={"targets": _targets(new.kind, past, state)})
                    after = fold(self.protocol, known.shape, [*past, event])
                else:
                    after = step(self.protocol, known.shape, state, event)
                record(connection, task, row.seq + 1, who, new, event.payload)
                _save_state(connection, task, row.seq + 1, after)
                return Acknowledgement(row.seq + 1, after)
        except IntegrityError as error:
            raise Conflict("this event id has been used before") from error

    def _check_base(
        self, connection: Connection, task: StoredTask, event: Event, seq: int, now: State, base: int | None
    ) -> None:
        if base is None or base == seq or event.kind == "time":
            return
        if base > seq:
            raise Outdated("This page shows more than the server has. Reload it.")
        before = fold(self.protocol, task.shape, events_of(connection, task.id, up_to=base))
        if changed_between(before, now, self.protocol, event):
            raise Outdated("This was changed in another window. Nothing is overwritten: look at it, then decide.")

    def audit(self) -> list[str]:
        """Rebuild every task from its events; what differs from the state kept, or has a gap, is named."""
        problems = []
        for stored in self.tasks():
            past = self.events(stored.id)
            if len(past) != stored.seq:
                problems.append(f"task {stored.id}: {stored.seq} events expected, {len(past)} found")
            elif fold(self.protocol, stored.shape, past) != self.task(stored.id).state:
                problems.append(f"task {stored.id}: the state kept is not what its events add up to")
        return problems


def _task(row: Row[Any], unit: Unit) -> StoredTask:
    order = tuple(json.loads(row.candidate_order))
    return StoredTask(row.id, row.annotator, unit, order, row.training, row.position, 0, empty_state(), row.draft)


def _state_row(connection: Connection, task: str, *, lock: bool = False) -> Row[Any]:
    query = select(schema.states).where(schema.states.c.task == task)
    try:
        return connection.execute(query.with_for_update() if lock else query).one()
    except NoResultFound:
        raise DatabaseGone("the database has lost a task") from None


def _targets(kind: str, past: list[Event], state: State) -> list[str]:
    if state["done"]:
        raise Outdated("This task is finished. Reopen it to change an answer.")
    targets = undo_targets(past) if kind == "undo" else redo_targets(past)
    if not targets:
        raise Outdated(f"There is nothing to {kind}.")
    return targets


def _save_state(connection: Connection, task: str, seq: int, state: State) -> None:
    connection.execute(
        schema.states.update()
        .where(schema.states.c.task == task)
        .values(seq=seq, state=json.dumps(state, separators=(",", ":")), done=state["done"], updated_at=time.time())
    )
