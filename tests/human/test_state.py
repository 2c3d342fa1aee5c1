"""Folding events into a state: counts, ticks, undo, and what is refused."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.human.sample import answered, marked

from medassay.human.events import Event, redo_targets, undo_targets
from medassay.human.protocols import load_protocol
from medassay.human.state import (
    Outdated,
    Refused,
    TaskShape,
    answers,
    changed_between,
    empty_state,
    fold,
    problems,
    status,
    step,
)

FACTS = load_protocol("fact-counting")
SHAPE = TaskShape(40, (30, 20))


def test_each_highlight_counts_and_its_ticks_feed_the_other_counts():
    state = fold(
        FACTS, SHAPE, [marked("a", flags=("in_reference", "correct")), marked("b", flags=("correct",), start=6)]
    )
    assert answers(FACTS, state, "1") == {"R": None, "G": 2, "RG": 1, "C": 2, "coherence": None}
    assert answers(FACTS, state, "2")["G"] is None


def test_a_typed_number_stands_and_later_highlights_add_to_it():
    events = [marked("a"), answered("s", "1", "G", 5), marked("b", start=6), Event("u", "unmark", {"mark": "a"})]
    counts = [answers(FACTS, fold(FACTS, SHAPE, events[:n]), "1")["G"] for n in range(1, 5)]
    assert counts == [1, 5, 6, 5]


def test_clearing_a_number_goes_back_to_the_highlights():
    assert (
        answers(
            FACTS, fold(FACTS, SHAPE, [marked("a"), answered("s", "1", "G", 5), answered("t", "1", "G", None)]), "1"
        )["G"]
        == 1
    )


def test_an_event_that_hangs_on_an_undone_one_is_passed_over():
    past = [marked("a"), Event("f", "flag", {"mark": "a", "flag": "correct", "on": True})]
    past.append(Event("u", "undo", {"target": "ea"}))
    assert fold(FACTS, SHAPE, past)["marks"] == []


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (marked("a", kind="nonsense"), "no highlight"),
        (marked("a", slot="3"), "cannot stand"),
        (marked("a", slot="case"), "cannot stand"),
        (marked("a", start=26), "outside"),
        (answered("s", "1", "R", 1), "no question"),
        (answered("s", "1", "G", 2.5), "whole number"),
        (answered("s", "1", "G", -1), "whole number"),
        (answered("s", "1", "coherence", 0.7), "choices"),
        (Event("u", "unmark", {"mark": "zz"}), "no longer"),
        (Event("d", "done", {}), "no answer"),
    ],
)
def test_nonsense_is_refused(event, reason):
    with pytest.raises(Refused, match=reason):
        step(FACTS, SHAPE, empty_state(), event)


PHRASES = load_protocol("key-phrases")
CATEGORIES = load_protocol("fact-categories")


def no_errors(*slots: str, protocol=PHRASES) -> list[Event]:
    """An explicit 0 for every compulsory question of the texts."""
    asked = [q for q in protocol.questions if q.required and q.per == "candidate"]
    return [answered(f"{slot}-{q.name}", slot, q.name, 0) for slot in slots for q in asked]


def test_a_finished_task_takes_no_changes_until_it_is_reopened():
    state = fold(PHRASES, SHAPE, [*no_errors("1", "2"), Event("d", "done", {})])
    assert state["done"]
    change = marked("a", kind="incorrect")
    with pytest.raises(Outdated, match="finished"):
        step(PHRASES, SHAPE, state, change)
    again = step(PHRASES, SHAPE, state, Event("o", "reopen", {}))
    assert len(step(PHRASES, SHAPE, again, change)["marks"]) == 1


@pytest.mark.parametrize("protocol", [PHRASES, CATEGORIES])
def test_an_untouched_text_is_not_finished(protocol):
    state = fold(protocol, SHAPE, [answered("r", "case", "R", 3)] if protocol is CATEGORIES else [])
    assert [status(protocol, state, slot) for slot in ("1", "2")] == ["untouched"] * 2
    with pytest.raises(Refused, match="no answer yet"):
        step(protocol, SHAPE, state, Event("d", "done", {}))
    for event in no_errors("1", protocol=protocol):
        state = step(protocol, SHAPE, state, event)
    assert [status(protocol, state, slot) for slot in ("1", "2")] == ["answered", "untouched"]
    with pytest.raises(Refused, match="Text B"):
        step(protocol, SHAPE, state, Event("d", "done", {}))
    state = step(protocol, SHAPE, state, marked("m", slot="2", kind="incorrect"))
    assert status(protocol, state, "2") == "open", "a highlight answers one question, not the others"


def test_a_task_finished_by_earlier_rules_stays_finished():
    """Version 0.1 took a finished task without a highlight as one without errors."""
    state = fold(PHRASES, SHAPE, [Event("d", "done", {})])
    assert state["done"] and answers(PHRASES, state, "1")["hallucinated"] == 0
    assert fold(PHRASES, SHAPE, [marked("a", kind="incorrect"), Event("u", "undo", {"target": "ea"})])["marks"] == []


def test_impossible_sums_are_refused_with_the_reason():
    state = fold(CATEGORIES, SHAPE, [answered("1", "case", "R", 2), answered("2", "1", "correct", 2)])
    with pytest.raises(Refused, match=r"{correct}” and “{omitted}” together cannot be more than “{R}”") as caught:
        step(CATEGORIES, SHAPE, state, answered("3", "1", "omitted", 2))
    assert (caught.value.slot, caught.value.question) == ("1", "omitted")
    with pytest.raises(Refused, match="cannot be more than"):
        step(CATEGORIES, SHAPE, state, answered("3", "case", "R", 1))
    state = fold(CATEGORIES, SHAPE, [answered("1", "case", "R", 2), answered("2", "1", "omitted", 2)])
    with pytest.raises(Refused, match="needs a fact of the reference that is not omitted"):
        step(CATEGORIES, SHAPE, state, answered("3", "1", "incorrect", 9))
    assert step(CATEGORIES, SHAPE, state, answered("3", "2", "incorrect", 9)), "the other text omits nothing"


def test_a_limit_broken_by_earlier_rules_can_be_mended_in_steps():
    state = fold(FACTS, SHAPE, [answered("1", "1", "G", 3), answered("2", "1", "RG", 9)])
    better = step(FACTS, SHAPE, state, answered("3", "1", "RG", 5))
    with pytest.raises(Refused):
        step(FACTS, SHAPE, better, answered("4", "1", "RG", 6))
    assert status(FACTS, better, "1") == "open"


def test_flags_with_a_reason_and_what_cannot_be_judged():
    def flag(slot: str, name: str, on: bool = True, reason: str = "illegible") -> Event:
        return Event(f"f-{slot}-{name}-{on}", "flag", {"slot": slot, "flag": name, "on": on, "reason": reason})

    state = step(PHRASES, SHAPE, empty_state(), flag("1", "cannot_judge"))
    assert status(PHRASES, state, "1") == "answered"
    assert set(answers(PHRASES, state, "1").values()) == {None}
    assert status(PHRASES, step(PHRASES, SHAPE, state, flag("2", "skip")), "2") == "open"
    with pytest.raises(Refused, match="reason"):
        step(PHRASES, SHAPE, state, flag("2", "flag", reason=" "))
    with pytest.raises(Refused, match="no flag"):
        step(PHRASES, SHAPE, state, flag("2", "nonsense"))
    assert step(PHRASES, SHAPE, state, flag("1", "cannot_judge", on=False))["flags"] == {}
    whole = step(FACTS, SHAPE, empty_state(), flag("case", "cannot_judge"))
    assert step(FACTS, SHAPE, whole, Event("d", "done", {}))["done"], "no count is asked of a case nobody can judge"


def test_what_was_changed_since_the_page_was_drawn():
    before = fold(FACTS, SHAPE, [answered("1", "1", "G", 3)])
    now = fold(FACTS, SHAPE, [answered("1", "1", "G", 3), marked("m"), answered("2", "1", "coherence", 1)])
    assert changed_between(before, now, FACTS, answered("3", "1", "G", 5)), "a highlight was added to the count"
    assert changed_between(before, now, FACTS, answered("3", "1", "coherence", 0))
    assert not changed_between(before, now, FACTS, answered("3", "case", "R", 5))
    assert changed_between(before, now, FACTS, Event("d", "done", {}))
    assert not changed_between(before, now, FACTS, marked("n"))


def test_counts_that_cannot_be_are_named():
    events = [
        answered("1", "case", "R", 2),
        answered("2", "1", "G", 3),
        answered("3", "1", "RG", 4),
        answered("4", "1", "C", 3),
    ]
    listed = [p.text for p in problems(FACTS, TaskShape(40, (30,)), fold(FACTS, TaskShape(40, (30,)), events))]
    assert listed == [
        "Text A: “{coherence}” has no answer yet.",
        "Text A: “{RG}” cannot be more than “{G}”.",
        "Text A: “{RG}” cannot be more than “{R}”.",
    ]


@given(st.lists(st.tuples(st.sampled_from(["mark", "unmark", "set", "undo", "redo"]), st.integers(0, 5)), max_size=30))
@settings(max_examples=200, deadline=None)
def test_stepping_and_folding_agree(moves):
    """The state kept step by step is the one rebuilt from the events, whatever came in."""
    past: list[Event] = []
    state = empty_state()
    names = itertools.count()
    for kind, number in moves:
        name = f"x{next(names)}"
        if kind in ("undo", "redo"):
            targets = undo_targets(past) if kind == "undo" else redo_targets(past)
            if not targets:
                continue
            past.append(Event(name, kind, {"targets": targets}))
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
    state = step(FACTS, SHAPE, empty_state(), marked("a"))
    with pytest.raises(Refused, match="highlighted already"):
        step(FACTS, SHAPE, state, marked("b"))


CATEGORIES = load_protocol("fact-categories")


def typed(name: str, text: str, kind: str = "correct", slot: str = "1") -> Event:
    return Event("e" + name, "mark", {"mark": name, "slot": slot, "type": kind, "start": 0, "end": 0, "text": text})


def test_a_typed_fact_counts_as_a_highlight_does():
    events = [
        typed("a", "patient – takes – aspirin"),
        typed("b", " patient – has – asthma "),
        marked("c", kind="correct"),
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
    state = step(CATEGORIES, SHAPE, empty_state(), typed("a", "he – smokes"))
    with pytest.raises(Refused, match="there already"):
        step(CATEGORIES, SHAPE, state, typed("b", "he – smokes"))
    with pytest.raises(Refused, match="highlighted, not typed"):
        step(FACTS, SHAPE, empty_state(), typed("a", "he – smokes", kind="fact"))
    with pytest.raises(Refused, match="outside the text"):
        step(CATEGORIES, SHAPE, empty_state(), typed("a", "  "))
    long = step(CATEGORIES, SHAPE, empty_state(), typed("a", "x" * 999))
    assert len(long["marks"][0]["text"]) == 300
