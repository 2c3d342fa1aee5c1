"""What a coordinator wants to know at a glance: who is how far, who was last seen when, who is too fast, who
commented on what."""

from __future__ import annotations

from dataclasses import dataclass

from medassay.human.people import last_seen
from medassay.human.plan import Unit
from medassay.human.practice import practice_score
from medassay.human.ratings import count_words
from medassay.human.store import Store, StoredTask

TOO_FAST = 800
"""Words a minute. Nobody reads medical text, let alone judges it, at that speed."""


@dataclass(frozen=True)
class Progress:
    """How far one annotator is. `practice` is the share of practice answers that were as expected."""

    name: str
    done: int
    begun: int
    total: int
    practised: bool
    practice: float | None
    active_ms: int
    seen_at: float | None
    too_fast: int
    skipped: int
    flagged: int
    replaced: bool


def words_of(unit: Unit) -> int:
    """Words of all texts of a case."""
    texts = (unit.source, unit.reference, *(item.candidate for item in unit.items))
    return sum(count_words(text) for text in texts)


def is_too_fast(task: StoredTask) -> bool:
    """Whether a finished task took less time than anybody needs to read its texts once."""
    return task.state["done"] and task.state["active_ms"] * TOO_FAST < words_of(task.unit) * 60_000


def progress(store: Store, active: frozenset[str]) -> list[Progress]:
    """One line per annotator; `active` are those whose link is good."""
    seen = last_seen(store)
    mine: dict[str, list[StoredTask]] = {name: [] for name in store.names}
    for task in store.tasks():
        mine[task.annotator].append(task)
    lines = []
    for name, tasks in mine.items():
        real = [task for task in tasks if not task.training]
        practice = [task for task in tasks if task.training]
        scores = [score for task in practice if (score := practice_score(store.study, task)) is not None]
        lines.append(
            Progress(
                name,
                done=sum(task.state["done"] for task in real),
                begun=sum(task.seq > 0 and not task.state["done"] for task in real),
                total=len(real),
                practised=all(task.state["done"] for task in practice),
                practice=sum(scores) / len(scores) if scores else None,
                active_ms=sum(task.state["active_ms"] for task in real),
                seen_at=seen.get(name),
                too_fast=sum(is_too_fast(task) for task in real),
                skipped=sum("skip" in flags for task in real for flags in task.state["flags"].values()),
                flagged=sum(bool(flags.keys() - {"skip"}) for task in real for flags in task.state["flags"].values()),
                replaced=name not in active,
            )
        )
    return lines


@dataclass(frozen=True)
class Remark:
    """A comment, or the reason of a flag (`kind`: comment, skip, flag, cannot_judge); `system` is None where
    it is about the case as a whole."""

    annotator: str
    task: str
    case_id: str
    system: str | None
    kind: str
    text: str


def remarks(store: Store) -> list[Remark]:
    """Everything annotators wrote, in the order of the tasks; practice left out."""
    listed = []
    for task in store.tasks():
        if task.training or not (task.state["comments"] or task.state["flags"]):
            continue
        for slot in task.shape.slots:
            system = None if slot == "case" else task.candidates[int(slot) - 1].system
            written = {"comment": task.state["comments"].get(slot, ""), **task.state["flags"].get(slot, {})}
            for kind, text in written.items():
                if text:
                    listed.append(Remark(task.annotator, task.id, task.unit.case_id, system, kind, text))
    return listed
