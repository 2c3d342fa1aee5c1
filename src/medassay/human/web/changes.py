"""Requests and replies of saving: one change, with an id made by the page."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from medassay.human.events import NewEvent
from medassay.human.plan import clean
from medassay.human.state import MAX_ACTIVE_MS, MAX_COMMENT, MAX_FACT, MAX_REASON

Name = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[A-Za-z_]+$")]
Slot = Annotated[str, Field(pattern=r"^(case|[1-9][0-9]?)$")]
Ident = Annotated[str, Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
Offset = Annotated[int, Field(ge=0, le=4_000_000)]


class _Change(BaseModel):
    """Changes that share a `group` were made in one go and are undone together."""

    model_config = ConfigDict(extra="forbid")

    group: Ident | None = None


class MarkChange(_Change):
    """Highlight characters `start`…`end` (code points, end exclusive), or add a fact in the annotator's words.

    `from_draft`: as the machine proposed.
    """

    kind: Literal["mark"]
    mark: Ident
    slot: Slot
    type: Name
    start: Offset = 0
    end: Offset = 0
    flags: Annotated[list[Name], Field(max_length=8)] = []
    text: Annotated[str, Field(max_length=MAX_FACT)] = ""
    from_draft: bool = False


class UnmarkChange(_Change):
    """Take a highlight away."""

    kind: Literal["unmark"]
    mark: Ident


class FlagChange(_Change):
    """Tick or untick something on a highlight (`mark`), or flag a text or the case (`slot`) with a reason."""

    kind: Literal["flag"]
    mark: Ident | None = None
    slot: Slot | None = None
    flag: Name
    on: bool = True
    reason: Annotated[str, Field(max_length=MAX_REASON)] = ""

    @model_validator(mode="after")
    def _check_target(self) -> Self:
        if (self.mark is None) == (self.slot is None):
            raise ValueError("give either mark or slot")
        return self


class SetChange(_Change):
    """Answer a question; null takes the answer back."""

    kind: Literal["set"]
    slot: Slot
    question: Name
    value: Annotated[float, Field(ge=-1000, le=100_000, allow_inf_nan=False)] | None
    from_draft: bool = False


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
    spent since the last change. `base` is the version of the task that the page last saw."""

    model_config = ConfigDict(extra="forbid")

    id: Ident
    change: Annotated[
        MarkChange | UnmarkChange | FlagChange | SetChange | CommentChange | PlainChange, Field(discriminator="kind")
    ]
    at: Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)] | None = None
    active_ms: Annotated[int, Field(ge=0, le=MAX_ACTIVE_MS)] = 0
    base: Annotated[int, Field(ge=0, le=10**9)] | None = None

    def event(self) -> NewEvent:
        """The change as the store takes it."""
        payload = self.change.model_dump(exclude={"kind"}, exclude_defaults=True)
        if isinstance(self.change, MarkChange):
            payload["flags"] = self.change.flags
        if isinstance(self.change, CommentChange):
            payload["text"] = clean(self.change.text)
        if isinstance(self.change, MarkChange):
            payload.pop("text", None)
            if text := clean(self.change.text).strip():
                payload["text"] = text
            else:
                payload |= {"start": self.change.start, "end": self.change.end}
        if isinstance(self.change, FlagChange):
            payload["on"] = self.change.on
            if self.change.slot is not None:
                payload["reason"] = clean(self.change.reason)
        if isinstance(self.change, SetChange) and self.change.value is not None and self.change.value % 1 == 0:
            payload["value"] = int(self.change.value)
        return NewEvent(self.id, self.change.kind, payload, self.at, self.active_ms)


class ProblemOut(BaseModel):
    """One reason why a task cannot be finished yet."""

    slot: str
    question: str
    text: str


class TaskOut(BaseModel):
    """The present state of a task, and the status of each text: `untouched`, `open` or `answered`. `again`: this
    change had been recorded before. `next`: where to go when the task is finished."""

    version: int
    state: dict[str, Any]
    statuses: dict[str, str]
    again: bool = False
    problems: list[ProblemOut] = []
    next: str | None = None


class FieldOut(BaseModel):
    """The answer that a refusal is about."""

    slot: str
    question: str | None = None


class RefusedOut(BaseModel):
    """Why nothing was recorded, and the present state of the task, for a page that is out of date. `texts`: those
    that are not answered yet, where the task was to be finished."""

    reason: str
    field: FieldOut | None = None
    version: int | None = None
    state: dict[str, Any] | None = None
    statuses: dict[str, str] = {}
    problems: list[ProblemOut] = []
    texts: list[str] = []


class ReasonOut(BaseModel):
    """Why a request was refused, as a sentence for the person."""

    reason: str
