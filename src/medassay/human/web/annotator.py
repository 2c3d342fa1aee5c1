"""The annotator's pages: the list of tasks, a task, practice feedback, and saving."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from medassay.human.drafts import draft_of
from medassay.human.freeze import TRAINING
from medassay.human.progress import duration, is_passed, minutes_left, practice_score
from medassay.human.protocols.base import Protocol
from medassay.human.state import Outdated, Refused, answers, problems, status
from medassay.human.store import StoredTask
from medassay.human.web.changes import FieldOut, ProblemOut, ReasonOut, RefusedOut, SaveIn, TaskOut
from medassay.human.web.context import Annotator, Context, PageError, StudyContext, check_csrf
from medassay.human.web.keys import FLAG_KEYS, MARK_KEYS, keys_of

router = APIRouter()

SHORT_CASE = 1600
"""Characters of source, reference and text together that fit below each other on a laptop's screen."""


TaskId = Annotated[str, Path(min_length=8, max_length=64, pattern=r"^[0-9a-f]+$")]
API_ERRORS: dict[int | str, dict[str, Any]] = {
    401: {"model": ReasonOut},
    403: {"model": ReasonOut},
    404: {"model": ReasonOut},
}


@router.get("/tasks", response_class=HTMLResponse, responses={401: {}, 403: {}})
def task_list(context: Context, me: Annotator) -> Response:
    """All tasks of the annotator, with their status."""
    mine = context.store.tasks(me.name)
    done = sum(task.state["done"] for task in mine if not task.training)
    waiting = [task for task in mine if not (is_passed(context.study, task) if task.training else task.state["done"])]
    nearest = min(waiting, key=lambda task: "skip" in task.state["flags"].get("case", {}), default=None)
    total = sum(not task.training for task in mine)
    left = duration(minutes_left([task for task in mine if not task.training]))
    statuses = {task.id: _statuses(context, task) for task in mine}
    return context.page(
        "tasks.html", me, tasks=mine, done=done, total=total, nearest=nearest, left=left, statuses=statuses
    )


@router.get("/tasks/{task}", response_class=HTMLResponse, responses={401: {}, 403: {}, 404: {}})
def task_page(context: Context, me: Annotator, task: TaskId) -> Response:
    """One task: source, reference and one candidate after the other, with the answers beside them."""
    _own(context, me.name, task)
    mine = context.store.tasks(me.name)
    stored = next(other for other in mine if other.id == task)
    practice = next((other for other in mine if other.training and not is_passed(context.study, other)), None)
    if practice is not None and not stored.training:
        ending = "/feedback" if practice.state["done"] else ""
        return RedirectResponse(f"/tasks/{practice.id}{ending}", 303)  # practice comes before the first real task
    kind = [other for other in mine if other.training == stored.training]
    index = kind.index(stored)
    return context.page(
        "task.html",
        me,
        task=stored,
        number=index + 1,
        total=len(kind),
        done=sum(other.state["done"] for other in kind),
        before=kind[index - 1].id if index else None,
        after=kind[index + 1].id if index + 1 < len(kind) else None,
        protocol=context.study.protocol,
        left=duration(minutes_left(kind)),
        fresh=not any(other.state["done"] for other in mine),
        short=_is_short(stored),
        keys=_keys(context.study.protocol),
        data=_page_data(context, stored),
    )


@router.get("/tasks/{task}/feedback", response_class=HTMLResponse, responses={401: {}, 403: {}, 404: {}})
def feedback(context: Context, me: Annotator, task: TaskId) -> Response:
    """After practice: the annotator's answers beside those expected, and why."""
    stored = _own(context, me.name, task)
    number = stored.unit.case_id.removeprefix(TRAINING)
    listed = context.study.wording.training
    if not stored.training or not stored.state["done"] or int(number) > len(listed):
        return RedirectResponse(f"/tasks/{task}", 303)
    texts = []
    for slot, expected in enumerate(listed[int(number) - 1].candidates, 1):
        given = answers(context.study.protocol, stored.state, str(slot))
        texts.append((expected, [(name, given.get(name), want) for name, want in expected.expected.items()]))
    return context.page(
        "feedback.html",
        me,
        task=stored,
        texts=texts,
        next=_next(context, me.name, stored),
        score=practice_score(context.study, stored),
        passed=is_passed(context.study, stored),
    )


@router.get("/api/tasks/{task}", responses=API_ERRORS)
def task_state(context: Context, me: Annotator, task: TaskId) -> TaskOut:
    """The present state of the task, for a page that becomes visible again."""
    stored = _own(context, me.name, task)
    return _out(context, stored)


@router.post(
    "/api/tasks/{task}/changes",
    responses={
        **API_ERRORS,
        400: {"model": ReasonOut},
        409: {"model": RefusedOut},
        413: {"model": ReasonOut},
        422: {"model": RefusedOut},
        429: {"model": ReasonOut},
        503: {"model": ReasonOut},
    },
    response_model=TaskOut,
)
def save(
    request: Request,
    context: Context,
    me: Annotator,
    task: TaskId,
    body: SaveIn,
    x_csrf_token: Annotated[str, Header(max_length=100)],
) -> TaskOut | Response:
    """Record one change. The reply means that it is on disk."""
    check_csrf(request, me, x_csrf_token)
    stored = _own(context, me.name, task, read=False)
    if not context.saves.take(me.name):
        raise PageError(429, "Too many changes at once. They are kept and sent again in a moment.")
    try:
        ack = context.store.append(task, me.name, body.event(), body.base)
    except Refused as refusal:
        return _refusal(context, context.store.task(task), refusal, finishing=body.change.kind == "done")
    now = replace(stored, seq=ack.seq, state=ack.state)
    out = _out(context, now)
    out.again = ack.again
    out.next = _after_done(context, me.name, stored) if body.change.kind == "done" else None
    return out


def _refusal(context: StudyContext, now: StoredTask, refusal: Refused, *, finishing: bool) -> Response:
    """409 where the page has fallen behind, 422 where the change is impossible; nothing was recorded."""
    current = _out(context, now)
    open_texts = [slot for slot, standing in current.statuses.items() if standing != "answered"]
    out = RefusedOut(
        reason=context.labelled(str(refusal)),
        field=FieldOut(slot=refusal.slot, question=refusal.question) if refusal.slot else None,
        version=current.version,
        state=current.state,
        statuses=current.statuses,
        problems=current.problems,
        texts=open_texts if finishing else [],
    )
    return JSONResponse(out.model_dump(), 409 if isinstance(refusal, Outdated) else 422)


def _own(context: StudyContext, name: str, task: str, *, read: bool = True) -> StoredTask:
    """The task, if it is this annotator's; 404 for anybody else's."""
    if not context.store.owns(name, task):
        raise PageError(404, "There is no such task.")
    return context.store.task(task) if read else context.store.task_texts(task)


def _after_done(context: StudyContext, name: str, task: StoredTask) -> str:
    return f"/tasks/{task.id}/feedback" if task.training else _next(context, name, task)


def _next(context: StudyContext, name: str, task: StoredTask) -> str:
    """The next open task after this one, else the first open one, else the list; skipped ones come last."""
    mine = [other for other in context.store.tasks(name) if not other.state["done"] and other.id != task.id]
    mine.sort(key=lambda other: ("skip" in other.state["flags"].get("case", {}), other.position <= task.position))
    return f"/tasks/{mine[0].id}" if mine else "/tasks"


def _out(context: StudyContext, task: StoredTask) -> TaskOut:
    return TaskOut(
        version=task.seq, state=dict(task.state), statuses=_statuses(context, task), problems=_problems(context, task)
    )


def _statuses(context: StudyContext, task: StoredTask) -> dict[str, str]:
    return {slot: status(context.study.protocol, task.state, slot) for slot in task.shape.texts}


def _problems(context: StudyContext, task: StoredTask) -> list[ProblemOut]:
    if task.state["done"]:
        return []
    listed = problems(context.study.protocol, task.shape, task.state)
    return [ProblemOut(slot=p.slot, question=p.question, text=context.labelled(p.text)) for p in listed]


def _is_short(task: StoredTask) -> bool:
    """Whether source, reference and the longest text fit on one screen below each other."""
    longest = max(len(item.candidate) for item in task.candidates)
    return len(task.unit.source) + len(task.unit.reference) + longest <= SHORT_CASE


def _keys(protocol: Protocol) -> list[tuple[list[str], str]]:
    flags = [flag for kind in protocol.marks for flag in kind.flags]
    return [(shown.split(), text) for shown, text in keys_of([kind.name for kind in protocol.marks], flags)]


def _page_data(context: StudyContext, task: StoredTask) -> dict[str, Any]:
    """What the page's script works with; never a system's name or the case's id."""
    protocol: Protocol = context.study.protocol
    wording = context.study.wording
    return {
        "task": task.id,
        "version": task.seq,
        "state": task.state,
        "statuses": _statuses(context, task),
        "slots": list(task.shape.slots),
        "training": task.training,
        "questions": [
            {
                "name": q.name,
                "per": q.per,
                "choices": list(q.choices),
                "fedBy": list(q.fed_by) if q.fed_by else None,
                "required": q.required,
            }
            for q in protocol.questions
        ],
        "marks": [{**asdict(m), "label": wording.marks[m.name], "key": MARK_KEYS[m.name]} for m in protocol.marks],
        "labels": dict(wording.labels),
        "flags": dict(wording.flags),
        "limits": [
            {"terms": dict(limit.terms), "at_most": limit.at_most, "reason": context.labelled(limit.reason)}
            for limit in protocol.limits
        ],
        "noErrors": dict(protocol.no_errors),
        "draft": draft_of(context.store, task),
        "flagKeys": FLAG_KEYS,
    }
