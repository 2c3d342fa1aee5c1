"""A task's state, folded from its events; the same events always give the same state.

Events are small: `mark`, `unmark`, `flag`, `set`, `comment`, `done`, `reopen`, `time`, and `undo` / `redo`
of an earlier one. They apply in the order in which the server numbered them: the last word on a field
wins, highlights made in two windows add up, and no client's clock has any say.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NotRequired, TypedDict

from medassay.errors import MedassayError
from medassay.human.protocols.base import CASE, MAX_COUNT, Protocol, Question

CONTENT = ("mark", "unmark", "flag", "set", "comment")
KINDS = (*CONTENT, "done", "reopen", "time", "undo", "redo")
MAX_MARKS = 500
MAX_COMMENT = 4000
MAX_FACT = 300
"""Characters of a fact that is typed."""
MAX_ACTIVE_MS = 600_000


class Mark(TypedDict):
    """A highlight: characters `start`…`end` (end exclusive) of the text its kind stands in. A fact that was typed has
    its `text` and no characters: both ends are 0."""

    id: str
    slot: str
    kind: str
    start: int
    end: int
    flags: list[str]
    text: NotRequired[str]


class State(TypedDict):
    """All an annotator has said about a task. `answers[slot][question]` is a choice's value or, for a
    count, what was typed less the highlights there were: the count is highlights + that."""

    answers: dict[str, dict[str, float]]
    marks: list[Mark]
    comments: dict[str, str]
    done: bool
    active_ms: int


@dataclass(frozen=True, slots=True)
class Shape:
    """Lengths in characters of the texts of a task, to check highlights against."""

    reference: int
    candidates: tuple[int, ...]

    @property
    def slots(self) -> tuple[str, ...]:
        """The case's own slot, then one a candidate."""
        return (CASE, *(str(i + 1) for i in range(len(self.candidates))))


class Event(NamedTuple):
    """One recorded change, as the fold sees it."""

    id: str
    kind: str
    payload: Mapping[str, Any]
    active_ms: int = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a task is not finished yet, and where to look."""

    slot: str
    question: str
    text: str


class Refused(MedassayError):
    """The event makes no sense for this task; nothing was recorded."""


def empty() -> State:
    """A task nobody has touched."""
    return {"answers": {}, "marks": [], "comments": {}, "done": False, "active_ms": 0}


def fold(protocol: Protocol, shape: Shape, events: Iterable[Event]) -> State:
    """The state after all events; those undone are passed over."""
    listed = list(events)
    undone = _undone(listed)
    state = empty()
    for event in listed:
        state["active_ms"] += min(max(event.active_ms, 0), MAX_ACTIVE_MS)
        if event.id not in undone and event.kind not in ("undo", "redo", "time"):
            _apply(protocol, shape, state, event, strict=False)
    return state


def step(protocol: Protocol, shape: Shape, state: State, event: Event) -> State:
    """The state after one more event (not undo or redo, which need the history); refuses what makes no sense."""
    after = copy.deepcopy(state)
    if event.kind in CONTENT and state["done"]:
        raise Refused("This task is finished. Reopen it to change an answer.")
    after["active_ms"] += min(max(event.active_ms, 0), MAX_ACTIVE_MS)
    _apply(protocol, shape, after, event, strict=True)
    return after


def _undone(events: list[Event]) -> set[str]:
    undone: set[str] = set()
    for event in events:
        if event.kind == "undo":
            undone.add(str(event.payload["target"]))
        elif event.kind == "redo":
            undone.discard(str(event.payload["target"]))
    return undone


def undo_target(events: list[Event]) -> str | None:
    """The latest change that still stands, or None."""
    undone = _undone(events)
    return next((e.id for e in reversed(events) if e.kind in CONTENT and e.id not in undone), None)


def redo_target(events: list[Event]) -> str | None:
    """The change undone last, provided nothing was changed since."""
    undone = _undone(events)
    for event in reversed(events):
        if event.kind in CONTENT and event.id not in undone:
            return None
        if event.kind == "undo" and event.payload["target"] in undone:
            return str(event.payload["target"])
    return None


def _apply(protocol: Protocol, shape: Shape, state: State, event: Event, *, strict: bool) -> None:
    payload = event.payload
    try:
        if event.kind == "mark":
            _mark(protocol, shape, state, payload)
        elif event.kind == "unmark":
            state["marks"].remove(_find(state, payload["mark"]))
        elif event.kind == "flag":
            _flag(protocol, state, payload)
        elif event.kind == "set":
            _set(protocol, shape, state, payload)
        elif event.kind == "comment":
            _comment(shape, state, payload)
        elif event.kind == "done":
            found = problems(protocol, shape, state)
            if found:
                raise Refused(found[0].text)
            state["done"] = True
        elif event.kind == "reopen":
            state["done"] = False
    except Refused:
        # In a fold, an event may hang on one that was undone since; it then has nothing to act on.
        if strict:
            raise


def _find(state: State, mark_id: str) -> Mark:
    for mark in state["marks"]:
        if mark["id"] == mark_id:
            return mark
    raise Refused("That highlight is no longer there.")


def _mark(protocol: Protocol, shape: Shape, state: State, payload: Mapping[str, Any]) -> None:
    kind = protocol.mark(payload["type"])
    slot = payload["slot"]
    if kind is None:
        raise Refused(f"{protocol.name} has no highlight '{payload['type']}'.")
    if slot not in shape.slots or (slot == CASE) != (kind.per == "case"):
        raise Refused(f"A highlight '{kind.name}' cannot stand in slot '{slot}'.")
    text = str(payload.get("text", "")).strip()[:MAX_FACT]
    length = shape.reference if kind.side == "reference" else shape.candidates[int(slot) - 1]
    if text and not kind.typed:
        raise Refused(f"'{kind.name}' is highlighted, not typed.")
    if not text and not 0 <= payload["start"] < payload["end"] <= length:
        raise Refused(f"The highlight lies outside the text of {length} characters.")
    if text and any((m["slot"], m["kind"], m.get("text")) == (slot, kind.name, text) for m in state["marks"]):
        raise Refused("This fact is there already. Type a number to count it twice.")
    flags = [flag for flag in kind.flags if flag in payload.get("flags", ())]
    if any(mark["id"] == payload["mark"] for mark in state["marks"]):
        raise Refused("A highlight of that id is there already.")
    where = (slot, kind.name, payload["start"], payload["end"])
    if not text and any((m["slot"], m["kind"], m["start"], m["end"]) == where for m in state["marks"]):
        raise Refused("This stretch is highlighted already. Type a number to count it twice.")
    if len(state["marks"]) >= MAX_MARKS:
        raise Refused(f"A task holds at most {MAX_MARKS} highlights.")
    start, end = (0, 0) if text else (payload["start"], payload["end"])
    mark: Mark = {"id": payload["mark"], "slot": slot, "kind": kind.name, "start": start, "end": end, "flags": flags}
    state["marks"].append({**mark, "text": text} if text else mark)


def _flag(protocol: Protocol, state: State, payload: Mapping[str, Any]) -> None:
    mark = _find(state, payload["mark"])
    kind = protocol.mark(mark["kind"])
    if kind is None or payload["flag"] not in kind.flags:
        raise Refused(f"A highlight '{mark['kind']}' has no tick '{payload['flag']}'.")
    ticked = set(mark["flags"]) - {payload["flag"]} | ({payload["flag"]} if payload["on"] else set())
    mark["flags"] = [flag for flag in kind.flags if flag in ticked]


def _set(protocol: Protocol, shape: Shape, state: State, payload: Mapping[str, Any]) -> None:
    question = protocol.question(payload["question"])
    slot, value = payload["slot"], payload["value"]
    if question is None or slot not in shape.slots or (slot == CASE) != (question.per == "case"):
        raise Refused(f"There is no question '{payload['question']}' in slot '{slot}'.")
    answers = state["answers"].setdefault(slot, {})
    if value is None:
        answers.pop(question.name, None)
    elif question.choices:
        if value not in question.choices:
            raise Refused(f"'{value}' is not one of the choices of '{question.name}'.")
        answers[question.name] = value
    else:
        if value != int(value) or not 0 <= value <= MAX_COUNT:
            raise Refused(f"A count is a whole number from 0 to {MAX_COUNT}.")
        answers[question.name] = int(value) - _marked(question, state, slot)


def _comment(shape: Shape, state: State, payload: Mapping[str, Any]) -> None:
    if payload["slot"] not in shape.slots:
        raise Refused(f"There is no slot '{payload['slot']}'.")
    if payload["text"]:
        state["comments"][payload["slot"]] = payload["text"][:MAX_COMMENT]
    else:
        state["comments"].pop(payload["slot"], None)


def _marked(question: Question, state: State, slot: str) -> int:
    if question.fed_by is None:
        return 0
    kind, flag = question.fed_by
    return sum(
        mark["kind"] == kind and mark["slot"] == slot and (flag is None or flag in mark["flags"])
        for mark in state["marks"]
    )


def value(question: Question, state: State, slot: str) -> float | None:
    """The answer to one question, or None where there is none yet.

    A count that a tick on a highlight feeds is answered (0) as soon as there is such a highlight.
    """
    given = state["answers"].get(slot, {}).get(question.name)
    if question.choices:
        return given
    marked = _marked(question, state, slot)
    fed = question.fed_by is not None and any(
        mark["kind"] == question.fed_by[0] and mark["slot"] == slot for mark in state["marks"]
    )
    if given is None and not fed:
        return question.default if state["done"] else None
    return max(0, marked + int(given or 0))


def answers(protocol: Protocol, state: State, slot: str) -> dict[str, float | None]:
    """All answers that bear on one candidate: its own and those of the case."""
    return {q.name: value(q, state, CASE if q.per == "case" else slot) for q in protocol.questions}


def problems(protocol: Protocol, shape: Shape, state: State) -> list[Problem]:
    """What stands between the task and being finished, in reading order."""
    found = []
    for slot in shape.slots:
        current = answers(protocol, state, slot if slot != CASE else "1")
        for question in protocol.questions:
            if (question.per == "case") != (slot == CASE):
                continue
            answer = current[question.name]
            where = "" if slot == CASE else f"Text {chr(64 + int(slot))}: "
            if answer is None and question.default is None:
                found.append(Problem(slot, question.name, f"{where}“{{{question.name}}}” has no answer yet."))
                continue
            for bound in question.within:
                limit = current[bound]
                if answer is not None and limit is not None and answer > limit:
                    text = f"{where}“{{{question.name}}}” ({answer:g}) exceeds “{{{bound}}}” ({limit:g})."
                    found.append(Problem(slot, question.name, text))
    return found
