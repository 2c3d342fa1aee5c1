"""How far annotators are: practice, tasks finished, time left, and what they wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from medassay.human.freeze import TRAINING
from medassay.human.people import last_seen
from medassay.human.plan import Unit
from medassay.human.protocols.base import Question
from medassay.human.ratings import count_words
from medassay.human.state import answers
from medassay.human.store import Store, StoredTask
from medassay.human.study import Study

TOLERANCE = 1
"""How far a count may be from the one expected: what is one fact and what is two is a matter of judgement."""


def practice_score(study: Study, task: StoredTask) -> float | None:
    """The share of a practice task's expected answers that were given, counts to within `TOLERANCE`; 0…1.

    None where the task is not finished, or where the study's wording expects nothing any more.
    """
    number = int(task.unit.case_id.removeprefix(TRAINING)) if task.training else 0
    if not task.training or not task.state["done"] or number > len(study.wording.training):
        return None
    near = []
    for slot, text in enumerate(study.wording.training[number - 1].candidates, 1):
        given = answers(study.protocol, task.state, str(slot))
        for name, want in text.expected.items():
            near.append(_is_near(study.protocol.question(name), given.get(name), want))
    return sum(near) / len(near) if near else None


def _is_near(question: Question | None, given: float | None, want: float) -> bool:
    if question is None or given is None:
        return False
    return abs(given - want) <= TOLERANCE if question.is_count else given == want


def is_passed(study: Study, task: StoredTask) -> bool:
    """Whether a practice task is finished, and near enough to what was expected."""
    score = practice_score(study, task)
    return task.state["done"] and (score is None or score >= study.practice_threshold)


TOO_FAST = 800
"""Words per minute: faster than anybody reads medical text."""


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
    """One row per annotator; `active` are those whose link is valid."""
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


WORDS_PER_MINUTE = 200
"""Careful reading of clinical prose."""

SECONDS_PER_TEXT = 45
"""For the answers about one text, before anything is known about the annotator."""


def reading_minutes(task: StoredTask) -> float:
    """What a task takes by its length alone: reading everything once, then answering."""
    texts = (task.unit.source, task.unit.reference, *(item.candidate for item in task.candidates))
    words = sum(len(text.split()) for text in texts)
    return words / WORDS_PER_MINUTE + len(task.candidates) * SECONDS_PER_TEXT / 60


def minutes_left(tasks: Sequence[StoredTask]) -> int:
    """Minutes for the tasks that are not finished, at least 1; 0 where all are.

    Reading time is scaled by the annotator's own pace: the median of time spent over reading time of
    the tasks finished so far.
    """
    left = [task for task in tasks if not task.state["done"]]
    if not left:
        return 0
    finished = [task for task in tasks if task.state["done"] and task.state["active_ms"]]
    ratios = [task.state["active_ms"] / 60_000 / reading_minutes(task) for task in finished]
    pace = median(ratios) if ratios else 1.0
    spent = sum(task.state["active_ms"] for task in left) / 60_000
    return max(1, round(pace * sum(map(reading_minutes, left)) - spent))


def duration(minutes: int) -> str:
    """Minutes in words.

    >>> duration(4), duration(90), duration(120)
    ('4 min', '1 h 30 min', '2 h')
    """
    hours, rest = divmod(minutes, 60)
    parts = [f"{hours} h"] * bool(hours) + [f"{rest} min"] * bool(rest or not hours)
    return " ".join(parts)
