"""Ratings and disagreements of a running study."""

from __future__ import annotations

from tests.human.sample import two_annotators

from medassay.human.live import LiveAgreement, Neighbours, Spread, from_store, neighbours, spreads
from medassay.human.store import NewEvent, Store


def test_ratings_of_a_study_leave_out_practice_and_unfinished_tasks(make_study):
    store = Store(make_study([("c1", "s", "one two", "ref", "src"), ("c2", "s", "x", "ref", "src")]))
    numbers = iter(range(1000))
    for task in store.tasks("anna")[:2]:
        for question, value in {"R": 2, "G": 2, "RG": 1, "C": 2, "coherence": 1}.items():
            slot = "case" if question == "R" else "1"
            payload = {"slot": slot, "question": question, "value": value}
            store.append(task.id, "anna", NewEvent(f"e{next(numbers)}", "set", payload, active_ms=500))
        store.append(task.id, "anna", NewEvent(f"e{next(numbers)}", "done", {}))
    ratings = from_store(store)
    assert len(ratings.rows) == 1
    assert ratings.rows[0].values["precision"] == 0.5 and ratings.rows[0].seconds == 2.5
    store.close()


def test_neighbours_of_a_text_that_is_not_listed():
    assert neighbours([], "x") == Neighbours(0, 0, None, None, None)
    only = Spread("a", "c1", "s", (1.0, 2.0), 1.0, False)
    assert neighbours([only], "x") == Neighbours(0, 1, None, "a", "a")


def test_texts_are_listed_by_disagreement(ratings):
    listed = spreads(ratings, ["anna", "ben", "chi"], "G")
    # anna and ben: 4 and 8, 3 and 6, 4 and 8, 2 and 4
    assert [(text.case_id, text.system, text.spread) for text in listed] == [
        ("c1", "a", 4), ("c2", "a", 4), ("c1", "b", 3), ("c2", "b", 2),
    ]  # fmt: skip
    assert listed[0].values == (4, 8, None) and not listed[0].decided


def test_agreement_is_computed_once_for_the_same_ratings(ratings):
    live = LiveAgreement()
    first = live.read(ratings)
    assert live.read(ratings) is first and first[0] is ratings
    assert live.read(two_annotators()) is not first
