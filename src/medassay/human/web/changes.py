"""What a save looks like on the wire: one change, with an id made by the page."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from medassay.human.plan import clean
from medassay.human.state import MAX_ACTIVE_MS, MAX_COMMENT, MAX_FACT
from medassay.human.store import NewEvent

Name = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[A-Za-z_]+$")]
Slot = Annotated[str, Field(pattern=r"^(case|[1-9][0-9]?)$")]
Ident = Annotated[str, Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
Offset = Annotated[int, Field(ge=0, le=4_000_000)]


class _Change(BaseModel):
    model_config = ConfigDict(extra="forbid")


class MarkChange(_Change):
    """Highlight characters `start`…`end` (code points, end exclusive), or add a fact in the annotator's words."""

    kind: Literal["mark"]
    mark: Ident
    slot: Slot
    type: Name
    start: Offset = 0
    end: Offset = 0
    flags: Annotated[list[Name], Field(max_length=8)] = []
    text: Annotated[str, Field(max_length=MAX_FACT)] = ""


class UnmarkChange(_Change):
    """Take a highlight away."""

    kind: Literal["unmark"]
    mark: Ident


class FlagChange(_Change):
    """Tick or untick something on a highlight."""

    kind: Literal["flag"]
    mark: Ident
    flag: Name
    on: bool


class SetChange(_Change):
    """Answer a question; null takes the answer back."""

    kind: Literal["set"]
    slot: Slot
    question: Name
    value: Annotated[float, Field(ge=-1000, le=100_000, allow_inf_nan=False)] | None


class CommentChange(_Change):
    """Write a comment; empty text takes it away."""

    kind: Literal["comment"]
    slot: Slot
    text: Annotated[str, Field(max_length=MAX_COMMENT)]


class PlainChange(_Change):
    """Finish or reopen the task, undo or redo, or just report time spent."""

    kind: Literal["done", "reopen", "undo", "redo", "time"]


class SaveIn(BaseModel):
    """One change. `at` is the page's clock (seconds since 1970; kept, never trusted), `active_ms` the time
    spent since the last change."""

    model_config = ConfigDict(extra="forbid")

    id: Ident
    change: Annotated[
        MarkChange | UnmarkChange | FlagChange | SetChange | CommentChange | PlainChange, Field(discriminator="kind")
    ]
    at: Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)] | None = None
    active_ms: Annotated[int, Field(ge=0, le=MAX_ACTIVE_MS)] = 0

    def event(self) -> NewEvent:
        """The change as the store takes it."""
        payload = self.change.model_dump(exclude={"kind"})
        if isinstance(self.change, CommentChange):
            payload["text"] = clean(self.change.text)
        if isinstance(self.change, MarkChange):
            del payload["text"]
            if text := clean(self.change.text).strip():
                payload["text"] = text
        if isinstance(self.change, SetChange) and self.change.value is not None and self.change.value % 1 == 0:
            payload["value"] = int(self.change.value)
        return NewEvent(self.id, self.change.kind, payload, self.at, self.active_ms)


class ProblemOut(BaseModel):
    """What stands between a task and being finished."""

    slot: str
    question: str
    text: str


class TaskOut(BaseModel):
    """A task's state after a save. `again`: this very change had been recorded before. `next`: where to go
    when the task is finished."""

    seq: int
    state: dict[str, Any]
    again: bool = False
    problems: list[ProblemOut] = []
    next: str | None = None


class RefusedOut(BaseModel):
    """Nothing was recorded, and why; with the state as it is, for a page that had fallen behind."""

    message: str
    seq: int | None = None
    state: dict[str, Any] | None = None
    problems: list[ProblemOut] = []


class MessageOut(BaseModel):
    """A sentence for the person."""

    message: str
