"""Agreement on highlights: do annotators mark the same stretches of text?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from medassay.human.protocols.base import CASE
from medassay.human.ratings import Key
from medassay.human.store import Store
from medassay.study import span_f1

Marked = dict[str, dict[Key, list[tuple[int, int]]]]
"""By annotator and text, the stretches that were highlighted; a text without any has an empty list."""


@dataclass(frozen=True)
class SpanRow:
    """One kind of highlight: F1 between annotators, averaged over pairs that share a text with a highlight.

    relaxed: a highlight matches where it overlaps one of the other annotator. exact: where it has the same ends.
    highlights, texts: how many there are in all.
    """

    kind: str
    relaxed: float
    exact: float
    highlights: int
    texts: int


def span_agreement(store: Store) -> list[SpanRow]:
    """Every kind of highlight of a study's protocol that was used, over finished tasks without practice."""
    rows = []
    for kind in store.protocol.marks:
        marked = _marked(store, kind.name, per_case=kind.per == "case")
        count = sum(len(spans) for texts in marked.values() for spans in texts.values())
        if not count:
            continue
        relaxed, exact = (_over_pairs(marked, exact=exact) for exact in (False, True))
        texts = {key for given in marked.values() for key in given}
        rows.append(SpanRow(kind.name, relaxed, exact, count, len(texts)))
    return rows


def _marked(store: Store, kind: str, *, per_case: bool) -> Marked:
    marked: Marked = {}
    for task in store.tasks():
        if task.training or not task.state["done"]:
            continue
        texts = marked.setdefault(task.annotator, {})
        slots = {CASE: (task.unit.case_id, "")} if per_case else {}
        if not per_case:
            slots = {str(i): (task.unit.case_id, item.system) for i, item in enumerate(task.candidates, 1)}
        for slot, key in slots.items():
            texts[key] = [
                (mark["start"], mark["end"])
                for mark in task.state["marks"]
                if mark["kind"] == kind and mark["slot"] == slot and mark["start"] < mark["end"]
            ]
    return marked


def _over_pairs(marked: Marked, *, exact: bool) -> float:
    """The mean over pairs of annotators; NaN where no pair can be assessed."""
    values = []
    for a, b in combinations(marked.values(), 2):
        shared = [key for key in a if key in b]
        value = span_f1([a[key] for key in shared], [b[key] for key in shared], exact=exact)
        if value == value:
            values.append(value)
    return sum(values) / len(values) if values else float("nan")
