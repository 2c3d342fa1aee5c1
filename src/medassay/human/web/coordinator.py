"""The coordinator's pages: progress, live agreement, disagreements side by side, decisions, export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from medassay.files import csv_text, jsonl_text
from medassay.human.access import COORDINATOR
from medassay.human.export import per_annotator, per_text
from medassay.human.plan import clean
from medassay.human.ratings import Ratings, from_store
from medassay.human.state import Mark, answers
from medassay.human.store import NewEvent, Store, StoredTask, decision_key
from medassay.human.tables import agreement, system_table
from medassay.human.web.context import Context, Coordinator, PageError, check_csrf, visitor

router = APIRouter()

TextKey = Annotated[str, Path(min_length=8, max_length=64, pattern=r"^[0-9a-f]+$")]
GATE: dict[int | str, dict[str, Any]] = {401: {}, 403: {}}


@dataclass(frozen=True)
class Progress:
    """How far one annotator is."""

    name: str
    done: int
    begun: int
    total: int
    practised: bool
    active_ms: int
    seen_at: float | None


def progress(store: Store) -> list[Progress]:
    """One line per annotator, in the order of the study file."""
    seen = store.last_seen()
    tasks = store.tasks()
    lines = []
    for name in store.names:
        mine = [task for task in tasks if task.annotator == name]
        real = [task for task in mine if not task.training]
        lines.append(
            Progress(
                name,
                done=sum(task.state["done"] for task in real),
                begun=sum(task.seq > 0 and not task.state["done"] for task in real),
                total=len(real),
                practised=all(task.state["done"] for task in mine if task.training),
                active_ms=sum(task.state["active_ms"] for task in real),
                seen_at=seen.get(name),
            )
        )
    return lines


@router.get("/coordinator", response_class=HTMLResponse, responses={403: {}})
def overview(request: Request, context: Context) -> Response:
    """Progress and agreement at a glance; for a stranger, the door."""
    session = visitor(request)
    if session is None:
        return context.page("coordinator_sign_in.html", None, typed=context.access.coordinator_link() is None)
    if session.name != COORDINATOR:
        raise PageError(403, "This page is for the coordinator.")
    ratings = from_store(context.store)
    rows = agreement(ratings, resamples=300)
    pairs = list(rows[0].pairs) if rows else []
    return context.page(
        "coordinator.html",
        session,
        progress=progress(context.store),
        raw=[row for row in rows if row.raw],
        derived=[row for row in rows if not row.raw],
        pairs=pairs,
        texts=len(ratings.keys),
        systems=system_table(ratings),
        annotators=ratings.annotators,
    )


@dataclass(frozen=True)
class Spread:
    """One text and how far its annotators are apart on one column."""

    key: str
    case_id: str
    system: str
    values: list[float | None]
    spread: float
    decided: bool


def spreads(store: Store, ratings: Ratings, column: str) -> list[Spread]:
    """Texts with two ratings or more, the furthest apart first."""
    by_text: dict[tuple[str, str], dict[str, float | None]] = {}
    for row in ratings.rows:
        by_text.setdefault(row.key, {})[row.annotator] = row.values.get(column)
    found = []
    for (case_id, system), given in by_text.items():
        values = [given.get(name) for name in store.names]
        known = [value for value in values if value is not None]
        apart = float(np.ptp(known)) if len(known) > 1 else -1.0
        decided = (case_id, system) in ratings.decisions
        found.append(Spread(_key(case_id, system), case_id, system, values, apart, decided))
    return sorted(found, key=lambda one: -one.spread)


def _key(case_id: str, system: str) -> str:
    return decision_key(case_id, system).removeprefix("decision:")


@router.get("/coordinator/texts", response_class=HTMLResponse, responses={**GATE, 404: {}})
def texts(context: Context, me: Coordinator, column: Annotated[str | None, Query(max_length=60)] = None) -> Response:
    """All judged texts, those with the widest disagreement first."""
    columns = context.study.protocol.columns
    chosen = column or (context.study.protocol.derived or columns)[min(2, len(context.study.protocol.derived) - 1)]
    if chosen not in columns:
        raise PageError(404, "There is no such score.")
    listed = spreads(context.store, from_store(context.store), chosen)
    return context.page("texts.html", me, columns=columns, chosen=chosen, texts=listed, names=context.store.names)


@dataclass(frozen=True)
class Opinion:
    """One annotator's view of a text: answers, highlights in both texts, comment."""

    annotator: str
    done: bool
    values: dict[str, float | None]
    candidate: list[tuple[str, str]]
    reference: list[tuple[str, str]]
    comment: str


def segments(text: str, marks: list[Mark]) -> list[tuple[str, str]]:
    """A text in pieces: (piece, kinds of highlight on it), for a template to draw."""
    edges = sorted({0, len(text), *(m["start"] for m in marks), *(m["end"] for m in marks)})
    pieces = []
    for start, end in pairwise(edges):
        kinds = dict.fromkeys(m["kind"] for m in marks if m["start"] <= start and end <= m["end"])
        pieces.append((text[start:end], " ".join(kinds)))
    return pieces


def _opinion(context: Context, task: StoredTask, index: int) -> Opinion:
    slot = str(task.order.index(index) + 1)
    protocol, state = context.study.protocol, task.state
    sides: dict[str, list[Mark]] = {"candidate": [], "reference": []}
    for mark in state["marks"]:
        kind = protocol.mark(mark["kind"])
        if kind is not None and mark["slot"] in (slot, "case"):
            sides[kind.side].append(mark)
    return Opinion(
        task.annotator,
        state["done"],
        answers(protocol, state, slot),
        segments(task.unit.items[index].candidate, sides["candidate"]),
        segments(task.unit.reference, sides["reference"]),
        "\n".join(text for text in (state["comments"].get("case"), state["comments"].get(slot)) if text),
    )


def _find(store: Store, key: str) -> tuple[str, int]:
    for unit in store.units():
        for index, item in enumerate(unit.items):
            if _key(unit.case_id, item.system) == key:
                return unit.case_id, index
    raise PageError(404, "There is no such text.")


@router.get("/coordinator/texts/{key}", response_class=HTMLResponse, responses={**GATE, 404: {}})
def text_page(context: Context, me: Coordinator, key: TextKey) -> Response:
    """One text: what everybody marked and counted, side by side, and the decision."""
    case_id, index = _find(context.store, key)
    unit = next(u for u in context.store.units() if u.case_id == case_id)
    tasks = [t for t in context.store.tasks() if t.unit.case_id == case_id and t.seq]
    return context.page(
        "text.html",
        me,
        key=key,
        unit=unit,
        item=unit.items[index],
        opinions=[_opinion(context, task, index) for task in tasks],
        protocol=context.study.protocol,
        decision=context.store.decisions().get((case_id, unit.items[index].system)),
        event=_fresh(),
    )


def _fresh() -> str:
    import secrets

    return secrets.token_urlsafe(16)


@router.post("/coordinator/texts/{key}/decision", response_class=HTMLResponse, responses={**GATE, 404: {}, 409: {}})
async def decide(request: Request, context: Context, me: Coordinator, key: TextKey) -> Response:
    """Record the final word on a text. The form's own id makes a second click harmless."""
    from starlette.concurrency import run_in_threadpool

    form = await request.form(max_fields=60)
    given = {name: clean(value) for name, value in form.items() if isinstance(value, str)}
    check_csrf(request, me, given.get("csrf", ""))
    return await run_in_threadpool(_decide, context, key, given)


def _decide(context: Context, key: str, given: dict[str, str]) -> Response:
    case_id, index = _find(context.store, key)
    unit = next(u for u in context.store.units() if u.case_id == case_id)
    values: dict[str, float] = {}
    for question in context.study.protocol.questions:
        text = given.get(f"value_{question.name}", "").strip()
        if not text:
            continue
        label = context.study.wording.labels[question.name]
        try:
            value = float(text)
        except ValueError:
            raise PageError(422, f"“{label}”: “{text[:20]}” is not a number.") from None
        if question.choices and value not in question.choices:
            raise PageError(422, f"“{label}”: {value:g} is not one of the choices.")
        if not question.choices and (value % 1 or not 0 <= value <= 999):
            raise PageError(422, f"“{label}”: a count is a whole number from 0 to 999.")
        values[question.name] = value
    system = unit.items[index].system
    note = given.get("note", "")[:4000]
    payload = {"case": case_id, "system": system, "values": values, "note": note}
    event = given.get("event", "")
    if not 8 <= len(event) <= 60 or not event.replace("-", "").replace("_", "").isalnum():
        raise PageError(422, "This form is out of date. Reload the page.")
    context.store.decide(case_id, system, NewEvent(event, "decide", payload))
    return RedirectResponse(f"/coordinator/texts/{key}", 303)


@router.get("/coordinator/export", responses=GATE)
def export(
    context: Context,
    me: Coordinator,
    what: Annotated[Literal["texts", "annotators", "events"], Query()] = "texts",
    format: Annotated[Literal["csv", "jsonl"], Query()] = "csv",
) -> Response:
    """The study's results as a file: one line per text, one per text and annotator, or the audit trail."""
    if what == "events":

        def lines() -> Iterator[str]:
            for event in context.store.history():
                yield json.dumps(event, ensure_ascii=False) + "\n"

        return StreamingResponse(lines(), media_type="application/x-ndjson", headers=_attachment("events.jsonl"))
    ratings = from_store(context.store)
    rows = per_text(ratings, context.store.units()) if what == "texts" else per_annotator(ratings)
    text = csv_text(rows) if format == "csv" else jsonl_text(rows)
    kind = "text/csv; charset=utf-8" if format == "csv" else "application/x-ndjson"
    return Response(text, media_type=kind, headers=_attachment(f"{what}.{format}"))


def _attachment(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}
