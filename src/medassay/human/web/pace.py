"""How long tasks take: one's own pace where there is one, reading time before that."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from medassay.human.store import StoredTask

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
