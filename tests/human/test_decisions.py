"""Decisions of coordinators: events, too; the last one stands."""

from __future__ import annotations

import pytest

from medassay.human.decisions import Decisions, OutdatedDecision


def test_decisions_are_events_too_and_the_last_one_stands(store):
    decisions = Decisions(store)
    assert decisions.decide("c1", "alpha", {"G": 3}, who="coordinator", event="d1")
    assert not decisions.decide("c1", "alpha", {"G": 3}, who="coordinator", event="d1")
    decisions.decide("c1", "alpha", {"G": 4}, who="coordinator", event="d2")
    assert decisions.all() == {("c1", "alpha"): {"G": 4}}
    assert len(list(store.history())) == 2


def test_a_count_per_case_is_decided_for_the_case(store):
    decisions = Decisions(store)
    decisions.decide("c1", "alpha", {"R": 5, "G": 4}, who="ann", event="d1")
    assert decisions.all() == {("c1", "alpha"): {"G": 4, "R": 5}, ("c1", "beta"): {"R": 5}}
    decisions.decide("c1", "beta", {"R": 6}, who="bob", event="d2")
    assert decisions.read("c1", "alpha").values == {"G": 4, "R": 6}
    assert decisions.read("c1", "alpha").who == "bob"


def test_nobody_overwrites_a_decision_they_have_not_seen(store):
    decisions = Decisions(store)
    base = decisions.read("c1", "alpha").base
    decisions.decide("c1", "beta", {"R": 5}, who="ann", event="d1", base=base)
    with pytest.raises(OutdatedDecision) as caught:
        decisions.decide("c1", "alpha", {"R": 4}, who="bob", event="d2", base=base)
    assert caught.value.standing.who == "ann" and caught.value.standing.values == {"R": 5}
    decisions.decide("c1", "alpha", {"R": 4}, who="bob", event="d2", base=caught.value.standing.base)
    assert decisions.read("c1", "beta").values == {"R": 4}
