"""The machine's draft: the ledger of a case as proposals that an annotator confirms or corrects.

Off unless a study asks for it, and never in a blinded study, whose point is that people judge on their own.
Tasks are drawn by lot to be shown with and without the draft, so that what it saves and how it biases can be
told; the draw is recorded with the data.
"""

from __future__ import annotations

import hmac
import json
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import select

from medassay.errors import InputError
from medassay.human import schema
from medassay.human.access import load_key, ordering_key
from medassay.human.events import record_action
from medassay.human.plan import Unit
from medassay.human.protocols.base import CASE, Protocol
from medassay.human.store import Store, StoredTask
from medassay.human.study import Study
from medassay.language.ledger import CANDIDATE, REFERENCE, Ledger, Texts, Verdict
from medassay.language.ledger_maker import LedgerMaker
from medassay.models.base import CheckerModel

CRITICAL = 0.5
"""Probability from which an error is proposed as critical."""


def propose(protocol: Protocol, ledger: Ledger) -> list[dict[str, Any]]:
    """A ledger as proposals: each statement with its verdict and the highlight that follows from it, if any."""
    rules = protocol.draft
    listed = []
    for verdicts in ledger.candidate():
        main = verdicts[0]
        kind = rules.candidate.get(main.check.verdict)
        flags = [flag for flag, against in rules.supported.items() if _is_supported(verdicts, against)]
        listed.append(_statement(main, CANDIDATE, kind, [*flags, *_critical(rules.critical, main)]))
    for verdict in ledger.expected():
        if verdict.of == REFERENCE:
            kind = rules.reference.get(verdict.check.verdict)
            listed.append(_statement(verdict, REFERENCE, kind, _critical(rules.critical, verdict)))
    return _merged(listed)


def _is_supported(verdicts: Sequence[Verdict], against: tuple[str, ...]) -> bool:
    return any(v.against in against and v.check.verdict == "supported" for v in verdicts)


def _critical(flag: str | None, verdict: Verdict) -> list[str]:
    wrong = verdict.check.verdict != "supported" and verdict.check.critical >= CRITICAL
    return [flag] if flag is not None and wrong else []


def _statement(verdict: Verdict, of: str, kind: str | None, flags: list[str]) -> dict[str, Any]:
    check = verdict.check
    return {
        "of": of,
        "start": verdict.statement.start,
        "end": verdict.statement.end,
        "text": verdict.statement.text,
        "verdict": check.verdict,
        "p": round(max(check.probabilities), 3),
        "severity": "critical" if check.critical >= CRITICAL and check.verdict != "supported" else "",
        "type": kind,
        "flags": flags if kind is not None else [],
    }


def _merged(listed: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Statements that share their words and their highlight become one: a stretch is highlighted once."""
    merged: dict[tuple[Any, ...], dict[str, Any]] = {}
    for statement in listed:
        key = tuple(statement[name] for name in ("of", "start", "end", "type", "verdict"))
        if key in merged:
            merged[key]["text"] += "; " + statement["text"]
        else:
            merged[key] = dict(statement)
    return list(merged.values())


def check_draft_allowed(study: Study) -> None:
    """Raise InputError where the study is blinded, or its protocol has no highlights to propose."""
    if study.blinded:
        raise InputError(
            f"{study.path}: 'blinded: true' means that people judge on their own; a draft would make them agree "
            "with the machine. Set 'blinded: false' where agreement between annotators is not the question"
        )
    if not study.protocol.draft.candidate:
        raise InputError(f"{study.path}: {study.protocol.name} has no highlights that a draft could propose")


def make_drafts(
    store: Store, checker: CheckerModel, who: str, watch: Callable[[list[Unit]], Iterable[Unit]] = iter
) -> int:
    """Make the drafts of all cases and draw by lot which tasks show one; tasks that were begun take no part.

    Args:
        store: The study's store.
        checker: The model that checks statements.
        who: Who asked for the drafts, for the audit trail.
        watch: Passes the cases on, for a progress bar.

    Returns:
        The number of tasks that show a draft.

    Raises:
        InputError: The study is blinded, or its protocol has no highlights.
    """
    study = store.study
    check_draft_allowed(study)
    maker = LedgerMaker(checker)
    rows = []
    for unit in watch(store.units()):
        ledgers = maker.ledgers([_texts(unit, i) for i in range(len(unit.items))])
        statements = [propose(study.protocol, ledger) for ledger in ledgers]
        rows.append({"case_id": unit.case_id, "statements": json.dumps(statements)})
    return _save(store, rows, checker.name, who)


def _texts(unit: Unit, index: int) -> Texts:
    return Texts(unit.items[index].candidate, unit.reference or None, unit.source or None)


def _save(store: Store, rows: list[dict[str, str]], model: str, who: str) -> int:
    shown = draw_tasks(store)
    tasks = schema.tasks
    with store.database.writing() as connection:
        connection.execute(schema.drafts.delete())
        connection.execute(schema.drafts.insert(), rows)
        for task, draft in shown.items():
            connection.execute(tasks.update().where(tasks.c.id == task).values(draft=draft))
        payload = {"checker": model, "tasks_with": sum(shown.values()), "tasks_in_draw": len(shown)}
        record_action(connection, "draft", payload, who)
    store.reload()
    return sum(shown.values())


def draw_tasks(store: Store) -> dict[str, bool]:
    """By lot, half of each annotator's tasks that nobody has begun; keyed with the study's secret."""
    key = ordering_key(load_key(store.study.key_path))
    shown: dict[str, bool] = {}
    for name in store.names:
        fresh = sorted(task.id for task in store.tasks(name) if not task.training and task.seq == 0)
        lot = random.Random(hmac.digest(key, f"draft:{name}".encode(), "sha256").hex())
        lot.shuffle(fresh)
        first = lot.random() < 0.5  # an odd task goes to either side
        shown |= {task: (i % 2 == 0) == first for i, task in enumerate(fresh)}
    return shown


def remove_drafts(store: Store, who: str) -> int:
    """Show no draft any more; tasks that were begun keep the record of what was shown."""
    tasks = schema.tasks
    fresh = [task.id for task in store.tasks() if task.draft is not None and task.seq == 0]
    with store.database.writing() as connection:
        for task in fresh:
            connection.execute(tasks.update().where(tasks.c.id == task).values(draft=None))
        connection.execute(schema.drafts.delete())
        record_action(connection, "draft", {"tasks_in_draw": 0}, who)
    store.reload()
    return len(fresh)


def draft_of(store: Store, task: StoredTask) -> list[dict[str, Any]] | None:
    """The draft as a task shows it, text by text in its own order; None where none is shown."""
    if not task.draft or store.study.blinded:
        return None
    query = select(schema.drafts.c.statements).where(schema.drafts.c.case_id == task.unit.case_id)
    with store.database.reading() as connection:
        stored = connection.execute(query).scalar()
    if stored is None:
        return None
    by_item = json.loads(stored)
    return [
        {"id": f"{slot}-{number}", "slot": str(slot), **statement}
        for slot, index in enumerate(task.order, 1)
        for number, statement in enumerate(by_item[index])
    ]


def proposals(store: Store) -> list[dict[str, Any]]:
    """Who proposed what: one row for each highlight of a finished task, and for each proposal not taken up.

    `proposed_by` is `machine` or `annotator`; `outcome` is `accepted` (as proposed), `changed` (the stretch
    was highlighted as something else), `left out`, or `added` by the annotator.
    """
    rows = []
    for task in store.tasks():
        if task.training or not task.state["done"]:
            continue
        listed = draft_of(store, task) or []
        drafted = {(s["slot"], s["of"], s["start"], s["end"]): s for s in listed if s["type"] is not None}
        taken = set()
        for mark in task.state["marks"]:
            kind = store.protocol.mark(mark["kind"])
            key = (mark["slot"], kind.side if kind else "", mark["start"], mark["end"])
            proposal = drafted.get(key)
            machine = bool(mark.get("from_draft")) and proposal is not None
            if proposal is not None:
                taken.add(key)
            outcome = "added" if proposal is None else "accepted" if proposal["type"] == mark["kind"] else "changed"
            row = _row(task, *key, mark["kind"], mark["flags"])
            rows.append({**row, "proposed_by": "machine" if machine else "annotator", "outcome": outcome})
        for key, proposal in drafted.items():
            if key not in taken:
                row = _row(task, *key, proposal["type"], proposal["flags"])
                rows.append({**row, "proposed_by": "machine", "outcome": "left out"})
    return rows


def _row(task: StoredTask, slot: str, side: str, start: int, end: int, kind: str, flags: list[str]) -> dict[str, Any]:
    item = None if slot == CASE else task.candidates[int(slot) - 1]
    whole = task.unit.reference if side == REFERENCE or item is None else item.candidate
    return {
        "id": task.unit.case_id,
        "system": "" if item is None else item.system,
        "annotator": task.annotator,
        "draft": task.draft,
        "side": side,
        "start": start,
        "end": end,
        "text": whole[start:end],
        "kind": kind,
        "flags": " ".join(flags),
    }
