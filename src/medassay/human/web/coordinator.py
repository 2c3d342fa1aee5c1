"""The coordinator's pages: progress, live agreement, tasks, comments, the audit trail, export."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from medassay.errors import InputError
from medassay.files import csv_text, jsonl_text
from medassay.human.access import Session
from medassay.human.decisions import text_key
from medassay.human.drafts import proposals
from medassay.human.events import NewEvent, record_action
from medassay.human.export import per_annotator, per_text
from medassay.human.people import audit_trail, renew_link, replace_annotator
from medassay.human.plan import clean
from medassay.human.progress import is_too_fast, progress, remarks
from medassay.human.state import Refused
from medassay.human.tables import effects
from medassay.human.terminal import EFFECT_NOTE, effect_cells
from medassay.human.web.context import Context, Coordinator, PageError, StudyContext, check_csrf, visitor

router = APIRouter()

Page = Annotated[int, Query(ge=1, le=100_000)]
Csrf = Annotated[str, Form(max_length=100)]
Person = Annotated[str, Form(min_length=1, max_length=64)]
SIGN_IN_ERRORS: dict[int | str, dict[str, Any]] = {401: {}, 403: {}}
PER_PAGE = 100
Item = TypeVar("Item")


def page_of(items: Sequence[Item], page: int, per_page: int = PER_PAGE) -> tuple[Sequence[Item], dict[str, int]]:
    """The items of one page, and the template's values `total`, `page` and `pages` (at least one)."""
    return items[(page - 1) * per_page : page * per_page], _pages(len(items), page, per_page)


def _pages(total: int, page: int, per_page: int) -> dict[str, int]:
    return {"total": total, "page": page, "pages": max(1, -(-total // per_page))}


@router.get("/coordinator", response_class=HTMLResponse, responses={403: {}})
def overview(request: Request, context: Context) -> Response:
    """Progress and agreement at a glance; the sign-in page where nobody is signed in."""
    session = visitor(request)
    names = list(context.links().coordinators)
    if session is None:
        return context.page("coordinator_sign_in.html", None, typed=context.access.uses_secret, names=names)
    if not session.is_coordinator:
        raise PageError(403, "This page is for the coordinator.")
    ratings, rows, systems = context.agreement.read(context.ratings.read())
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


@router.get("/coordinator/tasks", response_class=HTMLResponse, responses=SIGN_IN_ERRORS)
def tasks(
    context: Context, me: Coordinator, annotator: Annotated[str, Query(max_length=64)] = "", page: Page = 1
) -> Response:
    """All tasks, or one annotator's, with their time; a finished one can be returned."""
    listed = [task for task in context.store.tasks(annotator or None) if not task.training]
    shown, pages = page_of(listed, page)
    timed = [(task, is_too_fast(task)) for task in shown]
    return context.page(
        "coordinator_tasks.html", me, annotator=annotator, names=context.store.names, tasks=timed, **pages
    )


@router.post(
    "/coordinator/tasks/{task}/return", response_class=HTMLResponse, responses={**SIGN_IN_ERRORS, 404: {}, 409: {}}
)
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
        known = context.store.task_texts(task)
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


@router.post("/coordinator/renew", response_class=HTMLResponse, responses={**SIGN_IN_ERRORS, 404: {}})
def renew(request: Request, context: Context, me: Coordinator, csrf: Csrf, name: Person) -> Response:
    """Give somebody a new link; the old one and every session that was started with it become invalid."""
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
    return _link_page(request, context, None if name == me.name else me, name, token)


def _link_page(
    request: Request, context: StudyContext, session: Session | None, person: str, token: str | None
) -> Response:
    url = (context.public_url or str(request.base_url)).rstrip("/")
    address = f"{url}/enter/{token}" if token else ""
    return context.page("coordinator_link.html", session, person=person, address=address)


@router.post("/coordinator/replace", response_class=HTMLResponse, responses={**SIGN_IN_ERRORS, 409: {}})
def replace(request: Request, context: Context, me: Coordinator, csrf: Csrf, name: Person, by: Person) -> Response:
    """Let a new annotator take over what another has not finished."""
    check_csrf(request, me, csrf)
    by = by.strip()
    try:
        replace_annotator(context.store, name, by, me.name)
    except InputError as error:
        raise PageError(409, str(error)) from None
    context.forget_people()
    return _link_page(request, context, me, by, context.access.link(by, context.links().annotators[by]))


@router.get("/coordinator/comments", response_class=HTMLResponse, responses=SIGN_IN_ERRORS)
def comments(context: Context, me: Coordinator, page: Page = 1) -> Response:
    """Everything annotators wrote: comments, and the reasons of flags."""
    shown, pages = page_of(remarks(context.store), page)
    keyed = [(remark, None if remark.system is None else text_key(remark.case_id, remark.system)) for remark in shown]
    return context.page("coordinator_comments.html", me, remarks=keyed, **pages)


@router.get("/coordinator/trail", response_class=HTMLResponse, responses=SIGN_IN_ERRORS)
def trail_page(context: Context, me: Coordinator, page: Page = 1) -> Response:
    """Who decided, returned, renewed, replaced and exported what, the latest first."""
    actions, total = audit_trail(context.store, start=(page - 1) * PER_PAGE, limit=PER_PAGE)
    return context.page("coordinator_trail.html", me, actions=actions, **_pages(total, page, PER_PAGE))


@router.get("/coordinator/export", responses=SIGN_IN_ERRORS)
def export(
    context: Context,
    me: Coordinator,
    what: Annotated[Literal["texts", "annotators", "highlights", "events"], Query()] = "texts",
    format: Annotated[Literal["csv", "jsonl"], Query()] = "csv",
) -> Response:
    """The study's results as a file: a line per text, per text and annotator, per highlight, or per change."""
    with context.store.database.writing() as connection:
        record_action(connection, "export", {"what": what}, me.name)
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
