"""The keyboard shortcuts of the task page: each key has one meaning in all protocols."""

from __future__ import annotations

MARK_KEYS = {
    "fact": "e",
    "reference_fact": "e",
    "correct": "c",
    "incorrect": "w",
    "hallucinated": "h",
    "omitted": "o",
    "language": "g",
}
"""Kind of highlight → key."""

FLAG_KEYS = {"critical": "x", "correct": "c", "in_reference": "b"}
"""Tick on a highlight → key."""

GENERAL: tuple[tuple[str, str], ...] = (
    ("n p", "next, previous text"),
    ("s r t a", "go to the source, the reference, the text, the answers"),
    ("← →", "in a text: move by word; with Shift select further"),
    ("Enter", "in a text: highlight the selection (choose where there are several kinds); in a field: next field"),
    ("0 … 9", "a number for the question in hand"),
    ("y", "no (further) errors in this text, and on to the next one"),
    ("m", "comment"),
    ("k", "skip, flag or “cannot judge”, with a reason"),
    ("d", "machine’s draft, where the study has one: accept the next statement"),
    ("u Shift+u", "undo, redo"),
    ("f", "finish the task"),
    ("/", "search all texts"),
    ("l", "linked scrolling on or off"),
    ("+ -", "larger, smaller text"),
    ("i", "instructions"),
    ("Esc", "drop the selection, leave a field, close"),
    ("?", "this list"),
)
"""Keys that every protocol has, with what they do."""

HIGHLIGHTS: tuple[tuple[str, str], ...] = (
    ("e", "highlight the selection as a fact"),
    ("c", "… as correct; or tick the last highlight as correct"),
    ("w", "… as incorrect (wrong)"),
    ("h", "… as hallucinated"),
    ("g", "… as a language error (grammar)"),
    ("o", "in the reference: … as omitted in this text"),
    ("b", "tick the last highlight: in both, that is in the reference too"),
    ("x", "tick the last highlight: critical"),
)
"""Keys for highlights; a protocol uses those of its own kinds."""


def keys_of(marks: list[str], flags: list[str]) -> list[tuple[str, str]]:
    """The lines of the key list that apply to a protocol with these kinds of highlight and ticks."""
    used = {MARK_KEYS[name] for name in marks} | {FLAG_KEYS[name] for name in flags}
    return [*((key, text) for key, text in HIGHLIGHTS if key in used), *GENERAL]
