"""What undo and redo act on: whole actions of a person, not single keystrokes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

CONTENT = ("mark", "unmark", "flag", "set", "comment")
TYPING_SECONDS = 3.0
"""A longer pause between two changes of one field makes them two actions."""


class Event(NamedTuple):
    """One recorded change, as the fold sees it. `at` is the server's clock, seconds since 1970."""

    id: str
    kind: str
    payload: Mapping[str, Any]
    active_ms: int = 0
    at: float = 0.0


def targets(event: Event) -> list[str]:
    """The changes that an undo or redo speaks of."""
    payload = event.payload
    return [str(payload["target"])] if "target" in payload else [str(target) for target in payload["targets"]]


def undone(events: Iterable[Event]) -> set[str]:
    """The ids of the changes that are taken back at the end of the history."""
    taken: set[str] = set()
    for event in events:
        if event.kind == "undo":
            taken.update(targets(event))
        elif event.kind == "redo":
            taken.difference_update(targets(event))
    return taken


def undo_targets(events: Sequence[Event]) -> list[str]:
    """The latest action that still stands, as the changes it consists of, the last one first; empty: none.

    Changes that the page sent as one group are one action, and so is what was typed without a pause:
    "1", then "12".
    """
    taken = undone(events)
    standing = [event for event in events if event.kind in CONTENT and event.id not in taken]
    action: list[Event] = []
    while standing and (not action or _same_action(standing[-1], action[-1])):
        action.append(standing.pop())
    return [event.id for event in action]


def redo_targets(events: Sequence[Event]) -> list[str]:
    """The action undone last, provided nothing was changed since; empty: none."""
    taken = undone(events)
    for event in reversed(events):
        if event.kind in CONTENT and event.id not in taken:
            return []
        if event.kind == "undo" and taken.issuperset(targets(event)):
            return targets(event)
    return []


def _same_action(earlier: Event, later: Event) -> bool:
    group = later.payload.get("group")
    if group is not None or earlier.payload.get("group") is not None:
        return bool(earlier.payload.get("group") == group)
    return (
        earlier.kind == later.kind
        and _typed_into(earlier) is not None
        and _typed_into(earlier) == _typed_into(later)
        and _typed(later).startswith(_typed(earlier))
        and later.at - earlier.at <= TYPING_SECONDS
    )


def _typed_into(event: Event) -> tuple[str, ...] | None:
    payload = event.payload
    if event.kind == "set":
        return (payload["slot"], payload["question"])
    return (payload["slot"],) if event.kind == "comment" else None


def _typed(event: Event) -> str:
    value = event.payload["text"] if event.kind == "comment" else event.payload["value"]
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
