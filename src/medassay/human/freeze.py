"""Freeze a study: its texts and tasks are written to the database once and do not change afterwards."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Connection, select

from medassay.errors import InputError
from medassay.human import schema
from medassay.human.access import COORDINATOR, load_key, ordering_key
from medassay.human.plan import Item, Task, Unit, assign, task_id, tasks_for
from medassay.human.state import empty_state
from medassay.human.study import Study, fingerprint

TRAINING = "training:"
"""Prefix of the case ids of practice tasks."""


def freeze(connection: Connection, study: Study) -> None:
    """Write the study's texts and tasks to an empty database, or check that they are those in it."""
    held = {row.key: row.value for row in connection.execute(select(schema.meta))}
    people = list(connection.execute(select(schema.annotators)))
    units = study.units()
    mark = fingerprint(study, units)
    if "study" in held and held["study"] != mark:
        raise InputError(
            f"{study.path}: protocol, cases, seed or assignment differ from what this study began with; "
            "put them back, or begin a new study with another 'database'"
        )
    known = {row.name for row in people}
    substitutes = {row.replaced_by for row in people if row.replaced_by}
    gone = {row.name for row in people if not row.replaced_by} - set(study.annotators) - substitutes
    if gone:
        raise InputError(f"{study.path}: annotator '{sorted(gone)[0]}' has tasks already; put the name back")
    added = [name for name in study.annotators if name not in known]
    if "study" in held and added and study.per_case is not None:
        raise InputError(
            f"{study.path}: annotator '{added[0]}' is new, and with assignment {study.per_case} that would "
            "reshuffle tasks already begun; begin a new study, or 'medassay annotate replace' somebody"
        )
    practice = practice_units(study)
    if "study" not in held:
        connection.execute(schema.meta.insert().values(key="study", value=mark))
        _insert_cases(connection, [*practice, *units])
    chosen = assign([unit.case_id for unit in units], study.annotators, study.per_case, study.seed)
    for name in added:
        mine = [unit for unit in units if name in chosen[unit.case_id]]
        add_annotator(connection, study, name, study.annotators.index(name), practice, mine)
    _insert_coordinators(connection, study)


def _insert_coordinators(connection: Connection, study: Study) -> None:
    known = set(connection.execute(select(schema.coordinators.c.name)).scalars())
    for name in (COORDINATOR, *study.coordinators):
        if name not in known:
            connection.execute(schema.coordinators.insert().values(name=name, link=0))
            known.add(name)


def practice_units(study: Study) -> list[Unit]:
    """The practice tasks of a study as cases of their own."""
    if not study.training:
        return []
    return [
        Unit(
            f"{TRAINING}{number}",
            task.source,
            task.reference,
            tuple(Item("", text.text, {}) for text in task.candidates),
        )
        for number, task in enumerate(study.wording.training, 1)
    ]


def _insert_cases(connection: Connection, units: Sequence[Unit]) -> None:
    rows = [
        {
            "case_id": unit.case_id,
            "position": position,
            "training": unit.case_id.startswith(TRAINING),
            "source": unit.source,
            "reference": unit.reference,
            "items": json.dumps([{"system": i.system, "candidate": i.candidate, "extra": i.extra} for i in unit.items]),
        }
        for position, unit in enumerate(units)
    ]
    connection.execute(schema.cases.insert(), rows)


def add_annotator(
    connection: Connection, study: Study, name: str, position: int, practice: Sequence[Unit], units: Sequence[Unit]
) -> None:
    """Write an annotator and their tasks to the database: practice first, then the cases in a random order."""
    connection.execute(schema.annotators.insert().values(name=name, position=position, link=0))
    key = ordering_key(load_key(study.key_path))
    first = [
        Task(task_id(study.seed, name, u.case_id, key), name, u.case_id, tuple(range(len(u.items)))) for u in practice
    ]
    listed = [*first, *tasks_for(name, units, study.seed, key)]
    if not listed:
        return
    rows = [
        {
            "id": task.id,
            "annotator": name,
            "case_id": task.case_id,
            "position": index,
            "training": task.case_id.startswith(TRAINING),
            "candidate_order": json.dumps(task.order),
            "withdrawn": False,
        }
        for index, task in enumerate(listed)
    ]
    connection.execute(schema.tasks.insert(), rows)
    blank = json.dumps(empty_state(), separators=(",", ":"))
    connection.execute(
        schema.states.insert(),
        [{"task": task.id, "seq": 0, "state": blank, "done": False, "updated_at": None} for task in listed],
    )
