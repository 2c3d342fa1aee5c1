"""The coordinator's pages of disagreements: texts by disagreement, all opinions on one text, and the decision."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from medassay.human.access import Session
from medassay.human.decisions import Contradiction, Decision, OutdatedDecision, check, read
from medassay.human.live import neighbours
from medassay.human.plan import Unit, clean
from medassay.human.state import Mark, answers, cannot_judge
from medassay.human.store import StoredTask
from medassay.human.web.context import Context, Coordinator, PageError, StudyContext, check_csrf
from medassay.human.web.coordinator import SIGN_IN_ERRORS, Page, page_of

router = APIRouter()

TextKey = Annotated[str, Path(min_length=8, max_length=64, pattern=r"^[0-9a-f]+$")]
Column = Annotated[str | None, Query(max_length=60)]
PER_PAGE = 50


@router.get("/coordinator/texts", response_class=HTMLResponse, responses={**SIGN_IN_ERRORS, 404: {}})
def texts(
    context: Context, me: Coordinator, column: Column = None, undecided: bool = False, page: Page = 1
) -> Response:
    """All judged texts, those with the widest disagreement first."""
    chosen = _column(context, column)
    listed = context.disagreements.texts(chosen)
    left = [text for text in listed if not text.decided]
    shown, pages = page_of(left if undecided else listed, page, PER_PAGE)
    return context.page(
        "coordinator_texts.html",
        me,
        columns=context.study.protocol.columns,
        chosen=chosen,
        undecided=undecided,
        texts=shown,
        left=len(left),
        names=context.store.names,
        **{**pages, "total": len(listed)},
    )


def _column(context: StudyContext, name: str | None) -> str:
    try:
        return context.disagreements.column(name)
    except KeyError:
        raise PageError(404, "There is no such score.") from None


def _find(context: StudyContext, key: str) -> tuple[Unit, int]:
    try:
        return context.disagreements.find(key)
    except KeyError:
        raise PageError(404, "There is no such text.") from None


@dataclass(frozen=True)
class Opinion:
    """One annotator's answers, highlights and comment on a text."""

    annotator: str
    task: str
    done: bool
    values: dict[str, float | None]
    candidate: list[tuple[str, str]]
    reference: list[tuple[str, str]]
    comment: str
    cannot_judge: str | None


def segments(text: str, marks: list[Mark]) -> list[tuple[str, str]]:
    """A text in pieces: (piece, kinds of highlight on it), for a template to draw."""
    edges = sorted({0, len(text), *(m["start"] for m in marks), *(m["end"] for m in marks)})
    pieces = []
    for start, end in pairwise(edges):
        kinds = dict.fromkeys(m["kind"] for m in marks if m["start"] <= start and end <= m["end"])
        pieces.append((text[start:end], " ".join(kinds)))
    return pieces


def _opinion(context: StudyContext, task: StoredTask, index: int) -> Opinion:
    slot = str(task.order.index(index) + 1)
    protocol, state = context.study.protocol, task.state
    sides: dict[str, list[Mark]] = {"candidate": [], "reference": []}
    for mark in state["marks"]:
        kind = protocol.mark(mark["kind"])
        if kind is not None and mark["slot"] in (slot, "case"):
            sides[kind.side].append(mark)
    return Opinion(
        task.annotator,
        task.id,
        state["done"],
        answers(protocol, state, slot),
        segments(task.unit.items[index].candidate, sides["candidate"]),
        segments(task.unit.reference, sides["reference"]),
        "\n".join(text for text in (state["comments"].get("case"), state["comments"].get(slot)) if text),
        cannot_judge(state, slot),
    )


@router.get("/coordinator/texts/{key}", response_class=HTMLResponse, responses={**SIGN_IN_ERRORS, 404: {}})
def text_page(context: Context, me: Coordinator, key: TextKey, column: Column = None) -> Response:
    """One text: what everybody marked and counted, side by side, and the decision."""
    return _show(context, me, key, column)


def _show(
    context: StudyContext,
    me: Session,
    key: str,
    column: str | None,
    *,
    status: int = 200,
    problem: str = "",
    given: dict[str, str] | None = None,
) -> Response:
    unit, index = _find(context, key)
    item = unit.items[index]
    chosen = _column(context, column)
    decision = context.decisions.read(unit.case_id, item.system)
    if given is None:
        given = {f"value_{name}": f"{value:g}" for name, value in decision.values.items()} | {"note": decision.note}
    ratings = context.ratings.read()
    return context.page(
        "coordinator_text.html",
        me,
        status,
        key=key,
        unit=unit,
        item=item,
        opinions=[_opinion(context, task, index) for task in context.store.tasks_of_case(unit.case_id) if task.seq],
        protocol=context.study.protocol,
        decision=decision,
        given=given,
        problem=problem,
        contradiction=context.labelled(ratings.final((unit.case_id, item.system)).problem or ""),
        chosen=chosen,
        near=neighbours(context.disagreements.texts(chosen), key),
        event=secrets.token_urlsafe(16),
    )


@router.post(
    "/coordinator/texts/{key}/decision",
    response_class=HTMLResponse,
    responses={**SIGN_IN_ERRORS, 404: {}, 409: {}, 422: {}},
)
async def decide(request: Request, context: Context, me: Coordinator, key: TextKey) -> Response:
    """Record the decision on a text. The form has an id, so that a second click records nothing."""
    form = await request.form(max_fields=60)
    given = {name: clean(value) for name, value in form.items() if isinstance(value, str)}
    check_csrf(request, me, given.get("csrf", ""))
    return await run_in_threadpool(_decide, context, me, key, given)


def _decide(context: StudyContext, me: Session, key: str, given: dict[str, str]) -> Response:
    unit, index = _find(context, key)
    system, column = unit.items[index].system, given.get("column") or None
    event = given.get("event", "")
    if not 8 <= len(event) <= 50 or not event.replace("-", "").replace("_", "").isalnum():
        raise PageError(422, "This form is out of date. Reload the page.")
    try:
        values = _values(context, given)
        check(context.ratings.read(), unit.case_id, system, values)
        context.decisions.decide(
            unit.case_id,
            system,
            values,
            who=me.name,
            event=event,
            note=given.get("note", "")[:4000],
            base=_base(given.get("base", "")),
        )
    except Contradiction as error:
        text = context.labelled(str(error))
        return _show(context, me, key, column, status=422, problem=text, given=given)
    except OutdatedDecision as error:
        return _show(context, me, key, column, status=409, problem=_outdated_message(error.standing), given=given)
    target = f"/coordinator/texts/{key}" + (f"?column={column}" if column else "")
    return RedirectResponse(target, 303)


def _values(context: StudyContext, given: dict[str, str]) -> dict[str, float]:
    values = {}
    for question in context.study.protocol.questions:
        text = given.get(f"value_{question.name}", "").strip()
        if text:
            values[question.name] = read(text, question, context.study.wording.labels[question.name])
    return values


def _base(text: str) -> tuple[int, int]:
    own, _, shared = text.partition(".")
    if not (own.isdigit() and shared.isdigit() and len(text) < 20):
        raise PageError(422, "This form is out of date. Reload the page.")
    return int(own), int(shared)


def _outdated_message(standing: Decision) -> str:
    return (
        f"{standing.who} decided on this text or its case while you had this page open. Nothing of yours is "
        "recorded yet: compare with the decision shown beside, and save again where yours should stand."
    )
