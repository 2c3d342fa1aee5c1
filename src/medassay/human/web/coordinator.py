"""The coordinator's pages: progress, live agreement, tasks, comments, the audit trail, export."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from medassay.errors import InputError
from medassay.files import csv_text, jsonl_text
from medassay.human.drafts import proposals
from medassay.human.effects import effects
from medassay.human.export import per_annotator, per_text
from medassay.human.journal import NewEvent
from medassay.human.overview import is_too_fast, progress, remarks
from medassay.human.people import note_action, renew_link, replace_annotator, trail
from medassay.human.plan import clean
from medassay.human.ratings import Ratings
from medassay.human.show import EFFECT_NOTE, effect_cells
from medassay.human.state import Refused
from medassay.human.tables import AgreementRow, SystemRow, agreement, system_table
from medassay.human.web.context import Context, Coordinator, PageError, check_csrf, visitor

router = APIRouter()

Page = Annotated[int, Query(ge=1, le=100_000)]
Csrf = Annotated[str, Form(max_length=100)]
Person = Annotated[str, Form(min_length=1, max_length=64)]
GATE: dict[int | str, dict[str, Any]] = {401: {}, 403: {}}
PER_PAGE = 100
REFRESH_SECONDS = 30
"""Agreement that takes long to compute is computed anew at most this often while answers come in."""


def pages_of(items: int, per_page: int) -> int:
    """How many pages a list takes, at least one."""
    return max(1, -(-items // per_page))


class Summary:
    """Agreement and means by system, kept until answers have come in and, for a large study, some time has passed."""

    def __init__(self) -> None:
        self._kept: tuple[Ratings, list[AgreementRow], list[SystemRow]] | None = None
        self._at = 0.0
        self._took = 0.0

    def read(self, ratings: Ratings) -> tuple[Ratings, list[AgreementRow], list[SystemRow]]:
        """The tables, and the ratings they are about."""
        began = time.monotonic()
        recent = self._took > 0.5 and began - self._at < REFRESH_SECONDS
        if self._kept is None or (self._kept[0] is not ratings and not recent):
            resamples = max(50, min(300, 2_000_000 // max(1, len(ratings.by_key))))
            rows = agreement(ratings, resamples=resamples) if ratings.rows else []
            self._kept = (ratings, rows, system_table(ratings))
            self._at, self._took = time.monotonic(), time.monotonic() - began
        return self._kept


@router.get("/coordinator", response_class=HTMLResponse, responses={403: {}})
def overview(request: Request, context: Context) -> Response:
    """Progress and agreement at a glance; for a stranger, the door."""
    session = visitor(request)
    names = list(context.links().coordinators)
    if session is None:
        return context.page("coordinator_sign_in.html", None, typed=context.access.typed, names=names)
    if not session.is_coordinator:
        raise PageError(403, "This page is for the coordinator.")
    if context.summary is None:
        context.summary = Summary()
    ratings, rows, systems = context.summary.read(context.ratings.read())
    active = frozenset(context.links().annotators)
    return context.page(
        "coordinator.html",
        session,
        progress=progress(context.store, active),
        texts=len(ratings.by_key),
        pairs=list(rows[0].pairs) if rows else [],
        raw=[row for row in rows if row.raw],
        derived=[row for row in rows if not row.raw],
        systems=systems,
        annotators=ratings.annotators,
        effects=[(row.column, effect_cells(row)) for row in effects(ratings, resamples=300)],
        effect_note=EFFECT_NOTE,
        people=[*context.links().annotators, *names],
        active=sorted(active),
    )


@router.get("/coordinator/tasks", response_class=HTMLResponse, responses=GATE)
def tasks(
    context: Context, me: Coordinator, annotator: Annotated[str, Query(max_length=64)] = "", page: Page = 1
) -> Response:
    """All tasks, or one annotator's, with their time; a finished one can be returned."""
    listed = [task for task in context.store.tasks(annotator or None) if not task.training]
    return context.page(
        "coordinator_tasks.html",
        me,
        annotator=annotator,
        names=context.store.names,
        tasks=[(task, is_too_fast(task)) for task in listed[(page - 1) * PER_PAGE : page * PER_PAGE]],
        total=len(listed),
        page=page,
        pages=pages_of(len(listed), PER_PAGE),
    )


@router.post("/coordinator/tasks/{task}/return", response_class=HTMLResponse, responses={**GATE, 404: {}, 409: {}})
def return_task(
    request: Request,
    context: Context,
    me: Coordinator,
    task: Annotated[str, Path(min_length=8, max_length=64, pattern=r"^[0-9a-f]+$")],
    csrf: Csrf,
    note: Annotated[str, Form(max_length=500)] = "",
) -> Response:
    """Open a finished task again for its annotator, with a note for them."""
    check_csrf(request, me, csrf)
    try:
        known = context.store.known(task)
        if not context.store.task(task).state["done"]:
            raise PageError(409, "This task is not finished; its annotator can still change it.")
        new = NewEvent(
            secrets.token_urlsafe(16), "return", {"note": clean(note).strip() or "Please look at this again."}
        )
        context.store.append(task, me.name, new)
    except KeyError:
        raise PageError(404, "There is no such task.") from None
    except Refused as error:
        raise PageError(409, str(error)) from None
    return RedirectResponse(f"/coordinator/tasks?annotator={known.annotator}", 303)


@router.post("/coordinator/renew", response_class=HTMLResponse, responses={**GATE, 404: {}})
def renew(request: Request, context: Context, me: Coordinator, csrf: Csrf, name: Person) -> Response:
    """Give somebody a new link; the old one, and every session begun with it, is worthless."""
    check_csrf(request, me, csrf)
    try:
        renew_link(context.store, name, me.name)
    except InputError as error:
        raise PageError(404, str(error)) from None
    context.forget_people()
    links = context.links()
    if name in links.coordinators:
        token = context.access.coordinator_link(name, links.coordinators[name])
    else:
        token = context.access.link(name, links.annotators[name])
    address = f"{(context.public_url or str(request.base_url)).rstrip('/')}/enter/{token}" if token else ""
    session = None if name == me.name else me
    return context.page("coordinator_link.html", session, person=name, address=address)


@router.post("/coordinator/replace", response_class=HTMLResponse, responses={**GATE, 409: {}})
def replace(request: Request, context: Context, me: Coordinator, csrf: Csrf, name: Person, by: Person) -> Response:
    """Let a new annotator take over what another has not finished."""
    check_csrf(request, me, csrf)
    try:
        replace_annotator(context.store, name, by.strip(), me.name)
    except InputError as error:
        raise PageError(409, str(error)) from None
    context.forget_people()
    token = context.access.link(by.strip(), context.links().annotators[by.strip()])
    address = f"{(context.public_url or str(request.base_url)).rstrip('/')}/enter/{token}"
    return context.page("coordinator_link.html", me, person=by.strip(), address=address)


@router.get("/coordinator/comments", response_class=HTMLResponse, responses=GATE)
def comments(context: Context, me: Coordinator, page: Page = 1) -> Response:
    """Everything annotators wrote: comments, and the reasons of flags."""
    from medassay.human.web.disagreements import text_key

    listed = remarks(context.store)
    shown = listed[(page - 1) * PER_PAGE : page * PER_PAGE]
    keys = [None if remark.system is None else text_key(remark.case_id, remark.system) for remark in shown]
    return context.page(
        "coordinator_comments.html",
        me,
        remarks=list(zip(shown, keys, strict=True)),
        total=len(listed),
        page=page,
        pages=pages_of(len(listed), PER_PAGE),
    )


@router.get("/coordinator/trail", response_class=HTMLResponse, responses=GATE)
def audit_trail(context: Context, me: Coordinator, page: Page = 1) -> Response:
    """Who decided, returned, renewed, replaced and exported what, the latest first."""
    actions, total = trail(context.store, start=(page - 1) * PER_PAGE, limit=PER_PAGE)
    return context.page(
        "coordinator_trail.html", me, actions=actions, total=total, page=page, pages=pages_of(total, PER_PAGE)
    )


@router.get("/coordinator/export", responses=GATE)
def export(
    context: Context,
    me: Coordinator,
    what: Annotated[Literal["texts", "annotators", "highlights", "events"], Query()] = "texts",
    format: Annotated[Literal["csv", "jsonl"], Query()] = "csv",
) -> Response:
    """The study's results as a file: a line per text, per text and annotator, per highlight, or per change."""
    note_action(context.store, "export", {"what": what}, me.name)
    if what == "events":

        def lines() -> Iterator[str]:
            for event in context.store.history():
                yield json.dumps(event, ensure_ascii=False) + "\n"

        return StreamingResponse(lines(), media_type="application/x-ndjson", headers=_attachment("events.jsonl"))
    if what == "highlights":
        rows: Sequence[Mapping[str, Any]] = proposals(context.store)
    else:
        ratings = context.ratings.read()
        rows = per_text(ratings, context.store.units()) if what == "texts" else per_annotator(ratings)
    text = csv_text(rows) if format == "csv" else jsonl_text(rows)
    kind = "text/csv; charset=utf-8" if format == "csv" else "application/x-ndjson"
    return Response(text, media_type=kind, headers=_attachment(f"{what}.{format}"))


def _attachment(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}
