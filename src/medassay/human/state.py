"""A task's state, computed from its events; the same events always give the same state.

Events are small: `mark`, `unmark`, `flag`, `set`, `comment`, `done`, `reopen`, `return`, `time`, and `undo` /
`redo` of earlier ones. They apply in the order in which the server numbered them; clients' clocks do not
matter. An answer that breaks one of the protocol's limits is refused.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

from medassay.errors import MedassayError
from medassay.human.events import CONTENT, Event, undone
from medassay.human.protocols.base import CASE, MAX_COUNT, Protocol, Question

KINDS = (*CONTENT, "done", "reopen", "return", "time", "undo", "redo")
MAX_MARKS = 500
MAX_COMMENT = 4000
MAX_FACT = 300
"""Characters of a fact that is typed."""
MAX_REASON = 500
MAX_ACTIVE_MS = 600_000

CANNOT_JUDGE = "cannot_judge"
FLAGS = ("skip", "flag", CANNOT_JUDGE)
"""What an annotator may say of a text (or of the whole case) in place of, or beside, an answer: left for
later; worth the coordinator's attention; cannot be judged, which counts as answered, without values."""

Status = Literal["untouched", "open", "answered"]


class Mark(TypedDict):
    """A highlight: characters `start`…`end` (end exclusive) of the text its kind stands in. A fact that was typed has
    its `text` and no characters: both ends are 0. `from_draft`: it was taken from the machine's draft."""

    id: str
    slot: str
    kind: str
    start: int
    end: int
    flags: list[str]
    text: NotRequired[str]
    from_draft: NotRequired[bool]


class State(TypedDict):
    """An annotator's work on a task. `answers[slot][question]` is a choice's value or, for a count, the number
    typed minus the highlights at that time: the count is the highlights plus this difference.

    `flags[slot]` holds reasons by flag, `returned` the coordinator's note while a task is returned,
    `from_draft[slot]` the questions whose number was taken from the machine's draft.
    """

    answers: dict[str, dict[str, float]]
    marks: list[Mark]
    comments: dict[str, str]
    done: bool
    active_ms: int
    flags: dict[str, dict[str, str]]
    returned: str
    from_draft: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class TaskShape:
    """Lengths in characters of the texts of a task, to check highlights against."""

    reference: int
    candidates: tuple[int, ...]

    @property
    def slots(self) -> tuple[str, ...]:
        """The case's own slot, then one for each candidate."""
        return (CASE, *self.texts)

    @property
    def texts(self) -> tuple[str, ...]:
        """The slots of the candidates."""
        return tuple(str(i + 1) for i in range(len(self.candidates)))


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a task is not finished yet, and where to look."""

    slot: str
    question: str
    text: str


class Refused(MedassayError):
    """The event is not valid for this task; nothing was recorded. `slot`, `question`: where, if anywhere."""

    def __init__(self, text: str, slot: str | None = None, question: str | None = None) -> None:
        super().__init__(text)
        self.slot = slot
        self.question = question


class Outdated(Refused):
    """The event came from a page that shows an older state of the task; nothing was recorded."""


def empty_state() -> State:
    """A task nobody has touched."""
    return {
        "answers": {},
        "marks": [],
        "comments": {},
        "done": False,
        "active_ms": 0,
        "flags": {},
        "returned": "",
        "from_draft": {},
    }


def read_state(stored: Mapping[str, Any]) -> State:
    """A state as it was stored, by this or an earlier version."""
    return {**empty_state(), **stored}  # type: ignore[typeddict-item]


def fold(protocol: Protocol, shape: TaskShape, events: Iterable[Event]) -> State:
    """The state after all events; those undone are passed over."""
    listed = list(events)
    taken = undone(listed)
    state = empty_state()
    for event in listed:
        state["active_ms"] += min(max(event.active_ms, 0), MAX_ACTIVE_MS)
        if event.id not in taken and event.kind not in ("undo", "redo", "time"):
            _apply(protocol, shape, state, event, strict=False)
    return state


def step(protocol: Protocol, shape: TaskShape, state: State, event: Event) -> State:
    """The state after one more event (not undo or redo, which need the history); raises `Refused` if not valid."""
    after = copy.deepcopy(state)
    if event.kind in CONTENT and state["done"]:
        raise Outdated("This task is finished. Reopen it to change an answer.")
    after["active_ms"] += min(max(event.active_ms, 0), MAX_ACTIVE_MS)
    _apply(protocol, shape, after, event, strict=True)
    if event.kind in CONTENT:
        _check_limits(protocol, shape, state, after, event)
    return after


def _check_limits(protocol: Protocol, shape: TaskShape, before: State, after: State, event: Event) -> None:
    """Refuse an answer that breaks a limit, or exceeds it further; one that reduces the excess is accepted."""
    for slot in shape.texts:
        old, new = (answers(protocol, state, slot) for state in (before, after))
        for limit in protocol.limits:
            excess = limit.excess(new) or 0
            if excess > max(limit.excess(old) or 0, 0):
                question = event.payload.get("question") or next(iter(limit.terms))
                raise Refused(f"Text {chr(64 + int(slot))}: {limit.reason}", slot, question)


def changed_between(before: State, now: State, protocol: Protocol, event: Event) -> bool:
    """Whether what the event changes differs between the state that its page showed and the present one."""
    payload = event.payload
    if event.kind == "set":
        question = protocol.question(payload["question"])
        slot = payload["slot"]
        return question is not None and value(question, before, slot) != value(question, now, slot)
    if event.kind == "comment":
        return before["comments"].get(payload["slot"]) != now["comments"].get(payload["slot"])
    if event.kind == "flag" and "slot" in payload:
        return before["flags"].get(payload["slot"]) != now["flags"].get(payload["slot"])
    if event.kind in ("flag", "unmark"):
        old, new = ([m for m in state["marks"] if m["id"] == payload["mark"]] for state in (before, now))
        return old != new
    if event.kind in ("done", "reopen", "undo", "redo"):
        old_state, new_state = ({**state, "active_ms": 0} for state in (before, now))
        return old_state != new_state
    return False


def _apply(protocol: Protocol, shape: TaskShape, state: State, event: Event, *, strict: bool) -> None:
    payload = event.payload
    try:
        if event.kind == "mark":
            _mark(protocol, shape, state, payload)
        elif event.kind == "unmark":
            state["marks"].remove(_find(state, payload["mark"]))
        elif event.kind == "flag" and "slot" in payload:
            _flag_text(shape, state, payload)
        elif event.kind == "flag":
            _tick(protocol, state, payload)
        elif event.kind == "set":
            _set(protocol, shape, state, payload)
        elif event.kind == "comment":
            _comment(shape, state, payload)
        elif event.kind == "done":
            _finish(protocol, shape, state, strict=strict)
        elif event.kind in ("reopen", "return"):
            state["done"] = False
            state["returned"] = payload.get("note", state["returned"])
    except Refused:
        # In a fold, an event may hang on one that was undone since; it then has nothing to act on.
        if strict:
            raise


def _finish(protocol: Protocol, shape: TaskShape, state: State, *, strict: bool) -> None:
    # In a fold the task was finished by the rules of its time.
    if strict:
        open_problems = problems(protocol, shape, state)
        if open_problems:
            raise Refused(open_problems[0].text, open_problems[0].slot, open_problems[0].question)
    state["done"] = True
    state["returned"] = ""


def _find(state: State, mark_id: str) -> Mark:
    for mark in state["marks"]:
        if mark["id"] == mark_id:
            return mark
    raise Outdated("That highlight is no longer there.")


def _mark(protocol: Protocol, shape: TaskShape, state: State, payload: Mapping[str, Any]) -> None:
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
        raise Outdated("A highlight of that id is there already.")
    where = (slot, kind.name, payload.get("start"), payload.get("end"))
    if not text and any((m["slot"], m["kind"], m["start"], m["end"]) == where for m in state["marks"]):
        raise Outdated("This stretch is highlighted already. Type a number to count it twice.")
    if len(state["marks"]) >= MAX_MARKS:
        raise Refused(f"A task holds at most {MAX_MARKS} highlights.")
    start, end = (0, 0) if text else (payload["start"], payload["end"])
    mark: Mark = {"id": payload["mark"], "slot": slot, "kind": kind.name, "start": start, "end": end, "flags": flags}
    if text:
        mark["text"] = text
    if payload.get("from_draft"):
        mark["from_draft"] = True
    state["marks"].append(mark)


def _tick(protocol: Protocol, state: State, payload: Mapping[str, Any]) -> None:
    mark = _find(state, payload["mark"])
    kind = protocol.mark(mark["kind"])
    if kind is None or payload["flag"] not in kind.flags:
        raise Refused(f"A highlight '{mark['kind']}' has no tick '{payload['flag']}'.")
    ticked = set(mark["flags"]) - {payload["flag"]} | ({payload["flag"]} if payload["on"] else set())
    mark["flags"] = [flag for flag in kind.flags if flag in ticked]


def _flag_text(shape: TaskShape, state: State, payload: Mapping[str, Any]) -> None:
    slot, flag = payload["slot"], payload["flag"]
    if slot not in shape.slots or flag not in FLAGS:
        raise Refused(f"There is no flag '{flag}' in slot '{slot}'.")
    if not payload["on"]:
        state["flags"].get(slot, {}).pop(flag, None)
        if not state["flags"].get(slot):
            state["flags"].pop(slot, None)
        return
    reason = str(payload.get("reason") or "").strip()
    if not reason:
        raise Refused("Please give a reason.", slot)
    state["flags"].setdefault(slot, {})[flag] = reason[:MAX_REASON]


def _set(protocol: Protocol, shape: TaskShape, state: State, payload: Mapping[str, Any]) -> None:
    question = protocol.question(payload["question"])
    slot, value = payload["slot"], payload["value"]
    if question is None or slot not in shape.slots or (slot == CASE) != (question.per == "case"):
        raise Refused(f"There is no question '{payload['question']}' in slot '{slot}'.")
    answers = state["answers"].setdefault(slot, {})
    if value is None:
        answers.pop(question.name, None)
    elif question.choices:
        if value not in question.choices:
            raise Refused(f"'{value:g}' is not one of the choices of “{{{question.name}}}”.", slot, question.name)
        answers[question.name] = value
    else:
        if value != int(value) or not 0 <= value <= MAX_COUNT:
            raise Refused(f"A count is a whole number from 0 to {MAX_COUNT}.", slot, question.name)
        answers[question.name] = int(value) - _marked(question, state, slot)
    _note_draft(state, slot, question.name, value is not None and bool(payload.get("from_draft")))


def _note_draft(state: State, slot: str, question: str, drafted: bool) -> None:
    listed = [name for name in state["from_draft"].get(slot, []) if name != question] + [question] * drafted
    if listed:
        state["from_draft"][slot] = listed
    else:
        state["from_draft"].pop(slot, None)


def _comment(shape: TaskShape, state: State, payload: Mapping[str, Any]) -> None:
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
    """All answers that bear on one candidate: its own and those of the case; none where it cannot be judged."""
    if cannot_judge(state, slot):
        return dict.fromkeys((q.name for q in protocol.questions), None)
    return {q.name: value(q, state, CASE if q.per == "case" else slot) for q in protocol.questions}


def cannot_judge(state: State, slot: str) -> str | None:
    """Why a text (or its case) cannot be judged; None where it can."""
    return next(
        (state["flags"][s][CANNOT_JUDGE] for s in (CASE, slot) if CANNOT_JUDGE in state["flags"].get(s, {})), None
    )


def missing(protocol: Protocol, state: State, slot: str) -> list[Question]:
    """The compulsory questions of one slot that have no explicit answer."""
    if cannot_judge(state, slot):
        return []
    per = "case" if slot == CASE else "candidate"
    asked = [q for q in protocol.questions if q.per == per and q.required]
    # A finished task answers by default what was left out; that is no explicit answer.
    open_state: State = {**state, "done": False}
    return [q for q in asked if value(q, open_state, slot) is None]


def status(protocol: Protocol, state: State, slot: str) -> Status:
    """The status of one text: `untouched`, `open`, or `answered` (explicitly, and within the limits)."""
    marked = any(mark["slot"] == slot for mark in state["marks"])
    given = (state[part].get(slot) for part in ("answers", "comments", "flags"))
    if cannot_judge(state, slot) is None and not marked and not any(given):
        return "untouched"
    answered = not missing(protocol, state, slot) and not protocol.broken(answers(protocol, state, slot))
    return "answered" if answered else "open"


def problems(protocol: Protocol, shape: TaskShape, state: State) -> list[Problem]:
    """Why the task cannot be finished yet, in reading order."""
    listed = []
    if any(cannot_judge(state, slot) is None for slot in shape.texts):
        for question in missing(protocol, state, CASE):
            listed.append(Problem(CASE, question.name, f"“{{{question.name}}}” has no answer yet."))
    for slot in shape.texts:
        where = f"Text {chr(64 + int(slot))}: "
        for question in missing(protocol, state, slot):
            listed.append(Problem(slot, question.name, f"{where}“{{{question.name}}}” has no answer yet."))
        for limit in protocol.broken(answers(protocol, state, slot)):
            listed.append(Problem(slot, next(iter(limit.terms)), where + limit.reason))
    return listed
