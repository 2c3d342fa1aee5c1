"""The annotator's pages: the list of tasks, a task, practice feedback, and saving."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from medassay.human.freeze import TRAINING
from medassay.human.protocols.base import Protocol
from medassay.human.state import Problem, Refused, answers, problems
from medassay.human.store import StoredTask
from medassay.human.web.changes import MessageOut, ProblemOut, RefusedOut, SaveIn, TaskOut
from medassay.human.web.context import Annotator, Context, PageError, StudyContext, check_csrf
from medassay.human.wording import Wording

router = APIRouter()

TaskId = Annotated[str, Path(min_length=8, max_length=64, pattern=r"^[0-9a-f]+$")]
NOT_IN: dict[int | str, dict[str, Any]] = {
    401: {"model": MessageOut},
    403: {"model": MessageOut},
    404: {"model": MessageOut},
}


@router.get("/tasks", response_class=HTMLResponse, responses={401: {}, 403: {}})
def task_list(context: Context, me: Annotator) -> Response:
    """All of one's tasks, with where one stands."""
    mine = context.store.tasks(me.name)
    done = sum(task.state["done"] for task in mine if not task.training)
    nearest = next((task for task in mine if not task.state["done"]), None)
    total = sum(not task.training for task in mine)
    return context.page("tasks.html", me, tasks=mine, done=done, total=total, nearest=nearest)


@router.get("/tasks/{task}", response_class=HTMLResponse, responses={401: {}, 403: {}, 404: {}})
def task_page(context: Context, me: Annotator, task: TaskId) -> Response:
    """One task: source and reference beside each other, candidates one by one."""
    _own(context, me.name, task)
    mine = context.store.tasks(me.name)
    stored = next(one for one in mine if one.id == task)
    first = mine[0]
    if first.training and not first.state["done"] and not stored.training:
        return RedirectResponse(f"/tasks/{first.id}", 303)  # practice comes before the first real task
    kind = [one for one in mine if one.training == stored.training]
    place = kind.index(stored)
    return context.page(
        "task.html",
        me,
        task=stored,
        number=place + 1,
        total=len(kind),
        done=sum(one.state["done"] for one in kind),
        before=kind[place - 1].id if place else None,
        after=kind[place + 1].id if place + 1 < len(kind) else None,
        protocol=context.study.protocol,
        data=_page_data(context, stored),
    )


@router.get("/tasks/{task}/feedback", response_class=HTMLResponse, responses={401: {}, 403: {}, 404: {}})
def feedback(context: Context, me: Annotator, task: TaskId) -> Response:
    """After practice: one's answers beside those expected, and why."""
    stored = _own(context, me.name, task)
    number = stored.unit.case_id.removeprefix(TRAINING)
    listed = context.study.wording.training
    if not stored.training or not stored.state["done"] or int(number) > len(listed):
        return RedirectResponse(f"/tasks/{task}", 303)
    texts = []
    for slot, expected in enumerate(listed[int(number) - 1].candidates, 1):
        given = answers(context.study.protocol, stored.state, str(slot))
        texts.append((expected, [(name, given.get(name), want) for name, want in expected.expected.items()]))
    return context.page("feedback.html", me, task=stored, texts=texts, next=_next(context, me.name, stored))


@router.get("/api/tasks/{task}", responses=NOT_IN)
def task_state(context: Context, me: Annotator, task: TaskId) -> TaskOut:
    """The task as it stands: for a page that comes back to the front."""
    stored = _own(context, me.name, task)
    return TaskOut(seq=stored.seq, state=dict(stored.state), problems=_problems(context, stored))


@router.post(
    "/api/tasks/{task}/changes",
    responses={
        **NOT_IN,
        400: {"model": MessageOut},
        409: {"model": RefusedOut},
        413: {},
        422: {"model": MessageOut},
        429: {"model": MessageOut},
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
        ack = context.store.append(task, me.name, body.event())
    except Refused as refusal:
        now = context.store.task(task)
        found = _problems(context, now)
        text = _labelled(str(refusal), context.study.wording)
        out = RefusedOut(message=text, seq=now.seq, state=dict(now.state), problems=found)
        return JSONResponse(out.model_dump(), 409)
    finished = body.change.kind == "done"
    return TaskOut(
        seq=ack.seq,
        state=dict(ack.state),
        again=ack.again,
        next=_after_done(context, me.name, stored) if finished else None,
    )


def _own(context: StudyContext, name: str, task: str, *, read: bool = True) -> StoredTask:
    """The task, if it is this annotator's; another's is as good as not there."""
    if not context.store.owns(name, task):
        raise PageError(404, "There is no such task.")
    return context.store.task(task) if read else context.store.known(task)


def _after_done(context: StudyContext, name: str, task: StoredTask) -> str:
    return f"/tasks/{task.id}/feedback" if task.training else _next(context, name, task)


def _next(context: StudyContext, name: str, task: StoredTask) -> str:
    """The next open task after this one, else the first open one, else the list."""
    mine = [one for one in context.store.tasks(name) if not one.state["done"]]
    later = [one for one in mine if one.position > task.position]
    return f"/tasks/{(later or mine)[0].id}" if mine else "/tasks"


def _problems(context: StudyContext, task: StoredTask) -> list[ProblemOut]:
    if task.state["done"]:
        return []
    found: list[Problem] = problems(context.study.protocol, task.shape, task.state)
    words = context.study.wording
    return [ProblemOut(slot=p.slot, question=p.question, text=_labelled(p.text, words)) for p in found]


def _labelled(text: str, wording: Wording) -> str:
    for name, label in wording.labels.items():
        text = text.replace("{" + name + "}", label)
    return text


def _page_data(context: StudyContext, task: StoredTask) -> dict[str, Any]:
    """What the page's script works with; never a system's name or the case's id."""
    protocol: Protocol = context.study.protocol
    wording = context.study.wording
    return {
        "task": task.id,
        "seq": task.seq,
        "state": task.state,
        "slots": list(task.shape.slots),
        "training": task.training,
        "questions": [
            {
                "name": q.name,
                "per": q.per,
                "choices": list(q.choices),
                "fedBy": list(q.fed_by) if q.fed_by else None,
                "within": list(q.within),
                "optional": q.default is not None,
            }
            for q in protocol.questions
        ],
        "marks": [
            {
                "name": m.name,
                "side": m.side,
                "per": m.per,
                "flags": list(m.flags),
                "look": m.look,
                "typed": m.typed,
                "label": wording.marks[m.name],
            }
            for m in protocol.marks
        ],
        "labels": dict(wording.labels),
        "flags": dict(wording.flags),
    }
