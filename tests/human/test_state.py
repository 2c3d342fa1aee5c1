"""Folding events into a state: counts, ticks, undo, and what is refused."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medassay.human.protocols import load_protocol
from medassay.human.state import (
    Event,
    Refused,
    Shape,
    answers,
    empty,
    fold,
    problems,
    redo_target,
    step,
    undo_target,
)

FACTS = load_protocol("fact-counting")
SHAPE = Shape(40, (30, 20))


def mark(name: str, slot: str = "1", kind: str = "fact", flags: tuple[str, ...] = (), start: int = 0) -> Event:
    payload = {"mark": name, "slot": slot, "type": kind, "start": start, "end": start + 5, "flags": list(flags)}
    return Event("e" + name, "mark", payload)


def put(event: str, slot: str, question: str, value: float | None) -> Event:
    return Event(event, "set", {"slot": slot, "question": question, "value": value})


def test_each_highlight_counts_and_its_ticks_feed_the_other_counts():
    state = fold(FACTS, SHAPE, [mark("a", flags=("in_reference", "correct")), mark("b", flags=("correct",), start=6)])
    assert answers(FACTS, state, "1") == {"R": None, "G": 2, "RG": 1, "C": 2, "coherence": None}
    assert answers(FACTS, state, "2")["G"] is None


def test_a_typed_number_stands_and_later_highlights_add_to_it():
    events = [mark("a"), put("s", "1", "G", 5), mark("b", start=6), Event("u", "unmark", {"mark": "a"})]
    counts = [answers(FACTS, fold(FACTS, SHAPE, events[:n]), "1")["G"] for n in range(1, 5)]
    assert counts == [1, 5, 6, 5]


def test_clearing_a_number_goes_back_to_the_highlights():
    assert (
        answers(FACTS, fold(FACTS, SHAPE, [mark("a"), put("s", "1", "G", 5), put("t", "1", "G", None)]), "1")["G"] == 1
    )


def test_undo_and_redo():
    past = [mark("a"), mark("b", start=6)]
    assert undo_target(past) == "eb"
    past.append(Event("u1", "undo", {"target": "eb"}))
    assert len(fold(FACTS, SHAPE, past)["marks"]) == 1
    assert (undo_target(past), redo_target(past)) == ("ea", "eb")
    past.append(Event("r1", "redo", {"target": "eb"}))
    assert len(fold(FACTS, SHAPE, past)["marks"]) == 2
    assert redo_target(past) is None


def test_nothing_is_redone_after_a_new_change():
    past = [mark("a"), Event("u1", "undo", {"target": "ea"}), mark("c")]
    assert redo_target(past) is None


def test_an_event_that_hangs_on_an_undone_one_is_passed_over():
    past = [mark("a"), Event("f", "flag", {"mark": "a", "flag": "correct", "on": True})]
    past.append(Event("u", "undo", {"target": "ea"}))
    assert fold(FACTS, SHAPE, past)["marks"] == []


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (mark("a", kind="nonsense"), "no highlight"),
        (mark("a", slot="3"), "cannot stand"),
        (mark("a", slot="case"), "cannot stand"),
        (mark("a", start=26), "outside"),
        (put("s", "1", "R", 1), "no question"),
        (put("s", "1", "G", 2.5), "whole number"),
        (put("s", "1", "G", -1), "whole number"),
        (put("s", "1", "coherence", 0.7), "choices"),
        (Event("u", "unmark", {"mark": "zz"}), "no longer"),
        (Event("d", "done", {}), "no answer"),
    ],
)
def test_nonsense_is_refused(event, reason):
    with pytest.raises(Refused, match=reason):
        step(FACTS, SHAPE, empty(), event)


def test_a_finished_task_takes_no_changes_until_it_is_reopened():
    state = fold(load_protocol("key-phrases"), SHAPE, [Event("d", "done", {})])
    assert state["done"]
    change = mark("a", kind="incorrect")
    with pytest.raises(Refused, match="finished"):
        step(load_protocol("key-phrases"), SHAPE, state, change)
    again = step(load_protocol("key-phrases"), SHAPE, state, Event("o", "reopen", {}))
    assert len(step(load_protocol("key-phrases"), SHAPE, again, change)["marks"]) == 1


def test_no_highlight_in_a_finished_task_means_no_error():
    protocol = load_protocol("key-phrases")
    state = empty()
    assert answers(protocol, state, "1")["hallucinated"] is None
    assert answers(protocol, step(protocol, SHAPE, state, Event("d", "done", {})), "1")["hallucinated"] == 0


def test_counts_that_cannot_be_are_named():
    events = [put("1", "case", "R", 2), put("2", "1", "G", 3), put("3", "1", "RG", 4), put("4", "1", "C", 3)]
    found = [p.text for p in problems(FACTS, Shape(40, (30,)), fold(FACTS, Shape(40, (30,)), events))]
    assert found == [
        "Text A: “{RG}” (4) exceeds “{G}” (3).",
        "Text A: “{RG}” (4) exceeds “{R}” (2).",
        "Text A: “{coherence}” has no answer yet.",
    ]


@given(st.lists(st.tuples(st.sampled_from(["mark", "unmark", "set", "undo", "redo"]), st.integers(0, 5)), max_size=30))
@settings(max_examples=200, deadline=None)
def test_stepping_and_folding_agree(moves):
    """The state kept step by step is the one rebuilt from the events, whatever came in."""
    past: list[Event] = []
    state = empty()
    names = itertools.count()
    for kind, number in moves:
        name = f"x{next(names)}"
        if kind in ("undo", "redo"):
            target = undo_target(past) if kind == "undo" else redo_target(past)
            if target is None:
                continue
            past.append(Event(name, kind, {"target": target}))
            state = fold(FACTS, SHAPE, past)
            continue
        payload = {
            "mark": {"mark": f"m{number}", "slot": "1", "type": "fact", "start": number, "end": 9, "flags": []},
            "unmark": {"mark": f"m{number}"},
            "set": {"slot": "1", "question": "G", "value": number},
        }[kind]
        event = Event(name, kind, payload)
        try:
            state = step(FACTS, SHAPE, state, event)
        except Refused:
            continue
        past.append(event)
        assert state == fold(FACTS, SHAPE, past)


def test_the_same_stretch_is_not_highlighted_twice():
    state = step(FACTS, SHAPE, empty(), mark("a"))
    with pytest.raises(Refused, match="highlighted already"):
        step(FACTS, SHAPE, state, mark("b"))


CATEGORIES = load_protocol("fact-categories")


def typed(name: str, text: str, kind: str = "correct", slot: str = "1") -> Event:
    return Event("e" + name, "mark", {"mark": name, "slot": slot, "type": kind, "start": 0, "end": 0, "text": text})


def test_a_typed_fact_counts_as_a_highlight_does():
    events = [
        typed("a", "patient – takes – aspirin"),
        typed("b", " patient – has – asthma "),
        mark("c", kind="correct"),
    ]
    events.append(Event("f", "flag", {"mark": "a", "flag": "critical", "on": True}))
    state = fold(CATEGORIES, SHAPE, events)
    assert answers(CATEGORIES, state, "1")["correct"] == 3
    assert answers(CATEGORIES, state, "1")["correct_critical"] == 1
    assert [m.get("text") for m in state["marks"]] == ["patient – takes – aspirin", "patient – has – asthma", None]
    assert (
        answers(CATEGORIES, fold(CATEGORIES, SHAPE, [*events, Event("u", "unmark", {"mark": "a"})]), "1")["correct"]
        == 2
    )


def test_typed_facts_that_are_refused():
    state = step(CATEGORIES, SHAPE, empty(), typed("a", "he – smokes"))
    with pytest.raises(Refused, match="there already"):
        step(CATEGORIES, SHAPE, state, typed("b", "he – smokes"))
    with pytest.raises(Refused, match="highlighted, not typed"):
        step(FACTS, SHAPE, empty(), typed("a", "he – smokes", kind="fact"))
    with pytest.raises(Refused, match="outside the text"):
        step(CATEGORIES, SHAPE, empty(), typed("a", "  "))
    long = step(CATEGORIES, SHAPE, empty(), typed("a", "x" * 999))
    assert len(long["marks"][0]["text"]) == 300
