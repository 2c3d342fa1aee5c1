"""Where annotators are apart: texts listed by it, side by side, and the coordinator's decision."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from medassay.human.access import Session
from medassay.human.decisions import Contradiction, Decision, Overtaken, check, decision_key, read
from medassay.human.plan import Unit, clean
from medassay.human.ratings import Key, Ratings
from medassay.human.state import Mark, answers, cannot_judge
from medassay.human.store import StoredTask
from medassay.human.web.context import Context, Coordinator, PageError, StudyContext, check_csrf
from medassay.human.web.coordinator import GATE, Page, pages_of

router = APIRouter()

TextKey = Annotated[str, Path(min_length=8, max_length=64, pattern=r"^[0-9a-f]+$")]
Column = Annotated[str | None, Query(max_length=60)]
PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class Spread:
    """One text and how far its annotators are apart on one column; −1 where fewer than two gave a value."""

    key: str
    case_id: str
    system: str
    values: tuple[float | None, ...]
    spread: float
    decided: bool


def spreads(ratings: Ratings, names: list[str], column: str) -> list[Spread]:
    """All judged texts, the furthest apart first."""
    listed = []
    for (case_id, system), rows in ratings.by_key.items():
        given = {row.annotator: row.values.get(column) for row in rows}
        known = [value for value in given.values() if value is not None]
        apart = max(known) - min(known) if len(known) > 1 else -1.0
        values = tuple(given.get(name) for name in names)
        decided = (case_id, system) in ratings.decisions
        listed.append(Spread(text_key(case_id, system), case_id, system, values, apart, decided))
    return sorted(listed, key=lambda text: -text.spread)


def text_key(case_id: str, system: str) -> str:
    """How a text is called in an address."""
    return decision_key(case_id, system).removeprefix("decision:")


class Desk:
    """The lists that the pages walk through, kept until something changes."""

    def __init__(self, context: StudyContext) -> None:
        self.context = context
        self._lists: dict[str, tuple[Ratings, list[Spread]]] = {}
        self._keys: dict[str, Key] = {}

    def column(self, asked: str | None) -> str:
        """The column asked for, or the protocol's main score."""
        protocol = self.context.study.protocol
        chosen = asked or (protocol.derived or protocol.columns)[min(2, len(protocol.derived) - 1)]
        if chosen not in protocol.columns:
            raise PageError(404, "There is no such score.")
        return chosen

    def texts(self, column: str) -> list[Spread]:
        """All judged texts by one column."""
        ratings = self.context.ratings.read()
        kept = self._lists.get(column)
        if kept is None or kept[0] is not ratings:
            kept = self._lists[column] = (ratings, spreads(ratings, self.context.store.names, column))
        return kept[1]

    def find(self, key: str) -> tuple[Unit, int]:
        """The text of that key, as its case and its place there."""
        if not self._keys:
            for unit in self.context.store.units():
                self._keys |= {text_key(unit.case_id, item.system): (unit.case_id, item.system) for item in unit.items}
        if key not in self._keys:
            raise PageError(404, "There is no such text.")
        case_id, system = self._keys[key]
        unit = self.context.store.unit(case_id)
        return unit, next(i for i, item in enumerate(unit.items) if item.system == system)


def desk_of(context: StudyContext) -> Desk:
    """The desk of a running study."""
    if context.desk is None:
        context.desk = Desk(context)
    desk: Desk = context.desk
    return desk


@router.get("/coordinator/texts", response_class=HTMLResponse, responses={**GATE, 404: {}})
def texts(
    context: Context, me: Coordinator, column: Column = None, undecided: bool = False, page: Page = 1
) -> Response:
    """All judged texts, those with the widest disagreement first."""
    desk = desk_of(context)
    chosen = desk.column(column)
    listed = desk.texts(chosen)
    left = [text for text in listed if not text.decided]
    shown = left if undecided else listed
    return context.page(
        "coordinator_texts.html",
        me,
        columns=context.study.protocol.columns,
        chosen=chosen,
        undecided=undecided,
        texts=shown[(page - 1) * PER_PAGE : page * PER_PAGE],
        total=len(listed),
        left=len(left),
        page=page,
        pages=pages_of(len(shown), PER_PAGE),
        names=context.store.names,
    )


@dataclass(frozen=True)
class Opinion:
    """One annotator's view of a text: answers, highlights in both texts, comment."""

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


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Where to go from a text in the list it was opened from."""

    number: int
    total: int
    before: str | None
    after: str | None
    undecided: str | None


def neighbours(listed: list[Spread], key: str) -> Neighbours:
    """The texts before and after, and the next one without a decision (from the start again at the end)."""
    index = next((i for i, text in enumerate(listed) if text.key == key), None)
    if index is None:
        undecided = next((text.key for text in listed if not text.decided), None)
        return Neighbours(0, len(listed), None, listed[0].key if listed else None, undecided)
    later = [*listed[index + 1 :], *listed[:index]]
    return Neighbours(
        index + 1,
        len(listed),
        listed[index - 1].key if index else None,
        listed[index + 1].key if index + 1 < len(listed) else None,
        next((text.key for text in later if not text.decided), None),
    )


@router.get("/coordinator/texts/{key}", response_class=HTMLResponse, responses={**GATE, 404: {}})
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
    desk = desk_of(context)
    unit, index = desk.find(key)
    item = unit.items[index]
    chosen = desk.column(column)
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
        near=neighbours(desk.texts(chosen), key),
        event=secrets.token_urlsafe(16),
    )


@router.post(
    "/coordinator/texts/{key}/decision", response_class=HTMLResponse, responses={**GATE, 404: {}, 409: {}, 422: {}}
)
async def decide(request: Request, context: Context, me: Coordinator, key: TextKey) -> Response:
    """Record the final word on a text. The form's own id makes a second click harmless."""
    form = await request.form(max_fields=60)
    given = {name: clean(value) for name, value in form.items() if isinstance(value, str)}
    check_csrf(request, me, given.get("csrf", ""))
    return await run_in_threadpool(_decide, context, me, key, given)


def _decide(context: StudyContext, me: Session, key: str, given: dict[str, str]) -> Response:
    unit, index = desk_of(context).find(key)
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
    except Overtaken as error:
        return _show(context, me, key, column, status=409, problem=_overtaken(error.standing), given=given)
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


def _overtaken(standing: Decision) -> str:
    return (
        f"{standing.who} decided on this text or its case while you had this page open. Nothing of yours is "
        "recorded yet: compare with the decision shown beside, and save again where yours should stand."
    )
