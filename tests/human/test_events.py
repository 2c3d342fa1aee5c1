"""What undo and redo act on."""

from __future__ import annotations

from tests.human.sample import answered, marked

from medassay.human.events import Event, redo_targets, undo_targets
from medassay.human.protocols import load_protocol
from medassay.human.state import (
    TaskShape,
    answers,
    fold,
)

FACTS = load_protocol("fact-counting")
SHAPE = TaskShape(40, (30, 20))


def test_undo_and_redo():
    past = [marked("a"), marked("b", start=6)]
    assert undo_targets(past) == ["eb"]
    past.append(Event("u1", "undo", {"target": "eb"}))
    assert len(fold(FACTS, SHAPE, past)["marks"]) == 1
    assert (undo_targets(past), redo_targets(past)) == (["ea"], ["eb"])
    past.append(Event("r1", "redo", {"target": "eb"}))
    assert len(fold(FACTS, SHAPE, past)["marks"]) == 2
    assert redo_targets(past) == []


def test_nothing_is_redone_after_a_new_change():
    past = [marked("a"), Event("u1", "undo", {"target": "ea"}), marked("c")]
    assert redo_targets(past) == []


def test_what_was_typed_without_a_pause_is_undone_as_one():
    def typed(event: str, value: int, at: float) -> Event:
        return answered(event, "1", "G", value)._replace(at=at)

    past = [marked("a"), typed("x", 1, 10.0), typed("y", 12, 10.4)]
    assert undo_targets(past) == ["y", "x"]
    past.append(Event("u", "undo", {"targets": ["y", "x"]}))
    assert answers(FACTS, fold(FACTS, SHAPE, past), "1")["G"] == 1, "the highlight alone"
    assert redo_targets(past) == ["y", "x"]
    assert undo_targets([typed("x", 1, 10.0), typed("y", 12, 60.0)]) == ["y"], "a pause between them"
    assert undo_targets([typed("x", 3, 10.0), typed("y", 4, 10.4)]) == ["y"], "another number"


def test_changes_of_one_group_are_undone_as_one():
    past = [marked("a")] + [
        e._replace(payload={**e.payload, "group": "all"})
        for e in (answered("x", "1", "G", 0), answered("y", "2", "G", 0))
    ]
    assert undo_targets(past) == ["y", "x"]
    past.append(Event("u", "undo", {"targets": undo_targets(past)}))
    assert undo_targets(past) == ["ea"]
